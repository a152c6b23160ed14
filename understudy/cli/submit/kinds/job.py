"""`understudy submit job`: flags into a batch/v1 Job. Each worker has an index."""

import argparse

from understudy.cli.submit import flag_values
from understudy.cli.submit.kinds import training
from understudy.cli.submit.pod_template import labels_of, template, worker
from understudy.cli.submit.request import Document, JobRequest
from understudy.objects.resources import JOBS, Resource

NAMES = ("job",)
RESOURCES = (JOBS,)
# Who loses its node or makes room for others has not failed.
_NO_FAILURE = {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]}


def add_flags(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--completions",
        metavar="N",
        type=flag_values.positive,
        help="how many pods have to succeed (default: --workers)",
    )
    add("--parallelism", metavar="N", type=flag_values.count,
        help="how many run at a time (default: --workers, or all there are)")  # fmt: skip


def document(request: JobRequest, resource: Resource) -> Document:
    completions = request.more.get("completions") or request.workers
    parallelism = request.more.get("parallelism")
    if parallelism is None:
        parallelism = request.workers if request.workers > 1 else completions
    labels = labels_of(request, resource.kind, parallelism)
    return training.job(request, resource, labels, spec(request, labels, completions, parallelism))


def spec(request: JobRequest, labels: dict[str, str], completions: int, parallelism: int) -> Document:
    pods = template(request, worker(request, "main"), labels)
    pods["spec"]["restartPolicy"] = "Never"
    found: Document = {
        "completions": completions,
        "parallelism": parallelism,
        "completionMode": "Indexed" if completions > 1 else None,
        "backoffLimit": request.retry,
        "podFailurePolicy": _NO_FAILURE,
        "activeDeadlineSeconds": request.running_timeout,
        "ttlSecondsAfterFinished": request.ttl_after_finished,
        "template": pods,
    }
    return {field: value for field, value in found.items() if value is not None}
