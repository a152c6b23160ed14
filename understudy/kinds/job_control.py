"""How a job kind is suspended, resumed and made to fail: turns each into a patch of its object."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from understudy.objects.meta import Condition

MergePatch = dict[str, Any]
LEFT_TO_END = "understudy.dev/LeftToEnd"  # a pod condition: the pod ends by itself and is not deleted


class JobControl(msgspec.Struct, frozen=True):
    """How the jobs of a kind are controlled; made in the file of the kind."""

    # the field that suspends it, so that evicted pods count as no failure; none: it cannot be suspended by us
    pause: tuple[str, ...] = ()
    end: str = "Failed"  # the condition that makes its controller treat it as failed
    end_status: Mapping[str, str] = {}  # for kinds without conditions: the equivalent status
    spared: Mapping[str, str] = {}  # labels of pods that end by themselves after the others, and show the result


def suspend_patch(control: JobControl, yes: bool) -> MergePatch:
    """The merge patch that suspends or resumes a job. Empty for a kind that cannot be suspended."""
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

    Existing conditions stay as they are, with fields that are unknown here: the new one is appended."""
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
