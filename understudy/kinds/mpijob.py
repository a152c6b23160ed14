"""MPIJob in its three versions: a launcher and its workers are one gang."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from understudy.kinds.annotations import read_annotations
from understudy.kinds.children.actions import ChildActions, Document, ObservedChildren
from understudy.kinds.end_conditions import MPI_ENDS
from understudy.kinds.job_control import JobControl
from understudy.kinds.job_kind import JobController, JobKind
from understudy.kinds.outline import GangOutline, RoleOutline
from understudy.kinds.pod_labels import (
    JOB_ROLE,
    MPI_JOB,
    MPI_ROLE,
    OPERATOR,
    RANDOM_SUFFIX,
    REPLICA_INDEX,
    REPLICA_TYPE,
    TRAINING_JOB,
)
from understudy.kinds.roles import JobRole, replica_roles, role_of
from understudy.kinds.training_operator.training_kind import RUN_POLICY_CONTROL, least_members, ordered_replicas
from understudy.model.gangs import PodCreation
from understudy.objects.jobs import MPIJob
from understudy.objects.pods import PodTemplate, Resources
from understudy.objects.resources import CONFIG_MAPS, JOBS, MPI_JOBS, MPI_JOBS_V1, MPI_JOBS_V1ALPHA1, PODS, SERVICES

_ON_MASTER = "launcherOnMaster is not supported; give the launcher a node selector instead"


def outline(job: MPIJob) -> GangOutline:
    if MPI_ENDS.is_ending(job.status.conditions, job.status.launcher_status):
        return GangOutline()
    if not job.spec.mpi_replica_specs:
        return _first_version(job)
    ordered = ordered_replicas(job.spec.mpi_replica_specs, "spec.mpiReplicaSpecs", ("launcher", "worker"))
    roles = [_role(job, role, spec.replicas, spec.template, field) for role, spec, field in ordered]
    return GangOutline(tuple(roles), job.spec.run_policy.suspend, least_members(job.spec.run_policy, None))


def control_of(job: MPIJob) -> JobControl:
    """The first version cannot be suspended. In all versions a launcher without workers ends by itself; its log is the
    log of the job."""
    spared = {key: "launcher" for key in (MPI_ROLE, REPLICA_TYPE, JOB_ROLE) if key in _labels(job, "launcher")}
    if not job.spec.mpi_replica_specs:
        return JobControl(end_status={"launcherStatus": "Failed"}, spared=spared)
    return msgspec.structs.replace(RUN_POLICY_CONTROL, spared=spared)


def _launcher_waits(job: MPIJob) -> bool:
    """Whether the launcher is created after all workers are ready. A launcher that has run may wait again until they
    are."""
    if not job.spec.mpi_replica_specs or job.spec.launcher_creation_policy == "WaitForWorkersReady":
        return True
    return any(condition.type in ("Running", "Restarting") for condition in job.status.conditions)


def _first_version(job: MPIJob) -> GangOutline:
    """v1alpha1: one template for all pods. The launcher runs without the workers' resources."""
    template = job.spec.template
    assert template is not None  # guaranteed by decoding
    workers, units = _workers(job)
    launcher = _with_resources(template, job.spec.launcher_resources or Resources())
    if units:
        template = _with_resources(template, _with_units(template, job.spec.processing_resource_type, units))
    first = _role(job, "launcher", 1, launcher, "spec.template")
    if job.spec.launcher_on_master:
        first = msgspec.structs.replace(first, unsupported=(_ON_MASTER,))
    return GangOutline((first, _role(job, "worker", workers, template, "spec.template")))


def _workers(job: MPIJob) -> tuple[int, int]:
    """The number of workers, and the units of each if the job counts in units."""
    spec = job.spec
    if spec.replicas is not None:
        return spec.replicas, 0
    units = spec.gpus if spec.gpus is not None else spec.processing_units or 0
    per_node = (spec.gpus_per_node if spec.gpus is not None else spec.processing_units_per_node) or 1
    return (1, units) if units < per_node else (units // per_node, per_node)


def _with_units(template: PodTemplate, resource: str, units: int) -> Resources:
    resource = {"gpu": "nvidia.com/gpu"}.get(resource, resource)
    first = template.spec.containers[0].resources
    return Resources({**first.requests, resource: units}, {**first.limits, resource: units})


def _with_resources(template: PodTemplate, resources: Resources) -> PodTemplate:
    first, *others = template.spec.containers
    containers = (msgspec.structs.replace(first, resources=resources), *others)
    return msgspec.structs.replace(template, spec=msgspec.structs.replace(template.spec, containers=containers))


def _role(job: MPIJob, role: str, replicas: int, template: PodTemplate, field: str) -> RoleOutline:
    """There is one launcher, and its name has no number."""
    name = job.metadata.name
    indexes = tuple(range(replicas))
    late = role == "launcher" and _launcher_waits(job)
    return RoleOutline(
        island=name,
        names=tuple(f"{name}-launcher" if role == "launcher" else f"{name}-{role}-{i}" for i in indexes),
        template=template,
        field=field,
        labels=_labels(job, role),
        index_label=REPLICA_INDEX if job.spec.mpi_replica_specs else "",
        indexes=indexes,
        topology=read_annotations(job.metadata.annotations, job).topology,
        stage=2 if late else 0,
        made=PodCreation.WHEN_READY if late else PodCreation.AT_ONCE,
    )


def _labels(job: MPIJob, role: str) -> dict[str, str]:
    name = job.metadata.name
    match job.api_version.rpartition("/")[2]:
        case "v1alpha1":
            return {MPI_JOB: name, MPI_ROLE: role, "group_name": "kubeflow.org"}
        case "v1":
            return {OPERATOR: "mpijob-controller", TRAINING_JOB: name, REPLICA_TYPE: role}
        case _:
            return {OPERATOR: "mpi-operator", TRAINING_JOB: name, JOB_ROLE: role}


def _reconcile(document: Document, observed: ObservedChildren, now: float) -> ChildActions:
    from understudy.kinds.children.mpijob import reconcile  # only the controllers of a cluster load it

    return reconcile.reconcile(document, observed, now)


def _roles_in(spec: Mapping[str, Any]) -> Iterable[JobRole]:
    written = replica_roles(spec, "mpiReplicaSpecs")
    return written if spec.get("mpiReplicaSpecs") else _roles_of_first_version(spec)


def _roles_of_first_version(spec: Mapping[str, Any]) -> Iterator[JobRole]:
    """v1alpha1: one template for all. The launcher runs it without the workers' resources."""
    worker = role_of("worker", _written_workers(spec), spec.get("template"))
    units = spec.get("gpus", spec.get("processingUnits"))
    if units is not None and spec.get("replicas") is None:
        resource = str(spec.get("processingResourceType") or "nvidia.com/gpu")
        resource = "nvidia.com/gpu" if resource == "gpu" else resource
        each = int(units) // max(1, worker.count)
        worker = msgspec.structs.replace(worker, requests={**worker.requests, resource: each})
    yield JobRole("launcher", 1, worker.priority)
    yield worker


def _written_workers(spec: Mapping[str, Any]) -> int:
    if spec.get("replicas") is not None:
        return int(spec["replicas"])
    units = int(spec.get("gpus", spec.get("processingUnits")) or 0)
    each = int(spec.get("gpusPerNode", spec.get("processingUnitsPerNode")) or 1)
    return max(1, units // each)


KIND = JobKind(
    resource=MPI_JOBS,
    struct=MPIJob,
    outline=lambda job, *_: outline(job),
    names=("mpijob", "mpi", "mj", "horovodjob", "horovod", "hj"),
    control=control_of,
    suspend_path=RUN_POLICY_CONTROL.pause,
    ends=MPI_ENDS,
    controller=JobController(MPI_JOBS, (PODS, JOBS, SERVICES, CONFIG_MAPS), _reconcile),
    older=(MPI_JOBS_V1, MPI_JOBS_V1ALPHA1),
    operator="mpi-operator",
    replicas_field="mpiReplicaSpecs",
    says_running=True,
    running_word="Active",
    roles=_roles_in,
    pod_labels=(TRAINING_JOB, MPI_JOB),
    operator_labels=("mpijob-controller", "mpi-operator"),
    single_roles=("launcher",),
    child_names=lambda name, _: rf"{name}-launcher(-{RANDOM_SUFFIX})?|{name}-worker-\d+",
)
