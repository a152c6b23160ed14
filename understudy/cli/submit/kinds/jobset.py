"""`understudy submit jobset`: flags into a JobSet of like child Jobs, with domains of their own on request."""

import argparse

from understudy.cli.submit import flag_values
from understudy.cli.submit.kinds import job
from understudy.cli.submit.pod_template import annotations_of, labels_of
from understudy.cli.submit.request import Document, JobRequest
from understudy.kinds.pod_labels import EXCLUSIVE
from understudy.objects.resources import JOB_SETS, Resource

NAMES = ("jobset", "js")
RESOURCES = (JOB_SETS,)
_CHILD = "worker"


def add_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--replicas", "--slices", metavar="N", type=flag_values.positive, default=1,
                        help="child Jobs of --workers pods each, such as one a slice (default: 1)")  # fmt: skip


def document(request: JobRequest, resource: Resource) -> Document:
    replicas = request.more["replicas"]
    labels = labels_of(request, resource.kind, replicas * request.workers)
    child = job.spec(request, labels, request.workers, request.workers) | {
        "completionMode": "Indexed",
        "backoffLimit": 0,
    }
    child.pop("ttlSecondsAfterFinished", None)  # a child that went away would be made again
    spec: Document = {
        "replicatedJobs": [{"name": _CHILD, "replicas": replicas, "template": {"spec": child}}],
        "failurePolicy": {"maxRestarts": request.retry},
    }
    if request.ttl_after_finished is not None:
        spec["ttlSecondsAfterFinished"] = request.ttl_after_finished
    metadata: Document = {"name": request.name, "labels": labels}
    if notes := annotations_of(request, EXCLUSIVE):
        metadata["annotations"] = notes
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, "spec": spec}
