"""When a job came to its end, told by the status of whatever kind it is."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

_ENDS = ("Complete", "Completed", "Succeeded", "Failed")  # conditions; each kind has two of them
_PHASES = ("Succeeded", "Failed")  # what the first MPIJob says instead


def ended_at(document: dict[str, Any]) -> float | None:
    """Seconds since 1970; None: it has not ended. Where nobody wrote it down, the job is as old as its object."""
    status = document.get("status") or {}
    ends = [one for one in status.get("conditions") or () if one.get("type") in _ENDS and one.get("status") == "True"]
    if not ends and status.get("launcherStatus") not in _PHASES:
        return None
    times = [status.get("completionTime"), *(one.get("lastTransitionTime") for one in ends)]
    return _first_time([*times, document["metadata"].get("creationTimestamp")])


def _first_time(times: Iterable[str | None]) -> float | None:
    for text in times:
        if text:
            return datetime.fromisoformat(text).timestamp()
    return None
