"""The objects that the meaning of a job depends on: priority classes, runtimes, volumes, namespaces, and the
scheduler's name."""

from collections.abc import Callable

import msgspec

from understudy.kinds.annotations import PREFIX, HasTitle
from understudy.model.nodes import CapacityPolicy
from understudy.objects.cluster_objects import PriorityClass
from understudy.objects.errors import BadObject
from understudy.objects.jobs import TrainingRuntime
from understudy.objects.pod_shapes import ShapeCache, Surroundings
from understudy.objects.pods import DEFAULT_SCHEDULER, PodSpec, PodTemplate

OPT_IN = f"{PREFIX}schedule"  # a label: a namespace gives its pods to Understudy ("true"), a pod is excluded ("false")
BUILT_IN_CLASSES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}


class PodPriority(msgspec.Struct, frozen=True, gc=False):
    """How important a pod is, and whether it may preempt others."""

    priority: int = 0
    preempts: bool = True


class Context:
    def __init__(
        self,
        scheduler_name: str | None = None,
        default_capacity: Callable[[int], CapacityPolicy] | None = None,
    ) -> None:
        """`default_capacity` says what jobs of a priority ask for that say nothing themselves; None: any capacity."""
        self.scheduler_name = scheduler_name
        self.default_capacity = default_capacity
        self.classes: dict[str, PriorityClass] = {}
        self.runtimes: dict[tuple[str, str, str], TrainingRuntime] = {}  # by kind, namespace ('' for cluster), name
        self.surroundings = Surroundings()
        self.shapes = ShapeCache(self.surroundings)
        self._default: PriorityClass | None = None
        self._priorities: dict[tuple[int | None, str, str], PodPriority] = {}

    def changed(self) -> None:
        """Called after any of these objects has changed."""
        self.shapes.forget()
        self._priorities.clear()
        # If several classes are marked as the default, Kubernetes takes the one with the lowest value.
        defaults = [c for c in self.classes.values() if c.global_default]
        self._default = min(defaults, key=lambda c: (c.value, c.metadata.name), default=None)

    def ours(self, spec: PodSpec) -> bool:
        return self.scheduler_name is None or spec.scheduler_name == self.scheduler_name

    def will_be_ours(self, template: PodTemplate, namespace: str) -> bool:
        """For pods that do not exist yet: in an opted-in namespace, admission will set Understudy as their
        scheduler."""
        spec = template.spec
        if self.ours(spec) or spec.scheduler_name != DEFAULT_SCHEDULER:
            return self.ours(spec)
        around = self.surroundings.namespaces.get(namespace)
        opted_in = around is not None and around.metadata.labels.get(OPT_IN) == "true"
        return opted_in and template.metadata.labels.get(OPT_IN) != "false"

    def priority_of(self, spec: PodSpec, titled: HasTitle, field: str) -> PodPriority:
        """A priority in the spec wins, otherwise the class decides. `field` is the path of the spec."""
        key = (spec.priority, spec.priority_class_name, spec.preemption_policy)
        found = self._priorities.get(key)
        if found is None:
            given = self._class_of(spec, titled, field)
            policy = spec.preemption_policy or given.preemption_policy
            found = PodPriority(given.value if spec.priority is None else spec.priority, policy != "Never")
            self._priorities[key] = found
        return found

    def _class_of(self, spec: PodSpec, titled: HasTitle, field: str) -> PriorityClass:
        name = spec.priority_class_name
        if not name:  # a spec with a priority got its default at admission
            return self._default if self._default and spec.priority is None else _NO_CLASS
        if found := self.classes.get(name):
            return found
        if name in BUILT_IN_CLASSES:
            return msgspec.structs.replace(_NO_CLASS, value=BUILT_IN_CLASSES[name])
        if spec.priority is not None:  # the class was deleted, but the pod keeps its priority
            return _NO_CLASS
        known = ", ".join(sorted(self.classes)) or "none"
        raise BadObject(
            titled.title, f"{field}.priorityClassName", f"there is no PriorityClass {name!r}; there are: {known}"
        )


_NO_CLASS = msgspec.convert(
    {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "none"}, "value": 0},
    PriorityClass,
)
