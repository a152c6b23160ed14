"""What a job kind lets itself be told: to pause, to go on, to end. Turns such a wish into a patch of its object."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from understudy.objects.meta import Condition

Patch = dict[str, Any]
LEFT_TO_END = "understudy.dev/LeftToEnd"  # the condition of a pod that its job spares: it is to end, and not made to


class Lever(msgspec.Struct, frozen=True):
    """What the file of a kind says of its controls."""

    pause: tuple[str, ...] = ()  # the field that takes its pods away at no cost to it; none: not, or not by us
    end: str = "Failed"  # the condition by which its controller knows that it has failed
    end_status: Mapping[str, str] = {}  # for kinds without conditions: the status that says the same
    end_through: str = ""  # the kind of the object of the same name that has to fail for it
    spared: Mapping[str, str] = {}  # labels of pods that end by themselves when the others go, and stay to tell how


def paused(lever: Lever, yes: bool) -> Patch:
    """The merge patch that pauses a job, or lets it go on. Empty for a kind that cannot be paused."""
    value: Any = yes
    for field in reversed(lever.pause):
        value = {field: value}
    return value if lever.pause else {}


class Ending(msgspec.Struct, frozen=True):
    """Why a job is made to fail, and when."""

    reason: str
    message: str
    at: str  # RFC 3339


def ended(lever: Lever, conditions: Sequence[Condition], ending: Ending) -> Patch | list[Patch]:
    """The patch of its status that makes a job fail: a merge patch, or a list of JSON patch operations.

    Conditions already there are left as they are, with the fields nobody here knows: the new one is added behind them.
    """
    if lever.end_status:
        return {"status": dict(lever.end_status)}
    condition = {
        "type": lever.end,
        "status": "True",
        "reason": ending.reason,
        "message": ending.message,
        "lastTransitionTime": ending.at,
    }
    if conditions:
        return [{"op": "add", "path": "/status/conditions/-", "value": condition}]
    return {"status": {"conditions": [condition]}}
