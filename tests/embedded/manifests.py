"""Jobs for clusters that really run: what a test is about is named, the rest is as plain as can be."""

from typing import Any

from understudy.kinds.annotations import PREFIX

Document = dict[str, Any]

STAYS = "sleep 1000000 & trap 'kill $!; exit 0' TERM; wait"  # until it is told to go, and then it ends well


def lone_pod(name: str, priority: str = "", *, gpus: int = 0, program: str = STAYS) -> Document:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": pod_spec(priority, gpus, program)}


def job(name: str, priority: str = "", *, pods: int = 1, gpus: int = 0, program: str = STAYS, **notes: str) -> Document:
    """One that fails with the first pod that does."""
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "annotations": _annotations(notes)},
        "spec": job_spec(pods, pod_spec(priority, gpus, program)),
    }


def jobset(name: str, jobs: int, job: Document) -> Document:
    """So many Jobs like this one."""
    template = {"spec": job["spec"]}
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {**job["metadata"], "name": name},
        "spec": {"replicatedJobs": [{"name": "job", "replicas": jobs, "template": template}]},
    }


def job_spec(pods: int, spec: Document) -> Document:
    return {
        "parallelism": pods,
        "completions": pods,
        "completionMode": "Indexed",
        "backoffLimit": 0,
        "template": {"spec": spec},
    }


def pod_spec(priority: str, gpus: int, program: str) -> Document:
    limits = {"nvidia.com/gpu": str(gpus)} if gpus else {}
    container = {"name": "main", "image": "any", "command": ["sh", "-c", program], "resources": {"limits": limits}}
    named = {"priorityClassName": priority} if priority else {}
    return {"restartPolicy": "Never", **named, "containers": [container]}


def budget(name: str, job: str, at_least: int) -> Document:
    selector = {"matchLabels": {"batch.kubernetes.io/job-name": job}}
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name},
        "spec": {"minAvailable": at_least, "selector": selector},
    }


def headless_service(name: str, job: str) -> Document:
    selector = {"batch.kubernetes.io/job-name": job}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"clusterIP": "None", "selector": selector},
    }


def _annotations(notes: dict[str, str]) -> dict[str, str]:
    return {f"{PREFIX}{name.replace('_', '-')}": value for name, value in notes.items()}
