"""What a group of pods is asked to be, in words that fit all who define groups: a Definition; and how pods name one."""

import msgspec

from understudy.kinds.annotations import NO_ANNOTATIONS, JobAnnotations
from understudy.model.gangs import Topology
from understudy.objects.meta import ObjectMeta
from understudy.objects.pods import PodSpec

POD_GROUP = "PodGroup"


class GroupDefinition(msgspec.Struct, frozen=True):
    """Of a group: as few as `minimum` of its pods will do (None: all there are), and `least` have to be there first."""

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
    unsupported: tuple[str, ...] = ()  # what it asks for that Understudy does not do, in words
    absent: bool = False  # pods name it, and the object does not exist yet


class GroupRef(msgspec.Struct, frozen=True, gc=False):
    """The group a pod says it belongs to. `said` is its definition where the pods themselves say all of it."""

    api: str
    namespace: str
    name: str
    said: GroupDefinition | None = None
    binding: bool = False  # without the group's object nothing is to happen, not even where a job speaks for the pod

    @property
    def key(self) -> str:
        """The key of its gang, where it is one."""
        return f"{POD_GROUP}/{self.namespace}/{self.name}"

    @property
    def title(self) -> str:
        return f"{POD_GROUP} {self.namespace}/{self.name} ({self.api})"


class GroupMarks(msgspec.Struct, frozen=True, gc=False):
    """Where a pod, or the template of one, says to which group it belongs."""

    meta: ObjectMeta
    spec: PodSpec

    def named(self, api: str, name: str, said: GroupDefinition | None = None, binding: bool = False) -> GroupRef | None:
        return GroupRef(api, self.meta.namespace, name, said, binding) if name else None


def positive_number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and int(text) else None
