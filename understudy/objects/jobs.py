"""Jobs of Kubernetes and the parts that several job kinds are made of: the fields that say which pods a job wants."""

from collections.abc import Mapping
from typing import Any

from understudy.objects.meta import Condition, KubeObject, ObjectMeta, Part
from understudy.objects.pods import Affinity, PodTemplate, PodToleration, Resources, SchedulingGate


class Workload(KubeObject, frozen=True, gc=False, kw_only=True):
    """A job of any kind. The structs of the training operator's kinds stand in the files of the kinds."""

    spec: Any
    status: Any


class JobSpec(Part, frozen=True, gc=False):
    template: PodTemplate
    parallelism: int | None = None
    completions: int | None = None
    completion_mode: str = ""
    suspend: bool = False


class JobStatus(Part, frozen=True, gc=False):
    conditions: tuple[Condition, ...] = ()
    succeeded: int = 0
    completed_indexes: str = ""


class Job(Workload, frozen=True, gc=False, kw_only=True):
    spec: JobSpec
    status: JobStatus = JobStatus()


class JobTemplate(Part, frozen=True, gc=False):
    spec: JobSpec
    metadata: ObjectMeta = ObjectMeta()


class DependsOn(Part, frozen=True, gc=False):
    name: str = ""
    status: str = ""  # Ready or Complete


class ReplicatedJob(Part, frozen=True, gc=False):
    name: str
    template: JobTemplate
    replicas: int = 1
    depends_on: tuple[DependsOn, ...] = ()


class StartupPolicy(Part, frozen=True, gc=False):
    startup_policy_order: str = ""


class JobSetSpec(Part, frozen=True, gc=False):
    replicated_jobs: tuple[ReplicatedJob, ...] = ()
    suspend: bool = False
    startup_policy: StartupPolicy = StartupPolicy()


class ReplicatedJobStatus(Part, frozen=True, gc=False):
    name: str
    succeeded: int = 0


class JobSetStatus(Part, frozen=True, gc=False):
    conditions: tuple[Condition, ...] = ()
    replicated_jobs_status: tuple[ReplicatedJobStatus, ...] = ()


class JobSet(Workload, frozen=True, gc=False, kw_only=True):
    spec: JobSetSpec
    status: JobSetStatus = JobSetStatus()


class SchedulingPolicy(Part, frozen=True, gc=False):
    min_available: int | None = None


class RunPolicy(Part, frozen=True, gc=False):
    suspend: bool = False
    scheduling_policy: SchedulingPolicy = SchedulingPolicy()


class ReplicaSpec(Part, frozen=True, gc=False):
    template: PodTemplate
    replicas: int = 1


class ElasticPolicy(Part, frozen=True, gc=False):
    min_replicas: int | None = None


class TrainingStatus(Part, frozen=True, gc=False):
    conditions: tuple[Condition, ...] = ()


class MPIJobSpec(Part, frozen=True, gc=False):
    """v1 and v2beta1 name their replicas; v1alpha1 has one template and says how many workers or units it wants."""

    mpi_replica_specs: Mapping[str, ReplicaSpec] = {}
    run_policy: RunPolicy = RunPolicy()
    template: PodTemplate | None = None
    replicas: int | None = None
    gpus: int | None = None
    gpus_per_node: int | None = None
    processing_units: int | None = None
    processing_units_per_node: int | None = None
    processing_resource_type: str = "nvidia.com/gpu"
    launcher_resources: Resources | None = None
    launcher_on_master: bool = False
    launcher_creation_policy: str = ""


class MPIJobStatus(Part, frozen=True, gc=False):
    conditions: tuple[Condition, ...] = ()
    launcher_status: str = ""


class MPIJob(Workload, frozen=True, gc=False, kw_only=True):
    spec: MPIJobSpec
    status: MPIJobStatus = MPIJobStatus()


class RuntimeRef(Part, frozen=True, gc=False):
    name: str
    kind: str = "ClusterTrainingRuntime"


class Trainer(Part, frozen=True, gc=False):
    num_nodes: int | None = None
    resources_per_node: Resources | None = None


class PodSpecPatch(Part, frozen=True, gc=False):
    """What a TrainJob may change in the pods of its runtime."""

    node_selector: Mapping[str, str] = {}
    tolerations: tuple[PodToleration, ...] = ()
    affinity: Affinity | None = None
    scheduling_gates: tuple[SchedulingGate, ...] = ()


class TargetJob(Part, frozen=True, gc=False):
    name: str


class PodTemplateOverride(Part, frozen=True, gc=False):
    target_jobs: tuple[TargetJob, ...] = ()
    spec: PodSpecPatch = PodSpecPatch()


class PodTemplatePatch(Part, frozen=True, gc=False):
    spec: PodSpecPatch = PodSpecPatch()


class JobSpecPatch(Part, frozen=True, gc=False):
    template: PodTemplatePatch = PodTemplatePatch()


class JobTemplatePatch(Part, frozen=True, gc=False):
    spec: JobSpecPatch = JobSpecPatch()


class ReplicatedJobPatch(Part, frozen=True, gc=False):
    name: str
    template: JobTemplatePatch = JobTemplatePatch()


class JobSetSpecPatch(Part, frozen=True, gc=False):
    replicated_jobs: tuple[ReplicatedJobPatch, ...] = ()


class JobSetPatch(Part, frozen=True, gc=False):
    spec: JobSetSpecPatch = JobSetSpecPatch()


class RuntimeSpecPatch(Part, frozen=True, gc=False):
    template: JobSetPatch = JobSetPatch()


class RuntimePatch(Part, frozen=True, gc=False):
    training_runtime_spec: RuntimeSpecPatch = RuntimeSpecPatch()


class TrainJobSpec(Part, frozen=True, gc=False):
    runtime_ref: RuntimeRef
    trainer: Trainer = Trainer()
    suspend: bool = False
    annotations: Mapping[str, str] = {}
    pod_template_overrides: tuple[PodTemplateOverride, ...] = ()
    runtime_patches: tuple[RuntimePatch, ...] = ()


class TrainJobStatus(Part, frozen=True, gc=False):
    conditions: tuple[Condition, ...] = ()
    jobs_status: tuple[ReplicatedJobStatus, ...] = ()  # as its JobSet has them


class TrainJob(Workload, frozen=True, gc=False, kw_only=True):
    spec: TrainJobSpec
    status: TrainJobStatus = TrainJobStatus()


class MPIPolicy(Part, frozen=True, gc=False):
    run_launcher_as_node: bool = False


class MLPolicy(Part, frozen=True, gc=False):
    num_nodes: int = 1
    mpi: MPIPolicy = MPIPolicy()


class JobSetTemplate(Part, frozen=True, gc=False):
    spec: JobSetSpec
    metadata: ObjectMeta = ObjectMeta()


class RuntimeSpec(Part, frozen=True, gc=False):
    template: JobSetTemplate
    ml_policy: MLPolicy = MLPolicy()


class TrainingRuntime(KubeObject, frozen=True, gc=False, kw_only=True):
    """Also the struct of ClusterTrainingRuntime; `kind` distinguishes them."""

    spec: RuntimeSpec
