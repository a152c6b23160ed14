"""MPIJob as its controller reads it: three versions as one struct, and the recorded status."""

from collections.abc import Mapping
from typing import Any

import msgspec

from understudy.kinds.children.actions import Document
from understudy.kinds.children.partial_objects import FullMeta
from understudy.kinds.children.training.spec import OperatorRunPolicy, TrainingProgress
from understudy.kinds.end_conditions import MPI_ENDS
from understudy.kinds.pod_labels import JOB_ROLE, MPI_JOB, MPI_ROLE, OPERATOR, REPLICA_INDEX, REPLICA_TYPE, TRAINING_JOB
from understudy.objects.meta import Part, Time
from understudy.objects.resources import MPI_JOBS

FIRST, SECOND, THIRD = "v1alpha1", "v1", "v2beta1"
OWN_CONTROLLERS = ("", "kubeflow.org/training-operator", "kubeflow.org/mpi-operator")
DEFAULT_UNIT = "nvidia.com/gpu"


class MPIReplicaSpec(Part, frozen=True, gc=False):
    replicas: int = 1
    restart_policy: str = ""


class MPISpec(Part, frozen=True, gc=False):
    """The fields of all versions; templates are read as they are written."""

    mpi_replica_specs: Mapping[str, MPIReplicaSpec] = {}
    slots_per_worker: int | None = None
    run_policy: OperatorRunPolicy = OperatorRunPolicy()
    clean_pod_policy: str = ""
    run_launcher_as_worker: bool = False
    launcher_creation_policy: str = ""
    mpi_implementation: str = "OpenMPI"
    # of the first version
    replicas: int | None = None
    gpus: int | None = None
    gpus_per_node: int | None = None
    processing_units: int | None = None
    processing_units_per_node: int | None = None
    processing_resource_type: str = DEFAULT_UNIT
    launcher_resources: Mapping[str, Any] | None = None
    backoff_limit: int | None = None
    active_deadline_seconds: int | None = None
    ttl_seconds_after_finished: int | None = None


class MPIJobProgress(TrainingProgress, frozen=True, gc=False):
    launcher_status: str = ""  # in the first version, in place of conditions
    launcher_rests_since: Time | None = None


class _Written(Part, frozen=True, gc=False):
    api_version: str
    metadata: FullMeta
    spec: MPISpec
    status: MPIJobProgress = MPIJobProgress()


class MPIJobModel(msgspec.Struct, frozen=True):
    """Whatever its version: a launcher, workers alike, and rules for both. No template: there is no such pod."""

    version: str
    metadata: FullMeta
    policy: OperatorRunPolicy
    status: MPIJobProgress
    launcher: Document | None
    worker: Document | None
    workers: int
    slots: int
    launcher_restarts: str = "Never"
    worker_restarts: str = "Never"
    waits: bool = False  # the launcher is made when all workers are ready
    launcher_works: bool = False  # processes are started in the launcher too
    implementation: str = "OpenMPI"

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def title(self) -> str:
        return f"{self.metadata.namespace}/{self.metadata.name}"

    @property
    def api_version(self) -> str:
        return f"{MPI_JOBS.group}/{self.version}"

    @property
    def launcher_name(self) -> str:
        return f"{self.name}-launcher"

    @property
    def has_launcher_job(self) -> bool:
        return self.version != SECOND

    @property
    def finished(self) -> bool:
        status = self.status
        return MPI_ENDS.has_ended(status.conditions, status.launcher_status)

    def worker_name(self, index: int) -> str:
        return f"{self.name}-worker-{index}"

    def labels(self, role: str, index: int | None = None) -> dict[str, str]:
        """By which the pods of a role are known, or one of them."""
        match self.version:
            case "v1alpha1":
                return {"group_name": MPI_JOBS.group, MPI_JOB: self.name, MPI_ROLE: role}
            case "v1":
                found = {OPERATOR: "mpijob-controller", TRAINING_JOB: self.name, REPLICA_TYPE: role}
                found |= {JOB_ROLE: "master"} if role == "launcher" else {}
                return {**found, REPLICA_INDEX: str(index or 0)}
        found = {OPERATOR: "mpi-operator", TRAINING_JOB: self.name, JOB_ROLE: role}
        return found if index is None else {**found, REPLICA_INDEX: str(index + self.launcher_works)}


def read(document: Document) -> MPIJobModel:
    written = msgspec.convert(document, _Written)
    version = written.api_version.rpartition("/")[2]
    return _first(document, written) if version == FIRST else _later(document, written, version)


def _later(document: Document, written: _Written, version: str) -> MPIJobModel:
    spec = written.spec
    templates = {role.lower(): given for role, given in document["spec"]["mpiReplicaSpecs"].items()}
    figures = {role.lower(): given for role, given in spec.mpi_replica_specs.items()}
    launcher, worker = figures.get("launcher"), figures.get("worker")
    clean = spec.run_policy.clean_pod_policy or spec.clean_pod_policy or "None"
    return MPIJobModel(
        version=version,
        metadata=written.metadata,
        policy=msgspec.structs.replace(spec.run_policy, clean_pod_policy=clean),
        status=written.status,
        launcher=templates["launcher"]["template"] if launcher else None,
        worker=templates["worker"]["template"] if worker else None,
        workers=worker.replicas if worker else 0,
        slots=spec.slots_per_worker or 1,
        launcher_restarts=(launcher.restart_policy if launcher else "") or "Never",
        worker_restarts=(worker.restart_policy if worker else "") or "Never",
        waits=spec.launcher_creation_policy == "WaitForWorkersReady",
        launcher_works=spec.run_launcher_as_worker,
        implementation=spec.mpi_implementation,
    )


def _first(document: Document, written: _Written) -> MPIJobModel:
    """One template: the workers run it with all its resources, the launcher without. A job that has ended keeps no
    workers, unless it says that it does."""
    spec, template = written.spec, document["spec"]["template"]
    workers, units = _counted(spec)
    worker = _with_units(template, spec.processing_resource_type, units) if units else template
    policy = OperatorRunPolicy(
        clean_pod_policy=spec.clean_pod_policy or "All",
        ttl_seconds_after_finished=spec.ttl_seconds_after_finished,
        active_deadline_seconds=spec.active_deadline_seconds,
        backoff_limit=spec.backoff_limit,
    )
    return MPIJobModel(
        version=FIRST,
        metadata=written.metadata,
        policy=policy,
        status=written.status,
        launcher=_with_resources(template, dict(spec.launcher_resources or {})),
        worker=worker,
        workers=workers,
        slots=spec.slots_per_worker or units or _limit(template, spec.processing_resource_type) or 1,
        worker_restarts="Always",
        waits=True,
    )


def _counted(spec: MPISpec) -> tuple[int, int]:
    """How many workers, and how many units each gets where the job counts in units."""
    if spec.replicas is not None:
        return spec.replicas, 0
    units = spec.gpus if spec.gpus is not None else spec.processing_units or 0
    per_node = (spec.gpus_per_node if spec.gpus is not None else spec.processing_units_per_node) or 1
    return (1, units) if units < per_node else (units // per_node, per_node)


def _full_name(resource: str) -> str:
    return {"gpu": DEFAULT_UNIT}.get(resource, resource)


def _limit(template: Document, resource: str) -> int:
    limits = (template["spec"]["containers"][0].get("resources") or {}).get("limits") or {}
    text = str(limits.get(_full_name(resource), ""))
    return int(text) if text.isdecimal() else 0


def _with_units(template: Document, resource: str, units: int) -> Document:
    given = template["spec"]["containers"][0].get("resources") or {}
    amount = {_full_name(resource): str(units)}
    amounts = {key: {**(given.get(key) or {}), **amount} for key in ("requests", "limits")}
    return _with_resources(template, {**given, **amounts})


def _with_resources(template: Document, resources: Document) -> Document:
    first, *others = template["spec"]["containers"]
    containers = [{**first, "resources": resources}, *others]
    return {**template, "spec": {**template["spec"], "containers": containers}}
