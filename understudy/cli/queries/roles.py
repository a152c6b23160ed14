"""What the roles of a job ask for together."""

from collections.abc import Iterable, Mapping

from understudy.kinds.roles import JobRole
from understudy.model.nodes import is_accelerator

Amounts = dict[str, int]


def total(roles: Iterable[JobRole]) -> Amounts:
    """Accelerators, cpu and memory of all pods together."""
    amounts: Amounts = {}
    for role in roles:
        for name, amount in role.requests.items():
            amounts[name] = amounts.get(name, 0) + amount * role.count
    return amounts


def accelerators(amounts: Mapping[str, int]) -> int:
    return sum(amount for name, amount in amounts.items() if is_accelerator(name))
