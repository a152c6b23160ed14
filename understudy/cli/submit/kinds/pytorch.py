"""`understudy submit pytorch`: flags into a PyTorchJob. One of its workers is the master."""

import argparse

from understudy.cli.submit import flag_values, flags
from understudy.cli.submit.kinds.training import job, replicas, run_policy
from understudy.cli.submit.pod_template import labels_of, template, worker
from understudy.cli.submit.request import Document, JobRequest
from understudy.kinds.training_operator.pytorchjob import PYTORCH_JOBS
from understudy.objects.resources import Resource

NAMES = ("pytorch", "pytorchjob")
RESOURCES = (PYTORCH_JOBS,)


def add_flags(parser: argparse.ArgumentParser) -> None:
    flags.add_cleaning(parser, "Running")
    parser.add_argument("--nproc-per-node", metavar="N", type=flag_values.processes,
                        help="processes of each worker: a number, auto, cpu or gpu")  # fmt: skip


def document(request: JobRequest, resource: Resource) -> Document:
    labels = labels_of(request, resource.kind, request.workers)
    pods = template(request, worker(request, "pytorch"), labels)
    roles = {"Master": replicas(request, 1, pods)}
    if request.workers > 1:
        roles["Worker"] = replicas(request, request.workers - 1, pods, restart="OnFailure")
    spec: Document = {"runPolicy": run_policy(request), "pytorchReplicaSpecs": roles}
    if processes := request.more.get("nproc_per_node"):
        spec["nprocPerNode"] = processes
    return job(request, resource, labels, spec)
