"""Children as typed values: the fields of pods, Jobs and other objects from which the status of a parent follows."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from understudy.kinds.annotations import format_time
from understudy.objects.meta import Condition, Part, Time, has_condition, seconds
from understudy.objects.pods import ENDED_PHASES
from understudy.objects.resources import CONTROLLER_REVISIONS, ENDPOINT_SLICES, JOB_SETS, JOBS, PODS, REPLICA_SETS


class FullOwnerReference(Part, frozen=True, gc=False):
    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool = False
    block_owner_deletion: bool = False


class FullMeta(Part, frozen=True, gc=False):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    finalizers: tuple[str, ...] = ()
    owner_references: tuple[FullOwnerReference, ...] = ()
    creation_timestamp: Time | None = None
    deletion_timestamp: Time | None = None
    deletion_grace_period_seconds: int | None = None

    @property
    def controller(self) -> FullOwnerReference | None:
        return next((owner for owner in self.owner_references if owner.controller), None)

    @property
    def leaving(self) -> bool:
        return self.deletion_timestamp is not None


class PartialObject(Part, frozen=True, gc=False):
    metadata: FullMeta


class TerminatedState(Part, frozen=True, gc=False):
    exit_code: int = 0
    finished_at: Time | None = None


class PartialContainerState(Part, frozen=True, gc=False):
    terminated: TerminatedState | None = None


class PartialContainerStatus(Part, frozen=True, gc=False):
    name: str = ""
    restart_count: int = 0
    state: PartialContainerState = PartialContainerState()
    last_state: PartialContainerState = PartialContainerState()


class PartialPodStatus(Part, frozen=True, gc=False):
    phase: str = "Pending"
    reason: str = ""
    conditions: tuple[Condition, ...] = ()
    container_statuses: tuple[PartialContainerStatus, ...] = ()
    init_container_statuses: tuple[PartialContainerStatus, ...] = ()


class PartialPodSpec(Part, frozen=True, gc=False):
    node_name: str = ""


class PartialPod(PartialObject, frozen=True, gc=False, kw_only=True):
    spec: PartialPodSpec = PartialPodSpec()
    status: PartialPodStatus = PartialPodStatus()

    @property
    def finished(self) -> bool:
        return self.status.phase in ENDED_PHASES

    @property
    def active(self) -> bool:
        return not self.finished and not self.metadata.leaving

    @property
    def terminating(self) -> bool:
        """Asked to go, and perhaps still running."""
        return not self.finished and self.metadata.leaving and not self.departed

    @property
    def ready(self) -> bool:
        return has_condition(self.status.conditions, "Ready")

    @property
    def departed(self) -> bool:
        """Being deleted, and no kubelet will report how it ended: it never had a node, or has no grace period."""
        meta = self.metadata
        return meta.leaving and (not self.spec.node_name or meta.deletion_grace_period_seconds == 0)

    @property
    def containers(self) -> tuple[PartialContainerStatus, ...]:
        return self.status.init_container_statuses + self.status.container_statuses

    @property
    def finished_at(self) -> float:
        """When the last container ended; where that is not known, when the pod was asked to go, or was made."""
        ends = [seconds(c.state.terminated.finished_at) for c in self.containers if c.state.terminated]
        known = [end for end in ends if end is not None]
        meta = self.metadata
        return max(known) if known else seconds(meta.deletion_timestamp or meta.creation_timestamp) or 0.0


class PartialJobSpec(Part, frozen=True, gc=False):
    suspend: bool = False
    parallelism: int | None = None
    completions: int | None = None
    template: Mapping[str, Any] = {}


class PartialJobStatus(Part, frozen=True, gc=False):
    conditions: tuple[Condition, ...] = ()
    active: int = 0
    ready: int = 0
    succeeded: int = 0
    failed: int = 0
    terminating: int = 0
    start_time: Time | None = None
    completion_time: Time | None = None


class PartialJob(PartialObject, frozen=True, gc=False, kw_only=True):
    spec: PartialJobSpec = PartialJobSpec()
    status: PartialJobStatus = PartialJobStatus()


class PartialJobSetSpec(Part, frozen=True, gc=False):
    suspend: bool = False


class ReplicatedJobCounts(Part, frozen=True, gc=False):
    name: str
    ready: int = 0
    succeeded: int = 0
    failed: int = 0
    active: int = 0
    suspended: int = 0


class PartialJobSetStatus(Part, frozen=True, gc=False):
    conditions: tuple[Condition, ...] = ()
    replicated_jobs_status: tuple[ReplicatedJobCounts, ...] = ()


class PartialJobSet(PartialObject, frozen=True, gc=False, kw_only=True):
    spec: PartialJobSetSpec = PartialJobSetSpec()
    status: PartialJobSetStatus = PartialJobSetStatus()


class PartialReplicaSetSpec(Part, frozen=True, gc=False):
    replicas: int = 1
    min_ready_seconds: int = 0
    template: dict[str, Any] = msgspec.field(default_factory=dict)


class PartialReplicaSetStatus(Part, frozen=True, gc=False):
    replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    terminating_replicas: int = 0
    observed_generation: int = 0


class PartialReplicaSet(PartialObject, frozen=True, gc=False, kw_only=True):
    spec: PartialReplicaSetSpec = PartialReplicaSetSpec()
    status: PartialReplicaSetStatus = PartialReplicaSetStatus()

    @property
    def available(self) -> int:
        """The status may be older than a smaller number of replicas."""
        return min(self.spec.replicas, self.status.available_replicas)


class PartialRevision(PartialObject, frozen=True, gc=False, kw_only=True):
    """A ControllerRevision."""

    revision: int = 0
    data: dict[str, Any] = msgspec.field(default_factory=dict)


class PartialEndpointSlice(PartialObject, frozen=True, gc=False, kw_only=True):
    endpoints: tuple[dict[str, Any], ...] = ()
    ports: tuple[dict[str, Any], ...] = ()


_STRUCTS: dict[str, type[PartialObject]] = {
    PODS.key: PartialPod,
    JOBS.key: PartialJob,
    JOB_SETS.key: PartialJobSet,
    REPLICA_SETS.key: PartialReplicaSet,
    CONTROLLER_REVISIONS.key: PartialRevision,
    ENDPOINT_SLICES.key: PartialEndpointSlice,
}


def struct_for(resource_key: str) -> type[PartialObject]:
    """The struct that children of this resource are read into."""
    return _STRUCTS.get(resource_key, PartialObject)


def whole_seconds(moment: float) -> str:
    """A moment as Kubernetes writes it, in whole seconds."""
    return format_time(int(moment))


def find_condition(conditions: Sequence[Condition], kind: str) -> Condition | None:
    return next((condition for condition in conditions if condition.type == kind), None)


def with_condition(conditions: Sequence[dict[str, Any]], new: dict[str, Any]) -> list[dict[str, Any]]:
    """The conditions with this one among them, in the place of the one of its type."""
    if any(old["type"] == new["type"] for old in conditions):
        return [new if old["type"] == new["type"] else old for old in conditions]
    return [*conditions, new]
