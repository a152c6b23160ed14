"""TrainJob as its controller reads it: its runtime, whether it is suspended, and its recorded status."""

from collections.abc import Mapping

from understudy.kinds.children.partial_objects import FullMeta
from understudy.kinds.end_conditions import TRAIN_JOB_ENDS
from understudy.objects.meta import Condition, Part, title
from understudy.objects.resources import CLUSTER_TRAINING_RUNTIMES, TRAIN_JOBS, TRAINING_RUNTIMES, Resource

OWN_CONTROLLER = "trainer.kubeflow.org/trainjob-controller"
STEP = "trainer.kubeflow.org/trainjob-ancestor-step"
TRAINER, NODE = "trainer", "node"
RUNTIME_KINDS = {resource.kind: resource for resource in (TRAINING_RUNTIMES, CLUSTER_TRAINING_RUNTIMES)}


class RuntimeRef(Part, frozen=True, gc=False):
    name: str
    kind: str = CLUSTER_TRAINING_RUNTIMES.kind
    api_group: str = TRAIN_JOBS.group

    @property
    def resource(self) -> Resource | None:
        """None: not a kind of runtime that is known here."""
        return RUNTIME_KINDS.get(self.kind) if self.api_group == TRAIN_JOBS.group else None


class TrainJobSpec(Part, frozen=True, gc=False):
    runtime_ref: RuntimeRef
    suspend: bool = False
    managed_by: str = ""
    active_deadline_seconds: int | None = None
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}


class TrainJobStatus(Part, frozen=True, gc=False):
    conditions: tuple[Condition, ...] = ()


class TrainJobObject(Part, frozen=True, gc=False):
    metadata: FullMeta
    spec: TrainJobSpec
    status: TrainJobStatus = TrainJobStatus()

    @property
    def title(self) -> str:
        return title(TRAIN_JOBS.kind, self.metadata.namespace, self.metadata.name)

    @property
    def finished(self) -> bool:
        return TRAIN_JOB_ENDS.has_ended(self.status.conditions)
