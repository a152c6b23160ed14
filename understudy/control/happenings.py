"""What there is to tell: what happened, to which object; and what a form of Event has to know to write that down."""

from collections.abc import Mapping
from typing import Any, Protocol

import msgspec

from understudy.objects.meta import CLUSTER_SCOPED, KubeObject
from understudy.objects.resources import Resource


class About(msgspec.Struct, frozen=True, gc=False):
    """What an event is about."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str = ""

    @staticmethod
    def of(obj: KubeObject) -> "About":
        meta = obj.metadata
        namespace = "" if obj.kind in CLUSTER_SCOPED else meta.namespace
        return About(obj.api_version, obj.kind, namespace, meta.name, meta.uid)

    def reference(self) -> dict[str, str]:
        """As Kubernetes writes an ObjectReference."""
        return {
            "apiVersion": self.api_version,
            "kind": self.kind,
            "namespace": self.namespace,
            "name": self.name,
            "uid": self.uid,
        }


class Happening(msgspec.Struct, frozen=True, gc=False):
    reason: str
    message: str
    warning: bool = False
    related: About | None = None  # whoever else it is about: for whom somebody had to go

    @property
    def type(self) -> str:
        return "Warning" if self.warning else "Normal"


class Allowance(msgspec.Struct, frozen=True):
    """How often one object is told one thing: so many times at once, and once more every so many seconds."""

    at_once: int
    every: float


class EventForm(Protocol):
    """One way of writing a happening as an Event of Kubernetes, and of counting it up when it happens again."""

    @property
    def resource(self) -> Resource: ...

    @property
    def allowance(self) -> Allowance | None:
        """None: nobody minds how many there are."""
        ...

    def alike(self, about: About, happening: Happening) -> str:
        """The same for happenings to one object that are one event, counted."""
        ...

    def new(self, name: str, about: About, happening: Happening, now: float) -> dict[str, Any]: ...

    def again(self, count: int, now: float) -> dict[str, Any]:
        """The merge patch that says it has happened so many times by now."""
        ...

    def count(self, event: Mapping[str, Any]) -> int:
        """How often an event that is there says it has happened."""
        ...


def cut(message: str, longest: int) -> str:
    """At most so many bytes, as Kubernetes counts them; never half a letter."""
    return message.encode()[:longest].decode(errors="ignore")
