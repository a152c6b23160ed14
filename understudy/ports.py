"""What the loops need of the world: a cluster to read and write, and a clock. Every world brings its own."""

import enum
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from understudy.objects.meta import KubeObject
from understudy.objects.resources import Resource


class ChangeType(enum.StrEnum):
    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    SYNCED = "SYNCED"  # everything there was has been told; what follows is news


class Change(msgspec.Struct, frozen=True, gc=False):
    type: ChangeType
    raw: bytes = b""  # the object as JSON, the last one seen where it is gone
    obj: KubeObject | None = None  # in place of the text, for those who asked for objects


class Ref(msgspec.Struct, frozen=True, gc=False):
    """One object by name, or with no name the place where new ones go."""

    resource: Resource
    namespace: str = ""
    name: str = ""

    def path(self, sub: str = "") -> str:
        return self.resource.path(self.namespace, self.name, sub)


class PodBinding(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One pod to be bound to one node."""

    pod: str
    uid: str
    node: str
    annotations: Mapping[str, str] = {}  # to be put on the pod in the same write


class PodEviction(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One pod that has to go, and the condition that tells it why."""

    pod: str
    uid: str
    condition: Mapping[str, str]
    grace: int | None = None  # seconds; None: those that it asks for
    excused: str = ""  # the version a batch Job's pod was seen in, for which its Job must not count this as a failure


class PatchForm(enum.StrEnum):
    STRATEGIC = "application/strategic-merge-patch+json"
    MERGE = "application/merge-patch+json"
    JSON = "application/json-patch+json"
    APPLY = "application/apply-patch+yaml"


class Refused(Exception):
    """The cluster said no: a Kubernetes Status in words and numbers."""

    done: frozenset[str] = frozenset()  # of several things asked for at once, the uids of those that were done

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message


class Unreachable(Exception):
    """The cluster said nothing; whether it did what was asked is not known."""

    done: frozenset[str] = frozenset()  # of several things asked for at once, the uids of those known to be done


class ClusterReader(Protocol):
    """What can be read of a Kubernetes API."""

    def follow(
        self, resource: Resource, *, namespace: str = "", labels: str = "", fields: str = "", decoded: bool = False
    ) -> AsyncIterator[Change]:
        """All objects there are, SYNCED, then every change, for ever. Lost connections are mended inside; after one
        that lost its place, what has gone meanwhile is told as DELETED and the rest as ADDED or MODIFIED.

        Whoever asks for objects `decoded` gets them so where the cluster can do that at less cost, and keeps them
        himself: of what went unseen he is told no more than apiVersion, kind, namespace, name and uid."""
        ...

    def age(self) -> float:
        """How old the picture is that is drawn from what is followed: seconds for which it is not known whether
        anything happened that has not been told. The oldest counts; nothing followed: 0."""
        ...

    async def get(self, ref: Ref) -> bytes: ...


class Cluster(ClusterReader, Protocol):
    """A Kubernetes API. Writes raise Refused or Unreachable, and change nothing or all of what they name. Of the
    scheduling loop, only `control/apply/` may write; the other parts are given a ClusterReader."""

    async def create(self, ref: Ref, body: Mapping[str, Any], sub: str = "") -> bytes: ...

    async def patch(self, ref: Ref, patch: Any, *, sub: str = "", form: PatchForm = PatchForm.STRATEGIC) -> bytes: ...

    async def delete(self, ref: Ref, *, grace: int | None = None, uid: str = "", propagation: str = "") -> None: ...

    async def bind(self, namespace: str, seatings: Sequence[PodBinding]) -> None:
        """Seats pods of one gang. A world that can do it whole or not at all does; in another, the exception knows
        who was seated all the same."""
        ...

    async def release(self, namespace: str, departures: Sequence[PodEviction]) -> None:
        """Marks pods and deletes them. Whoever is gone already, or has been replaced, is passed over."""
        ...


class Clock(Protocol):
    def now(self) -> float:
        """Seconds since 1970."""
        ...

    async def sleep(self, seconds: float) -> None: ...
