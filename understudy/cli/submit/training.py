"""What the kinds of the training operator and MPIJob have in common: replicas by role, and a run policy."""

from collections.abc import Mapping

from understudy.cli.submit.pod_template import annotations_of
from understudy.cli.submit.request import Document, JobRequest
from understudy.objects.resources import Resource


def job(wish: JobRequest, resource: Resource, labels: Mapping[str, str], spec: Document) -> Document:
    metadata: Document = {"name": wish.name, "labels": dict(labels)}
    if notes := annotations_of(wish):
        metadata["annotations"] = notes
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, "spec": spec}


def run_policy(wish: JobRequest, limit: int | None = None) -> Document:
    """`limit` is the backoffLimit, where it is not the training operator's."""
    policy: Document = {
        "cleanPodPolicy": wish.clean_task_policy,
        "backoffLimit": backoff_limit(wish) if limit is None else limit,
        "activeDeadlineSeconds": wish.running_timeout,
        "ttlSecondsAfterFinished": wish.ttl_after_finished,
        "startingDeadlineSeconds": wish.more.get("starting_timeout"),
    }
    return {field: value for field, value in policy.items() if value is not None}


def backoff_limit(wish: JobRequest) -> int:
    """The training operator gives up when a pod has been started again as often as the limit says: the last of its
    retries is never made. So it is given one more; and 0 stays 0."""
    return wish.retry + 1 if wish.retry else 0


def replicas(wish: JobRequest, count: int, template: Document, restart: str = "Never") -> Document:
    """With --retry a pod that failed is started again; `restart` is what happens without."""
    return {"replicas": count, "restartPolicy": "OnFailure" if wish.retry else restart, "template": template}
