"""Events of core/v1 and of events.k8s.io/v1: what happened to which object, as documents of the API."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Protocol

import msgspec

from understudy.kinds.annotations import format_time
from understudy.objects.meta import CLUSTER_SCOPED, KubeObject
from understudy.objects.resources import EVENTS, SERIES_EVENTS, Resource


class EventSubject(msgspec.Struct, frozen=True, gc=False):
    """What an event is about."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str = ""

    @staticmethod
    def of(obj: KubeObject) -> "EventSubject":
        meta = obj.metadata
        namespace = "" if obj.kind in CLUSTER_SCOPED else meta.namespace
        return EventSubject(obj.api_version, obj.kind, namespace, meta.name, meta.uid)

    def reference(self) -> dict[str, str]:
        """As Kubernetes writes an ObjectReference."""
        return {
            "apiVersion": self.api_version,
            "kind": self.kind,
            "namespace": self.namespace,
            "name": self.name,
            "uid": self.uid,
        }


class EventText(msgspec.Struct, frozen=True, gc=False):
    reason: str
    message: str
    warning: bool = False
    related: EventSubject | None = None  # whoever else it is about: for whom somebody had to go

    @property
    def type(self) -> str:
        return "Warning" if self.warning else "Normal"


class EventRate(msgspec.Struct, frozen=True):
    """How often one object is told one thing: so many times at once, and once more every so many seconds."""

    at_once: int
    every: float


class EventFormat(Protocol):
    """One way of writing a happening as an Event of Kubernetes, and of counting it up when it happens again."""

    @property
    def resource(self) -> Resource: ...

    @property
    def allowance(self) -> EventRate | None:
        """None: nobody minds how many there are."""
        ...

    def alike(self, subject: EventSubject, text: EventText) -> str:
        """The same for happenings to one object that are one event, counted."""
        ...

    def new(self, name: str, subject: EventSubject, text: EventText, now: float) -> dict[str, Any]: ...

    def again(self, count: int, now: float) -> dict[str, Any]:
        """The merge patch that says it has happened so many times by now."""
        ...

    def count(self, event: Mapping[str, Any]) -> int:
        """How often an event that is there says it has happened."""
        ...


def truncate(message: str, longest: int) -> str:
    """At most so many bytes, as Kubernetes counts them; never half a letter."""
    return message.encode()[:longest].decode(errors="ignore")


COMPONENT = "understudy"
MAX_MESSAGE = 1024  # what Kubernetes takes in an event


class CoreEventFormat(msgspec.Struct, frozen=True):
    @property
    def resource(self) -> Resource:
        return EVENTS

    @property
    def allowance(self) -> EventRate | None:
        return None

    def alike(self, subject: EventSubject, text: EventText) -> str:
        return "\n".join((subject.uid, subject.kind, text.reason, text.message))

    def new(self, name: str, subject: EventSubject, text: EventText, now: float) -> dict[str, Any]:
        moment = format_time(int(now))
        return {
            "apiVersion": EVENTS.api_version,
            "kind": EVENTS.kind,
            "metadata": {"name": name, "namespace": subject.namespace or "default"},
            "involvedObject": subject.reference(),
            "reason": text.reason,
            "message": truncate(text.message, MAX_MESSAGE),
            "type": text.type,
            "source": {"component": COMPONENT},
            "reportingComponent": COMPONENT,
            "reportingInstance": COMPONENT,
            "firstTimestamp": moment,
            "lastTimestamp": moment,
            "count": 1,
        }

    def again(self, count: int, now: float) -> dict[str, Any]:
        return {"count": count, "lastTimestamp": format_time(int(now))}

    def count(self, event: Mapping[str, Any]) -> int:
        return int(event.get("count") or 1)


CONTROLLER = "understudy.dev/scheduler"
MAX_NOTE, MAX_INSTANCE = 1024, 128  # what Kubernetes takes
RATE = EventRate(at_once=25, every=300.0)  # what the recorder of Kubernetes' own controllers allows itself


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


class SeriesEventFormat(msgspec.Struct, frozen=True):
    instance: str = "understudy"  # which of several of us writes

    @property
    def resource(self) -> Resource:
        return SERIES_EVENTS

    @property
    def allowance(self) -> EventRate | None:
        return RATE

    def alike(self, subject: EventSubject, text: EventText) -> str:
        words = text.message
        if subject.kind == "Pod" and text.reason in _WAITING:
            words = _FIGURE.sub("#", words)
        related = text.related.uid if text.related else ""
        return "\n".join((subject.uid, subject.kind, text.reason, words, related))

    def new(self, name: str, subject: EventSubject, text: EventText, now: float) -> dict[str, Any]:
        related = {"related": text.related.reference()} if text.related else {}
        return {
            "apiVersion": SERIES_EVENTS.api_version,
            "kind": SERIES_EVENTS.kind,
            "metadata": {"name": name, "namespace": subject.namespace or "default"},
            "regarding": subject.reference(),
            **related,
            "eventTime": _micro_time(now),
            "action": _ACTIONS.get(text.reason, _PLAIN),
            "reason": text.reason,
            "note": truncate(text.message, MAX_NOTE),
            "type": text.type,
            "reportingController": CONTROLLER,
            "reportingInstance": truncate(self.instance, MAX_INSTANCE),
        }

    def again(self, count: int, now: float) -> dict[str, Any]:
        return {"series": {"count": count, "lastObservedTime": _micro_time(now)}}

    def count(self, event: Mapping[str, Any]) -> int:
        series = event.get("series") or {}
        return int(series.get("count") or event.get("deprecatedCount") or 1)


def _micro_time(moment: float) -> str:
    """With six digits, always: Kubernetes takes no fewer."""
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
