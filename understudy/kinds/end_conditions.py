"""Whether a job has ended: the conditions of each kind that say so, in one place for schedulers, controllers and
commands."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from understudy.objects.meta import Condition


class EndConditions(msgspec.Struct, frozen=True):
    """The conditions of a kind. `word` is the value of `field`, in versions of the kind without conditions."""

    succeeded: str = "Succeeded"
    failed: str = "Failed"
    announced: tuple[str, ...] = ()  # the end is certain, and the controller still deletes pods
    field: str = ""  # a field of the status, for versions without conditions; it has the same values

    def has_succeeded(self, conditions: Sequence[Condition], word: str = "") -> bool:
        return word == self.succeeded or _first_true(conditions, (self.succeeded,)) is not None

    def has_failed(self, conditions: Sequence[Condition], word: str = "") -> bool:
        return word == self.failed or _first_true(conditions, (self.failed,)) is not None

    def has_ended(self, conditions: Sequence[Condition], word: str = "") -> bool:
        """Whether the end is recorded: the counts in the status are final."""
        return self.has_succeeded(conditions, word) or self.has_failed(conditions, word)

    def is_ending(self, conditions: Sequence[Condition], word: str = "") -> bool:
        """Whether the job has ended or is about to: its controller creates no more pods."""
        return self.has_ended(conditions, word) or _first_true(conditions, self.announced) is not None

    def recorded(self, conditions: Sequence[Condition]) -> tuple[Condition, ...]:
        """The conditions that record the end. Usually one; a client may have added the other one."""
        return tuple(one for one in conditions if one.type in (self.succeeded, self.failed) and one.status == "True")

    def condition(self, conditions: Sequence[Condition]) -> Condition | None:
        """The condition that shows how the job ended. A success outranks a failure."""
        return _first_true(conditions, (self.succeeded,)) or _first_true(conditions, (self.failed,))

    def word(self, status: Mapping[str, Any]) -> str:
        """The value of the field in a status; '' if the kind has no such field."""
        return str(status.get(self.field) or "") if self.field else ""


def _first_true(conditions: Sequence[Condition], types: Sequence[str]) -> Condition | None:
    return next((one for one in conditions if one.type in types and one.status == "True"), None)


# The Job controller announces an end before it has deleted and counted the pods.
JOB_ENDS = EndConditions(succeeded="Complete", announced=("SuccessCriteriaMet", "FailureTarget"))
JOBSET_ENDS = EndConditions(succeeded="Completed")
TRAINING_OPERATOR_ENDS = EndConditions()
MPI_ENDS = EndConditions(field="launcherStatus")
TRAIN_JOB_ENDS = EndConditions(succeeded="Complete")
