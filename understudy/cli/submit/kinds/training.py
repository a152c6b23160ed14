"""Builds what the kinds of the training operator and MPIJob have in common: replicas by role, and a run policy."""

from collections.abc import Mapping

from understudy.cli.submit.pod_template import annotations_of
from understudy.cli.submit.request import Document, JobRequest
from understudy.objects.resources import Resource


def job(request: JobRequest, resource: Resource, labels: Mapping[str, str], spec: Document) -> Document:
    metadata: Document = {"name": request.name, "labels": dict(labels)}
    if notes := annotations_of(request):
        metadata["annotations"] = notes
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, "spec": spec}


def run_policy(request: JobRequest, limit: int | None = None) -> Document:
    """The run policy; `limit` is the backoffLimit where the kind's default differs from the training operator's."""
    policy: Document = {
        "cleanPodPolicy": request.clean_task_policy,
        "backoffLimit": backoff_limit(request) if limit is None else limit,
        "activeDeadlineSeconds": request.running_timeout,
        "ttlSecondsAfterFinished": request.ttl_after_finished,
        "startingDeadlineSeconds": request.more.get("starting_timeout"),
    }
    return {field: value for field, value in policy.items() if value is not None}


def backoff_limit(request: JobRequest) -> int:
    """The training operator gives up when a pod has been started again as often as the limit says: the last of its
    retries is never made. So it is given one more; and 0 stays 0."""
    return request.retry + 1 if request.retry else 0


def replicas(request: JobRequest, count: int, template: Document, restart: str = "Never") -> Document:
    """The replicas of one role. With --retry a failed pod is started again; without it, `restart` applies."""
    return {"replicas": count, "restartPolicy": "OnFailure" if request.retry else restart, "template": template}
