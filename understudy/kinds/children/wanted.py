"""What a kind wants done about its children, as values: decided here, carried out by whoever holds the cluster."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from understudy.kinds.children.seen import Meta, SeenJob, SeenJobSet, SeenObject, SeenPod, read_as
from understudy.objects.resources import JOB_SETS, JOBS, PODS, SERVICES, Resource

Document = dict[str, Any]  # a Kubernetes object, or part of one; never changed, only copied


class Observed(msgspec.Struct, frozen=True):
    """The children of one object as they were last seen, and what its family consults, both by resource key."""

    children: Mapping[str, Sequence[SeenObject]] = {}
    consulted: Mapping[str, Mapping[tuple[str, str], Document]] = {}  # whole, by namespace ('' for none) and name
    departed: Sequence[SeenObject] = ()  # children that are gone since the last look, as they were at last

    def of(self, resource: Resource) -> Sequence[SeenObject]:
        return self.children.get(resource.key, ())

    @property
    def pods(self) -> list[SeenPod]:
        return [pod for pod in self.of(PODS) if isinstance(pod, SeenPod)]

    @property
    def jobs(self) -> list[SeenJob]:
        return [job for job in self.of(JOBS) if isinstance(job, SeenJob)]

    @property
    def jobsets(self) -> list[SeenJobSet]:
        return [jobset for jobset in self.of(JOB_SETS) if isinstance(jobset, SeenJobSet)]

    @property
    def services(self) -> Sequence[SeenObject]:
        return self.of(SERVICES)

    def consult(self, resource: Resource, namespace: str, name: str) -> Document | None:
        """Somebody else's object that the family has said it reads; None where there is none."""
        return self.consulted.get(resource.key, {}).get((namespace, name))

    def consultable(self, resource: Resource, namespace: str) -> list[str]:
        """The names of those there are, for messages."""
        return sorted(name for place, name in self.consulted.get(resource.key, ()) if place == namespace)

    @staticmethod
    def read(documents: Mapping[str, Sequence[Document]]) -> "Observed":
        """From plain documents, by resource key."""
        return Observed(
            {key: [msgspec.convert(each, read_as(key)) for each in found] for key, found in documents.items()}
        )


class Note(msgspec.Struct, frozen=True):
    """An event on the parent. `{name}` in the message stands for the child it is about."""

    reason: str
    message: str
    type: str = "Normal"


class Create(msgspec.Struct, frozen=True):
    """A child to be made. One with a `generateName` gets its name from whoever makes it."""

    resource: Resource
    document: Document
    note: Note | None = None


class Delete(msgspec.Struct, frozen=True):
    resource: Resource
    name: str
    uid: str
    note: Note | None = None
    propagation: str = "Background"


class Patch(msgspec.Struct, frozen=True):
    """A list is a JSON patch, a mapping a merge patch. One that no longer applies is decided anew."""

    resource: Resource
    name: str
    patch: Document | list[Document]


class Wanted(msgspec.Struct, frozen=True):
    """To be carried out in the order of the fields, then decided anew until nothing is wanted any more. What fails ends
    it until the next look. The status is first so that a child is on record before it may vanish.
    """

    status: Document | None = None  # the whole of it; None leaves it as it is
    patches: tuple[Patch, ...] = ()
    deletes: tuple[Delete, ...] = ()
    creates: tuple[Create, ...] = ()
    notes: tuple[Note, ...] = ()
    expired: bool = False  # the parent itself is to be deleted
    again_at: float | None = None  # time alone may change the answer then


NOTHING = Wanted()


def owner_reference(api_version: str, kind: str, meta: Meta) -> Document:
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


def without_finalizer(resource: Resource, meta: Meta, finalizer: str) -> Patch:
    return Patch(resource, meta.name, finalizer_removal(meta.uid, meta.finalizers, finalizer))


def soonest(*moments: float | None) -> float | None:
    return min((moment for moment in moments if moment is not None), default=None)
