"""Events of events.k8s.io/v1, as a real cluster has them: one that happens again becomes a series, by a patch.

Of an event that is there, only its series may change. So whatever differs in nothing but its figures, such as how many
seats are free, is one series under the words it was first told in; a pod's condition has the newest.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from understudy.control.happenings import About, Allowance, Happening, cut
from understudy.objects.resources import SERIES_EVENTS, Resource

CONTROLLER = "understudy.dev/scheduler"
LONGEST_NOTE, LONGEST_INSTANCE = 1024, 128  # what Kubernetes takes
ALLOWANCE = Allowance(at_once=25, every=300.0)  # what the recorder of Kubernetes' own controllers allows itself

# What was being done to the object, for each reason. Whatever else is told has to do with its scheduling.
_ACTIONS = {
    "Scheduled": "Binding",
    "SteppedIn": "Binding",
    "Preempted": "Preempting",
    "Requeued": "Requeueing",
    "Resumed": "Resuming",
    "HotSwapped": "Swapping",
    "Shrunk": "Shrinking",
    "NodeLost": "Repairing",
    "Recovered": "Repairing",
}
_PLAIN = "Scheduling"
_WAITING = ("FailedScheduling",)  # said anew whenever a figure changes
_FIGURE = re.compile(r"(?<![\w./-])\d+(\.\d+)?(?![\w./-])")  # one that stands alone, and is no part of a name


class SeriesEvents(msgspec.Struct, frozen=True):
    instance: str = "understudy"  # which of several of us writes

    @property
    def resource(self) -> Resource:
        return SERIES_EVENTS

    @property
    def allowance(self) -> Allowance | None:
        return ALLOWANCE

    def alike(self, about: About, happening: Happening) -> str:
        words = happening.message
        if about.kind == "Pod" and happening.reason in _WAITING:
            words = _FIGURE.sub("#", words)
        related = happening.related.uid if happening.related else ""
        return "\n".join((about.uid, about.kind, happening.reason, words, related))

    def new(self, name: str, about: About, happening: Happening, now: float) -> dict[str, Any]:
        related = {"related": happening.related.reference()} if happening.related else {}
        return {
            "apiVersion": SERIES_EVENTS.api_version,
            "kind": SERIES_EVENTS.kind,
            "metadata": {"name": name, "namespace": about.namespace or "default"},
            "regarding": about.reference(),
            **related,
            "eventTime": _micro_time(now),
            "action": _ACTIONS.get(happening.reason, _PLAIN),
            "reason": happening.reason,
            "note": cut(happening.message, LONGEST_NOTE),
            "type": happening.type,
            "reportingController": CONTROLLER,
            "reportingInstance": cut(self.instance, LONGEST_INSTANCE),
        }

    def again(self, count: int, now: float) -> dict[str, Any]:
        return {"series": {"count": count, "lastObservedTime": _micro_time(now)}}

    def count(self, event: Mapping[str, Any]) -> int:
        series = event.get("series") or {}
        return int(series.get("count") or event.get("deprecatedCount") or 1)


def _micro_time(moment: float) -> str:
    """With six digits, always: Kubernetes takes no fewer."""
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
