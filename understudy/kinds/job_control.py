"""What a job kind lets itself be told: to pause, to go on, to end. Turns such a wish into a patch of its object."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from understudy.objects.meta import Condition

MergePatch = dict[str, Any]
LEFT_TO_END = "understudy.dev/LeftToEnd"  # the condition of a pod that its job spares: it is to end, and not made to


class JobControl(msgspec.Struct, frozen=True):
    """What the file of a kind says of its controls."""

    pause: tuple[str, ...] = ()  # the field that takes its pods away at no cost to it; none: not, or not by us
    end: str = "Failed"  # the condition by which its controller knows that it has failed
    end_status: Mapping[str, str] = {}  # for kinds without conditions: the status that says the same
    end_through: str = ""  # the kind of the object of the same name that has to fail for it
    spared: Mapping[str, str] = {}  # labels of pods that end by themselves when the others go, and stay to tell how


def suspend_patch(control: JobControl, yes: bool) -> MergePatch:
    """The merge patch that pauses a job, or lets it go on. Empty for a kind that cannot be paused."""
    value: Any = yes
    for field in reversed(control.pause):
        value = {field: value}
    return value if control.pause else {}


class JobFailure(msgspec.Struct, frozen=True):
    """Why a job is made to fail, and when."""

    reason: str
    message: str
    at: str  # RFC 3339


def failure_patch(
    control: JobControl, conditions: Sequence[Condition], failure: JobFailure
) -> MergePatch | list[MergePatch]:
    """The patch of its status that makes a job fail: a merge patch, or a list of JSON patch operations.

    Conditions already there are left as they are, with fields that are unknown here: the new one is added behind them.
    """
    if control.end_status:
        return {"status": dict(control.end_status)}
    condition = {
        "type": control.end,
        "status": "True",
        "reason": failure.reason,
        "message": failure.message,
        "lastTransitionTime": failure.at,
    }
    if conditions:
        return [{"op": "add", "path": "/status/conditions/-", "value": condition}]
    return {"status": {"conditions": [condition]}}
