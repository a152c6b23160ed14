"""The files from which a launcher knows its workers: their names, their slots, and the shell that reaches them."""

import hashlib
from collections.abc import Iterator, Mapping

from understudy.kinds.children.actions import CreateChild, Document, PatchChild, owner_reference
from understudy.kinds.children.mpijob.spec import THIRD, MPIJobModel
from understudy.kinds.children.partial_objects import PartialObject
from understudy.kinds.pod_labels import OPERATOR, TRAINING_JOB
from understudy.objects.mpi import CONFIG_FOLDER, REMOTE_SHELL
from understudy.objects.resources import CONFIG_MAPS, MPI_JOBS, SERVICES

VOLUME = "mpi-job-config"
DIGEST = "understudy.dev/config"  # which edition of the files it is
_REMOTE_SHELL = f'#!/bin/sh\nexec {REMOTE_SHELL} "$@"\n'
_PROGRAMS = ("kubexec.sh", "discover_hosts.sh")


def identity(job: MPIJobModel, name: str) -> Document:
    return {
        "name": name,
        "namespace": job.metadata.namespace,
        "ownerReferences": [owner_reference(job.api_version, MPI_JOBS.kind, job.metadata)],
    }


def hosts(job: MPIJobModel) -> Iterator[str]:
    """In the order of their ranks."""
    names = [job.worker_name(index) for index in range(job.workers)]
    if job.launcher_works:
        names.insert(0, job.launcher_name)
    domain = f".{job.name}.{job.metadata.namespace}.svc" if job.version == THIRD else ""
    return (f"{name}{domain}" for name in names)


def files(job: MPIJobModel) -> dict[str, str]:
    """Open MPI writes slots in one way, the others in another."""
    form = "{} slots={}\n" if job.implementation == "OpenMPI" else "{}:{}\n"
    found = {"hostfile": "".join(form.format(host, job.slots) for host in hosts(job)), "kubexec.sh": _REMOTE_SHELL}
    if job.version != "v1alpha1":
        lines = "".join(f"echo {host}:{job.slots}\n" for host in hosts(job))
        found["discover_hosts.sh"] = f"#!/bin/sh\n{lines}"
    return found


def config_map(job: MPIJobModel) -> CreateChild:
    data = files(job)
    metadata = {**identity(job, _config_name(job)), "labels": {"app": job.name}, "annotations": _edition(data)}
    return CreateChild(CONFIG_MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})


def correction(job: MPIJobModel, known: PartialObject) -> PatchChild | None:
    """Where the files are those of an earlier spec."""
    data = files(job)
    if known.metadata.annotations.get(DIGEST) == _edition(data)[DIGEST]:
        return None
    metadata = {"uid": known.metadata.uid, "annotations": _edition(data)}
    return PatchChild(CONFIG_MAPS, known.metadata.name, {"metadata": metadata, "data": data})


def _config_name(job: MPIJobModel) -> str:
    return f"{job.name}-config"


def _edition(data: Mapping[str, str]) -> dict[str, str]:
    text = "\0".join(f"{name}\0{content}" for name, content in data.items())
    return {DIGEST: hashlib.sha256(text.encode()).hexdigest()[:16]}


def with_config(job: MPIJobModel, spec: Document) -> Document:
    """The spec of a pod whose first container finds the files."""
    items = [
        {"key": name, "path": name, "mode": 0o555 if name in _PROGRAMS else 0o444}  # mode as Kubernetes counts: decimal
        for name in files(job)
    ]
    volume = {"name": VOLUME, "configMap": {"name": _config_name(job), "items": items}}
    first, *others = spec["containers"]
    mounts = [*(first.get("volumeMounts") or ()), {"name": VOLUME, "mountPath": CONFIG_FOLDER}]
    return {
        **spec,
        "volumes": [*(spec.get("volumes") or ()), volume],
        "containers": [{**first, "volumeMounts": mounts}, *others],
    }


def service(job: MPIJobModel) -> CreateChild:
    """Headless: the names of the pods are all it is for."""
    labels = job.labels("worker")
    spec = {
        "clusterIP": "None",
        "selector": {key: labels[key] for key in (OPERATOR, TRAINING_JOB)},
        "publishNotReadyAddresses": True,
    }
    metadata = {**identity(job, job.name), "labels": {"app": job.name}}
    return CreateChild(SERVICES, {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec})
