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
    field: str = ""  # a part of it, such as spec.containers{main}

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
            **({"fieldPath": self.field} if self.field else {}),
        }


class EventText(msgspec.Struct, frozen=True, gc=False):
    reason: str
    message: str
    warning: bool = False
    related: EventSubject | None = None  # another object that it concerns, such as the job that gets the seats

    @property
    def type(self) -> str:
        return "Warning" if self.warning else "Normal"


class EventRate(msgspec.Struct, frozen=True):
    """How many events of one kind an object may get: a number at once, and then one every so many seconds."""

    at_once: int
    every: float


class EventFormat(Protocol):
    """One way to write an occurrence as an Event of Kubernetes, and to raise its count when it happens again."""

    @property
    def resource(self) -> Resource: ...

    @property
    def allowance(self) -> EventRate | None:
        """None: no limit."""
        ...

    def series_key(self, subject: EventSubject, text: EventText) -> str:
        """Equal for occurrences at one object that are counted in one event."""
        ...

    def new(self, name: str, subject: EventSubject, text: EventText, now: float) -> dict[str, Any]: ...

    def again(self, count: int, now: float) -> dict[str, Any]:
        """The merge patch that sets the number of occurrences."""
        ...

    def count(self, event: Mapping[str, Any]) -> int:
        """The number of occurrences that an existing event shows."""
        ...


def truncate(message: str, longest: int) -> str:
    """At most so many bytes, as Kubernetes counts them; no character is cut in two."""
    return message.encode()[:longest].decode(errors="ignore")


COMPONENT = "understudy"
MAX_MESSAGE = 1024  # the limit of Kubernetes


class EventReporter(msgspec.Struct, frozen=True):
    component: str
    instance: str
    host: str = ""  # the node on which the component runs


def core_event(
    name: str, subject: EventSubject, text: EventText, reporter: EventReporter, now: float
) -> dict[str, Any]:
    """A new event of core/v1."""
    moment = format_time(int(now))
    return {
        "apiVersion": EVENTS.api_version,
        "kind": EVENTS.kind,
        "metadata": {"name": name, "namespace": subject.namespace or "default"},
        "involvedObject": subject.reference(),
        "reason": text.reason,
        "message": text.message,
        "type": text.type,
        "source": {"component": reporter.component, **({"host": reporter.host} if reporter.host else {})},
        "reportingComponent": reporter.component,
        "reportingInstance": reporter.instance,
        "firstTimestamp": moment,
        "lastTimestamp": moment,
        "count": 1,
    }


class CoreEventFormat(msgspec.Struct, frozen=True):
    @property
    def resource(self) -> Resource:
        return EVENTS

    @property
    def allowance(self) -> EventRate | None:
        return None

    def series_key(self, subject: EventSubject, text: EventText) -> str:
        return "\n".join((subject.uid, subject.kind, text.reason, text.message))

    def new(self, name: str, subject: EventSubject, text: EventText, now: float) -> dict[str, Any]:
        short = msgspec.structs.replace(text, message=truncate(text.message, MAX_MESSAGE))
        return core_event(name, subject, short, EventReporter(COMPONENT, COMPONENT), now)

    def again(self, count: int, now: float) -> dict[str, Any]:
        return {"count": count, "lastTimestamp": format_time(int(now))}

    def count(self, event: Mapping[str, Any]) -> int:
        return int(event.get("count") or 1)


CONTROLLER = "understudy.dev/scheduler"
MAX_NOTE, MAX_INSTANCE = 1024, 128  # limits of Kubernetes
RATE = EventRate(at_once=25, every=300.0)  # the rate of the recorder of Kubernetes' own controllers


# The action for each reason. All other reasons belong to scheduling.
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
_WAITING = ("FailedScheduling",)  # repeated whenever a number changes
_FIGURE = re.compile(r"(?<![\w./-])\d+(\.\d+)?(?![\w./-])")  # a number by itself, not as part of a name


class SeriesEventFormat(msgspec.Struct, frozen=True):
    instance: str = "understudy"  # which of several schedulers writes

    @property
    def resource(self) -> Resource:
        return SERIES_EVENTS

    @property
    def allowance(self) -> EventRate | None:
        return RATE

    def series_key(self, subject: EventSubject, text: EventText) -> str:
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
    """Always with six digits: Kubernetes accepts no fewer."""
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
