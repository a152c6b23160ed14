"""What a job asks for, read from its object alone: its roles, how many pods each has, and their template."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from understudy.kinds.registry import KINDS
from understudy.model.nodes import is_accelerator
from understudy.objects.pods import PodSpec
from understudy.objects.resource_requests import requests_of

Spec = Mapping[str, Any]
Amounts = dict[str, int]

CHIEFS = ("launcher", "master", "chief")  # roles that lead, where a kind has one of them


class JobRole(msgspec.Struct, frozen=True):
    name: str
    count: int
    priority: str = ""  # the PriorityClass its template names
    requests: Mapping[str, int] = {}  # of one pod


def roles_of(kind: str, spec: Spec) -> list[JobRole]:
    """Those that lead first, the others as they are written. A TrainJob leaves most of it to its runtime."""
    match kind:
        case "Job":
            found = [_role("", _pods_of_job(spec), spec.get("template"))]
        case "JobSet":
            found = list(_of_jobset(spec))
        case "TrainJob":
            found = list(_of_train_job(spec))
        case "MPIJob" if not spec.get("mpiReplicaSpecs"):
            found = list(_of_first_mpi_job(spec))
        case _:
            known = KINDS.get(kind)
            given = _mapping(spec.get(known.replicas_field)) if known is not None else {}
            found = [_replicas(name, _mapping(replica)) for name, replica in given.items()]
    return sorted(found, key=lambda role: role.name not in CHIEFS)


def total(roles: Iterable[JobRole]) -> Amounts:
    """Accelerators, cpu and memory of all pods together."""
    amounts: Amounts = {}
    for role in roles:
        for name, amount in role.requests.items():
            amounts[name] = amounts.get(name, 0) + amount * role.count
    return amounts


def accelerators(amounts: Mapping[str, int]) -> int:
    return sum(amount for name, amount in amounts.items() if is_accelerator(name))


def amounts_of(spec: PodSpec) -> Amounts:
    try:
        return dict(requests_of(spec))
    except ValueError:  # an invalid quantity
        return {}


def _pods_of_job(spec: Spec) -> int:
    parallelism, completions = spec.get("parallelism"), spec.get("completions")
    at_once = 1 if parallelism is None else int(parallelism)
    return at_once if completions is None else min(at_once, int(completions))


def _of_jobset(spec: Spec) -> Iterator[JobRole]:
    for replicated in spec.get("replicatedJobs") or ():
        job = _mapping(_mapping(replicated.get("template")).get("spec"))
        count = int(replicated.get("replicas", 1)) * _pods_of_job(job)
        yield _role(str(replicated.get("name", "")), count, job.get("template"))


def _of_train_job(spec: Spec) -> Iterator[JobRole]:
    trainer = _mapping(spec.get("trainer"))
    container = {"name": "node", "resources": trainer.get("resourcesPerNode") or {}}
    yield _role("node", int(trainer.get("numNodes") or 1), {"spec": {"containers": [container]}})


def _replicas(name: str, replica: Spec) -> JobRole:
    return _role(name.lower(), int(replica.get("replicas", 1)), replica.get("template"))


def _of_first_mpi_job(spec: Spec) -> Iterator[JobRole]:
    """v1alpha1: one template for all. The launcher runs it without the workers' resources."""
    worker = _role("worker", _first_workers(spec), spec.get("template"))
    units = spec.get("gpus", spec.get("processingUnits"))
    if units is not None and spec.get("replicas") is None:
        resource = str(spec.get("processingResourceType") or "nvidia.com/gpu")
        resource = "nvidia.com/gpu" if resource == "gpu" else resource
        each = int(units) // max(1, worker.count)
        worker = msgspec.structs.replace(worker, requests={**worker.requests, resource: each})
    yield JobRole("launcher", 1, worker.priority)
    yield worker


def _first_workers(spec: Spec) -> int:
    if spec.get("replicas") is not None:
        return int(spec["replicas"])
    units = int(spec.get("gpus", spec.get("processingUnits")) or 0)
    each = int(spec.get("gpusPerNode", spec.get("processingUnitsPerNode")) or 1)
    return max(1, units // each)


def _role(name: str, count: int, template: object) -> JobRole:
    written = _mapping(_mapping(template).get("spec"))
    try:
        spec = msgspec.convert(written, PodSpec)
    except msgspec.ValidationError:  # what the scheduler could not read either is not ours to complain about
        return JobRole(name, count, str(written.get("priorityClassName") or ""))
    return JobRole(name, count, spec.priority_class_name, amounts_of(spec))


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
