"""What a kind wants done about its children, as values: the controller decides them, its caller carries them out."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from understudy.kinds.children.partial_objects import (
    FullMeta,
    PartialJob,
    PartialJobSet,
    PartialObject,
    PartialPod,
    struct_for,
)
from understudy.objects.resources import JOB_SETS, JOBS, PODS, SERVICES, Resource

Document = dict[str, Any]  # a Kubernetes object, or part of one; never changed, only copied


class ObservedChildren(msgspec.Struct, frozen=True):
    """The children of one object and the objects that its controller reads, as last seen, by resource key."""

    children: Mapping[str, Sequence[PartialObject]] = {}
    read_objects: Mapping[str, Mapping[tuple[str, str], Document]] = {}  # whole, by namespace ('' for none) and name
    departed: Sequence[PartialObject] = ()  # children that are gone since the last look, as they were at last

    def of(self, resource: Resource) -> Sequence[PartialObject]:
        return self.children.get(resource.key, ())

    @property
    def pods(self) -> list[PartialPod]:
        return [pod for pod in self.of(PODS) if isinstance(pod, PartialPod)]

    @property
    def jobs(self) -> list[PartialJob]:
        return [job for job in self.of(JOBS) if isinstance(job, PartialJob)]

    @property
    def jobsets(self) -> list[PartialJobSet]:
        return [jobset for jobset in self.of(JOB_SETS) if isinstance(jobset, PartialJobSet)]

    @property
    def services(self) -> Sequence[PartialObject]:
        return self.of(SERVICES)

    def read_object(self, resource: Resource, namespace: str, name: str) -> Document | None:
        """An object that the controller reads and does not own; None if it does not exist."""
        return self.read_objects.get(resource.key, {}).get((namespace, name))

    def read_names(self, resource: Resource, namespace: str) -> list[str]:
        """The names of those there are, for messages."""
        return sorted(name for place, name in self.read_objects.get(resource.key, ()) if place == namespace)

    @staticmethod
    def read(documents: Mapping[str, Sequence[Document]]) -> "ObservedChildren":
        """From plain documents, by resource key."""
        return ObservedChildren(
            {key: [msgspec.convert(each, struct_for(key)) for each in found] for key, found in documents.items()}
        )


class EventNote(msgspec.Struct, frozen=True):
    """An event on the parent. `{name}` in the message stands for the child it is about."""

    reason: str
    message: str
    type: str = "Normal"


class CreateChild(msgspec.Struct, frozen=True):
    """A child to be made. One with a `generateName` gets its name when it is created."""

    resource: Resource
    document: Document
    note: EventNote | None = None
    if_absent: bool = False  # one of this name that exists already is as good


class DeleteChild(msgspec.Struct, frozen=True):
    resource: Resource
    name: str
    uid: str
    note: EventNote | None = None
    propagation: str = "Background"


class PatchChild(msgspec.Struct, frozen=True):
    """A list is a JSON patch, a mapping a merge patch. If it no longer applies, the parent is reconciled again."""

    resource: Resource
    name: str
    patch: Document | list[Document]
    sub: str = ""  # the sub-resource


class ChildActions(msgspec.Struct, frozen=True):
    """Carried out in the order of the fields; then the parent is reconciled again until nothing is left to do. After a
    failure that is delayed. The status is first, so that a child is recorded before it may be deleted.
    """

    status: Document | None = None  # the whole of it; None leaves it as it is
    patches: tuple[PatchChild, ...] = ()
    deletes: tuple[DeleteChild, ...] = ()
    creates: tuple[CreateChild, ...] = ()
    notes: tuple[EventNote, ...] = ()
    expired: bool = False  # the parent itself is to be deleted
    again_at: float | None = None  # time alone may change the answer then


NO_ACTIONS = ChildActions()


def owner_reference(api_version: str, kind: str, meta: FullMeta) -> Document:
    return {
        "apiVersion": api_version,
        "kind": kind,
        "name": meta.name,
        "uid": meta.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def finalizer_removal(uid: str, finalizers: Sequence[str], finalizer: str) -> list[Document]:
    """The JSON patch that takes one finalizer away, whatever else has changed; refused for another object by now."""
    position = finalizers.index(finalizer)
    return [
        {"op": "test", "path": "/metadata/uid", "value": uid},
        {"op": "test", "path": f"/metadata/finalizers/{position}", "value": finalizer},
        {"op": "remove", "path": f"/metadata/finalizers/{position}"},
    ]


def remove_finalizer(resource: Resource, meta: FullMeta, finalizer: str) -> PatchChild:
    return PatchChild(resource, meta.name, finalizer_removal(meta.uid, meta.finalizers, finalizer))


def earliest(*moments: float | None) -> float | None:
    return min((moment for moment in moments if moment is not None), default=None)
