"""Objects that pods depend on: priority classes, disruption budgets, volumes and namespaces."""

from understudy.objects.meta import KubeObject, LabelSelector, Part
from understudy.objects.pods import NodeSelector


class PriorityClass(KubeObject, frozen=True, gc=False, kw_only=True):
    value: int
    global_default: bool = False
    preemption_policy: str = "PreemptLowerPriority"


class BudgetSpec(Part, frozen=True, gc=False):
    selector: LabelSelector | None = None
    min_available: int | str | None = None
    max_unavailable: int | str | None = None


class BudgetStatus(Part, frozen=True, gc=False):
    disruptions_allowed: int | None = None


class PodDisruptionBudget(KubeObject, frozen=True, gc=False, kw_only=True):
    spec: BudgetSpec = BudgetSpec()
    status: BudgetStatus = BudgetStatus()


class ClaimSpec(Part, frozen=True, gc=False):
    volume_name: str = ""
    storage_class_name: str | None = None  # None: the default one, as the cluster is about to write there
    access_modes: tuple[str, ...] = ()


class PersistentVolumeClaim(KubeObject, frozen=True, gc=False, kw_only=True):
    spec: ClaimSpec = ClaimSpec()


class VolumeAffinity(Part, frozen=True, gc=False):
    required: NodeSelector | None = None


class VolumeSpec(Part, frozen=True, gc=False):
    node_affinity: VolumeAffinity | None = None


class PersistentVolume(KubeObject, frozen=True, gc=False, kw_only=True):
    spec: VolumeSpec = VolumeSpec()


class TopologyRequirement(Part, frozen=True, gc=False):
    key: str
    values: tuple[str, ...] = ()


class TopologySelectorTerm(Part, frozen=True, gc=False):
    match_label_expressions: tuple[TopologyRequirement, ...] = ()


class StorageClass(KubeObject, frozen=True, gc=False, kw_only=True):
    provisioner: str = ""
    volume_binding_mode: str = "Immediate"
    allowed_topologies: tuple[TopologySelectorTerm, ...] = ()


class Namespace(KubeObject, frozen=True, gc=False, kw_only=True):
    pass
