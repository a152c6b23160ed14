"""Groups of pods, as those who define them write them down."""

from typing import Any

from tests.objects.documents import Document, metadata, owner, pod


def pod_group(name: str, least: int | None = None, meta: Document | None = None, **spec: Any) -> Document:
    """Of scheduling.k8s.io: a gang, or a basic group where it has no least number."""
    policy: Document = {"basic": {}} if least is None else {"gang": {"minCount": least}}
    return {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": metadata(name, **(meta or {})),
        "spec": {"schedulingPolicy": policy, **spec},
    }


def coscheduling_group(name: str, least: int, meta: Document | None = None) -> Document:
    return {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": metadata(name, **(meta or {})),
        "spec": {"minMember": least, "minResources": {"cpu": "8"}, "scheduleTimeoutSeconds": 10},
        "status": {"phase": "Pending"},
    }


def volcano_group(name: str, least: int, meta: Document | None = None, **spec: Any) -> Document:
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": metadata(name, **(meta or {})),
        "spec": {"minMember": least, "queue": "default", **spec},
    }


BY_FIELD: Document = {"schedulingGroup": {"podGroupName": "g"}}
BY_LABEL: Document = {"labels": {"scheduling.x-k8s.io/pod-group": "g"}}
BY_ANNOTATION: Document = {"annotations": {"scheduling.k8s.io/group-name": "g"}}


def grouped(name: str, node: str = "", **spec: Any) -> Document:
    """A bare pod of the PodGroup g."""
    return pod(name, node, **{**BY_FIELD, **spec})


def job_pod(job: str, name: str, node: str = "", meta: Document | None = None, **spec: Any) -> Document:
    meta = meta or {}
    labels = {"job-name": job, **meta.get("labels", {})}
    return pod(name, node, {"ownerReferences": owner("Job", job), **meta, "labels": labels}, **spec)
