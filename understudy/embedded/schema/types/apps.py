"""Workloads that run on: Deployments, ReplicaSets, StatefulSets, DaemonSets, and the revisions they keep."""

from typing import Annotated, Literal

from msgspec import UNSET, field

from understudy.embedded.schema.types.claims import PersistentVolumeClaim
from understudy.embedded.schema.types.meta import ApiStruct, KubeObject, LabelSelector
from understudy.embedded.schema.types.pods import PodTemplateSpec
from understudy.embedded.schema.types.values import (
    Count,
    Int32,
    Int64,
    IntOrString,
    Maybe,
    NonEmpty,
    Opaque,
    Time,
    keyed,
)


class WorkloadCondition(ApiStruct):
    """One thing that is true, false or unknown about the workload."""

    type: NonEmpty
    status: str
    last_transition_time: Maybe[Time] = UNSET
    message: Maybe[str] = UNSET
    reason: Maybe[str] = UNSET


class DeploymentCondition(WorkloadCondition):
    """One thing that is true, false or unknown about the deployment."""

    last_update_time: Maybe[Time] = UNSET


class RollingUpdateDeployment(ApiStruct):
    """How many pods may be missing, and how many there may be beyond the replicas, during an update."""

    max_surge: IntOrString = "25%"
    max_unavailable: IntOrString = "25%"


class DeploymentStrategy(ApiStruct):
    """How pods of an old template are replaced."""

    rolling_update: Maybe[RollingUpdateDeployment] = UNSET
    type: Literal["Recreate", "RollingUpdate"] = "RollingUpdate"


class DeploymentSpec(ApiStruct):
    """Which pods there should be, how many, and how they are updated."""

    selector: LabelSelector
    template: PodTemplateSpec
    min_ready_seconds: Maybe[Count] = UNSET
    paused: Maybe[bool] = UNSET
    progress_deadline_seconds: Count = 600
    replicas: Count = 1
    revision_history_limit: Count = 10
    strategy: DeploymentStrategy = field(default_factory=DeploymentStrategy)


class DeploymentStatus(ApiStruct):
    """How far the deployment has come."""

    available_replicas: Maybe[Int32] = UNSET
    collision_count: Maybe[Int32] = UNSET
    conditions: Annotated[Maybe[list[DeploymentCondition]], keyed("type")] = UNSET
    observed_generation: Maybe[Int64] = UNSET
    ready_replicas: Maybe[Int32] = UNSET
    replicas: Maybe[Int32] = UNSET
    terminating_replicas: Maybe[Int32] = UNSET
    unavailable_replicas: Maybe[Int32] = UNSET
    updated_replicas: Maybe[Int32] = UNSET


class Deployment(KubeObject, kw_only=True):
    """Pods of one template that run on, updated through ReplicaSets."""

    api_version: str = "apps/v1"
    kind: str = "Deployment"
    spec: DeploymentSpec
    status: DeploymentStatus = field(default_factory=DeploymentStatus)


class ReplicaSetSpec(ApiStruct):
    """Which pods there should be, and how many."""

    selector: LabelSelector
    template: PodTemplateSpec
    min_ready_seconds: Maybe[Count] = UNSET
    replicas: Count = 1


class ReplicaSetStatus(ApiStruct):
    """How many of the pods there are."""

    available_replicas: Maybe[Int32] = UNSET
    conditions: Annotated[Maybe[list[WorkloadCondition]], keyed("type")] = UNSET
    fully_labeled_replicas: Maybe[Int32] = UNSET
    observed_generation: Maybe[Int64] = UNSET
    ready_replicas: Maybe[Int32] = UNSET
    replicas: Int32 = 0
    terminating_replicas: Maybe[Int32] = UNSET


class ReplicaSet(KubeObject, kw_only=True):
    """A number of pods of one template."""

    api_version: str = "apps/v1"
    kind: str = "ReplicaSet"
    spec: ReplicaSetSpec
    status: ReplicaSetStatus = field(default_factory=ReplicaSetStatus)


class StatefulSetOrdinals(ApiStruct):
    """The numbers of the pods."""

    start: Count = 0


class StatefulSetPersistentVolumeClaimRetentionPolicy(ApiStruct):
    """What happens to claims when the set is deleted, and when it shrinks."""

    when_deleted: Literal["Retain", "Delete"] = "Retain"
    when_scaled: Literal["Retain", "Delete"] = "Retain"


class RollingUpdateStatefulSetStrategy(ApiStruct):
    """Pods with a number below the partition keep their revision."""

    max_unavailable: Maybe[IntOrString] = UNSET
    partition: Count = 0


class StatefulSetUpdateStrategy(ApiStruct):
    """How pods of an old template are replaced."""

    rolling_update: Maybe[RollingUpdateStatefulSetStrategy] = UNSET
    type: Literal["RollingUpdate", "OnDelete"] = "RollingUpdate"


class StatefulSetSpec(ApiStruct):
    """Which pods and claims there should be, how many, and in which order."""

    selector: LabelSelector
    template: PodTemplateSpec
    min_ready_seconds: Maybe[Count] = UNSET
    ordinals: Maybe[StatefulSetOrdinals] = UNSET
    persistent_volume_claim_retention_policy: StatefulSetPersistentVolumeClaimRetentionPolicy = field(
        default_factory=StatefulSetPersistentVolumeClaimRetentionPolicy
    )
    pod_management_policy: Literal["OrderedReady", "Parallel"] = "OrderedReady"
    replicas: Count = 1
    revision_history_limit: Count = 10
    service_name: Maybe[str] = UNSET
    update_strategy: StatefulSetUpdateStrategy = field(default_factory=StatefulSetUpdateStrategy)
    volume_claim_templates: Maybe[list[PersistentVolumeClaim]] = UNSET


class StatefulSetStatus(ApiStruct):
    """How many of the pods there are, and of which revision."""

    available_replicas: Int32 = 0
    collision_count: Maybe[Int32] = UNSET
    conditions: Annotated[Maybe[list[WorkloadCondition]], keyed("type")] = UNSET
    current_replicas: Maybe[Int32] = UNSET
    current_revision: Maybe[str] = UNSET
    observed_generation: Maybe[Int64] = UNSET
    ready_replicas: Maybe[Int32] = UNSET
    replicas: Int32 = 0
    update_revision: Maybe[str] = UNSET
    updated_replicas: Maybe[Int32] = UNSET


class StatefulSet(KubeObject, kw_only=True):
    """Pods with numbers, each with a name and claims that stay."""

    api_version: str = "apps/v1"
    kind: str = "StatefulSet"
    spec: StatefulSetSpec
    status: StatefulSetStatus = field(default_factory=StatefulSetStatus)


class RollingUpdateDaemonSet(ApiStruct):
    """How many nodes may be without their pod during an update."""

    max_surge: IntOrString = 0
    max_unavailable: IntOrString = 1


class DaemonSetUpdateStrategy(ApiStruct):
    """How pods of an old template are replaced."""

    rolling_update: Maybe[RollingUpdateDaemonSet] = UNSET
    type: Literal["RollingUpdate", "OnDelete"] = "RollingUpdate"


class DaemonSetSpec(ApiStruct):
    """The pod that every node should have."""

    selector: LabelSelector
    template: PodTemplateSpec
    min_ready_seconds: Maybe[Count] = UNSET
    revision_history_limit: Count = 10
    update_strategy: DaemonSetUpdateStrategy = field(default_factory=DaemonSetUpdateStrategy)


class DaemonSetStatus(ApiStruct):
    """How many nodes have their pod."""

    collision_count: Maybe[Int32] = UNSET
    conditions: Annotated[Maybe[list[WorkloadCondition]], keyed("type")] = UNSET
    current_number_scheduled: Int32 = 0
    desired_number_scheduled: Int32 = 0
    number_available: Maybe[Int32] = UNSET
    number_misscheduled: Int32 = 0
    number_ready: Int32 = 0
    number_unavailable: Maybe[Int32] = UNSET
    observed_generation: Maybe[Int64] = UNSET
    updated_number_scheduled: Maybe[Int32] = UNSET


class DaemonSet(KubeObject, kw_only=True):
    """One pod on every node."""

    api_version: str = "apps/v1"
    kind: str = "DaemonSet"
    spec: DaemonSetSpec
    status: DaemonSetStatus = field(default_factory=DaemonSetStatus)


class ControllerRevision(KubeObject, kw_only=True):
    """A template that a StatefulSet or DaemonSet had, to go back to."""

    api_version: str = "apps/v1"
    kind: str = "ControllerRevision"
    revision: Int64
    data: Maybe[Opaque] = UNSET
