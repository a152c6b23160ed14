"""What the loops need from the world around them: a cluster to read and write, and a clock. Every world implements
both."""

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
    SYNCED = "SYNCED"  # every object that existed at the start has been delivered; changes follow


class Change(msgspec.Struct, frozen=True, gc=False):
    type: ChangeType
    raw: bytes = b""  # the object as JSON; if it is gone, its last state
    obj: KubeObject | None = None  # instead of the text, for callers that asked for decoded objects


class Ref(msgspec.Struct, frozen=True, gc=False):
    """One object by name; without a name, the place where new objects are created."""

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
    annotations: Mapping[str, str] = {}  # written on the pod together with the node


class PodEviction(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A pod to evict, and the condition that says why."""

    pod: str
    uid: str
    condition: Mapping[str, str]
    grace: int | None = None  # seconds; None: the pod's own
    # the version in which a batch Job's pod was seen; its Job must not count the eviction as a failure
    excused: str = ""


class PatchForm(enum.StrEnum):
    STRATEGIC = "application/strategic-merge-patch+json"
    MERGE = "application/merge-patch+json"
    JSON = "application/json-patch+json"
    APPLY = "application/apply-patch+yaml"


class Refused(Exception):
    """The cluster refused a request, with a Kubernetes Status."""

    done: frozenset[str] = frozenset()  # of a request for several pods, the uids of those that were changed

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message


class Unreachable(Exception):
    """The cluster did not answer; it is not known whether it did what was asked."""

    done: frozenset[str] = frozenset()  # of a request for several pods, the uids of those known to be changed


class ClusterReader(Protocol):
    """What can be read of a Kubernetes API."""

    def follow(
        self, resource: Resource, *, namespace: str = "", labels: str = "", fields: str = "", decoded: bool = False
    ) -> AsyncIterator[Change]:
        """All existing objects, SYNCED, then every change, without end. Broken connections are resumed inside. If the
        position of the watch was lost, objects that are gone are reported as DELETED and all others as ADDED or
        MODIFIED.

        With `decoded`, objects are delivered decoded where that is cheaper for the cluster. The caller has to keep
        them: of an object whose deletion was missed, only apiVersion, kind, namespace, name and uid are delivered."""
        ...

    def age(self) -> float:
        """The age of what `follow` has delivered: seconds for which it is not known whether anything has changed since.
        The oldest watch counts; 0 without any."""
        ...

    async def get(self, ref: Ref) -> bytes: ...


class Cluster(ClusterReader, Protocol):
    """A Kubernetes API. Writes raise Refused or Unreachable, and change all of what they name or nothing. In the
    scheduling loop only `control/apply/` may write; the other parts get a ClusterReader."""

    async def create(self, ref: Ref, body: Mapping[str, Any], sub: str = "") -> bytes: ...

    async def patch(self, ref: Ref, patch: Any, *, sub: str = "", form: PatchForm = PatchForm.STRATEGIC) -> bytes: ...

    async def delete(self, ref: Ref, *, grace: int | None = None, uid: str = "", propagation: str = "") -> None: ...

    async def bind(self, namespace: str, bindings: Sequence[PodBinding]) -> None:
        """Binds the pods of one gang. A world that can bind all or none does so; otherwise the exception names those
        that were bound."""
        ...

    async def release(self, namespace: str, releases: Sequence[PodEviction]) -> None:
        """Sets the condition of the pods and deletes them. Pods that are gone or replaced are left out."""
        ...


class Clock(Protocol):
    def now(self) -> float:
        """Seconds since 1970."""
        ...

    async def sleep(self, seconds: float) -> None: ...
