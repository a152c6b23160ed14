"""Bounds the work to validate one object, since clients provide both the schema and the object."""

WORK_PER_OBJECT = 400_000


class BudgetExhausted(Exception):
    """The object would cost more work than one object may."""


class WorkBudget:
    def __init__(self, left: int = WORK_PER_OBJECT) -> None:
        self.left = left

    def spend(self, work: int = 1) -> None:
        self.left -= work
        if self.left < 0:
            raise BudgetExhausted
