"""The definition of a pod group in terms that fit all projects with pod groups, and how pods name their group."""

import msgspec

from understudy.kinds.annotations import NO_ANNOTATIONS, JobAnnotations
from understudy.model.gangs import Topology
from understudy.objects.meta import ObjectMeta
from understudy.objects.pods import PodSpec

POD_GROUP = "PodGroup"


class GroupDefinition(msgspec.Struct, frozen=True):
    """A group needs `minimum` of its pods to run (None: all), and `least` of them must exist first."""

    title: str
    name: str = ""
    minimum: int | None = None
    least: int = 1
    topology: Topology | None = None
    whole: bool = False  # its pods are disturbed together or not at all
    priority_class: str = ""
    priority: int | None = None
    preemption_policy: str = ""
    created: float | None = None
    notes: JobAnnotations = NO_ANNOTATIONS
    unsupported: tuple[str, ...] = ()  # settings that Understudy does not support, as text
    absent: bool = False  # pods name the group, but its object does not exist yet


class GroupRef(msgspec.Struct, frozen=True, gc=False):
    """The group that a pod names. `definition` is there if the pods themselves contain all of it."""

    api: str
    namespace: str
    name: str
    definition: GroupDefinition | None = None
    binding: bool = False  # without the group's object nothing happens, even if a job owns the pod

    @property
    def key(self) -> str:
        """The key of its gang, if it is one."""
        return f"{POD_GROUP}/{self.namespace}/{self.name}"

    @property
    def title(self) -> str:
        return f"{POD_GROUP} {self.namespace}/{self.name} ({self.api})"


class GroupMarks(msgspec.Struct, frozen=True, gc=False):
    """The labels and annotations with which a pod, or its template, names its group."""

    meta: ObjectMeta
    spec: PodSpec

    def named(
        self, api: str, name: str, definition: GroupDefinition | None = None, binding: bool = False
    ) -> GroupRef | None:
        return GroupRef(api, self.meta.namespace, name, definition, binding) if name else None


def positive_number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and int(text) else None
