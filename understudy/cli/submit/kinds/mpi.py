"""`understudy submit mpi`: flags into an MPIJob, in the version the cluster serves. The command runs in a launcher.

The launcher has the same files and variables as the workers, and none of their accelerators.
"""

import argparse

import msgspec

from understudy.cli.errors import BadInput
from understudy.cli.submit import flag_values, flags
from understudy.cli.submit.kinds.training import job, replicas, run_policy
from understudy.cli.submit.pod_template import PodRole, labels_of, template, worker
from understudy.cli.submit.request import Document, JobRequest
from understudy.objects.resources import MPI_JOBS, MPI_JOBS_V1, MPI_JOBS_V1ALPHA1, Resource

NAMES = ("mpi", "mpijob", "mj", "horovod", "horovodjob", "hj")
RESOURCES = (MPI_JOBS, MPI_JOBS_V1, MPI_JOBS_V1ALPHA1)
CONTAINER = "mpi"


def add_flags(parser: argparse.ArgumentParser) -> None:
    flags.add_cleaning(parser, "All")
    add = parser.add_argument
    add("--nproc-per-node", metavar="N", type=flag_values.positive,
        help="processes of each worker (default: one a GPU, or one)")  # fmt: skip
    add("--mpi-version", choices=[resource.version for resource in RESOURCES],
        help="the version of the MPIJob (default: the first of these that the cluster serves)")  # fmt: skip


def document(request: JobRequest, resource: Resource) -> Document:
    if resource.version == MPI_JOBS_V1ALPHA1.version:
        return _first_version(request, resource)
    labels = labels_of(request, resource.kind, request.workers)
    launcher = template(request, PodRole(container=CONTAINER), labels)
    workers = template(request, _worker(request, runs=False), labels)
    newest = resource.version == MPI_JOBS.version
    spec: Document = {
        "slotsPerWorker": _slots(request),
        "runPolicy": run_policy(request, request.retry if newest else None),  # there it is the limit of a batch/v1 Job
        "mpiReplicaSpecs": {
            "Launcher": {"replicas": 1, "template": launcher} if newest else replicas(request, 1, launcher),
            "Worker": {"replicas": request.workers, "template": workers},
        },
    }
    if newest:
        # As in the older versions. A launcher that is there before its workers fails, and --retry is 0 unless given.
        spec["launcherCreationPolicy"] = "WaitForWorkersReady"
    return job(request, resource, labels, spec)


def _first_version(request: JobRequest, resource: Resource) -> Document:
    """v1alpha1: one template for both. Its operator takes the command and the resources where they do not belong."""
    if request.ttl_after_finished is not None:
        raise BadInput("--ttl-after-finished: MPIJob v1alpha1 cannot be told so; leave it out, or use a newer version")
    labels = labels_of(request, resource.kind, request.workers)
    spec: Document = {
        "replicas": request.workers,
        "slotsPerWorker": _slots(request),
        "backoffLimit": request.retry,
        "cleanPodPolicy": request.clean_task_policy,
        "template": template(request, _worker(request, runs=True), labels),
    }
    if request.running_timeout is not None:
        spec["activeDeadlineSeconds"] = request.running_timeout
    return job(request, resource, labels, spec)


def _worker(request: JobRequest, *, runs: bool) -> PodRole:
    return msgspec.structs.replace(worker(request, CONTAINER), runs=runs)


def _slots(request: JobRequest) -> int:
    return request.more.get("nproc_per_node") or max(request.gpus, 1)
