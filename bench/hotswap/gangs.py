"""Training jobs whose nodes will fail: sizes and kinds into the objects a trainer would submit."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from understudy.kinds.training_operator.pytorchjob import PYTORCH_JOBS
from understudy.objects.resources import JOB_SETS, JOBS, PRIORITY_CLASSES, Resource

Document = dict[str, Any]

ACCELERATOR = "nvidia.com/gpu"
PRIORITIES = {"bench-high": 1000, "bench-low": 100}
FOREVER = ("sleep", "1000000")  # ends at once when it is told to
DEAF = ("sh", "-c", "trap '' TERM; while :; do sleep 1; done")  # needs all of its grace
# What becomes of each kind when some of its pods are lost with their node.
KINDS = {
    "jobset": "JobSet of one indexed Job: the Job makes the lost pods anew under their indexes; no restart is counted",
    "job": "indexed Job: makes the lost pods anew under their indexes; no retry is counted",
    "pytorchjob": "PyTorchJob of a master and workers: the lost pods are made anew under their old names",
}
LEADERS = {"jobset": "{0}-worker-0-0.{0}", "job": "{0}-0", "pytorchjob": "{0}-master-0"}  # where rank 0 is found


class Gang(msgspec.Struct, frozen=True, kw_only=True):
    """`size` members with one accelerator each."""

    name: str
    size: int
    priority: str = "bench-high"
    command: Sequence[str] = FOREVER
    env: Mapping[str, str] = {}
    grace: int | None = None  # terminationGracePeriodSeconds
    notes: Mapping[str, str] = {}  # annotations


def priority_classes() -> list[tuple[Resource, Document]]:
    api = PRIORITY_CLASSES.api_version
    return [
        (PRIORITY_CLASSES, {"apiVersion": api, "kind": "PriorityClass", "metadata": {"name": name}, "value": value})
        for name, value in PRIORITIES.items()
    ]


def document(gang: Gang, kind: str) -> tuple[Resource, Document]:
    resource, spec = _SPECS[kind](gang)
    meta = {"name": gang.name, "namespace": "default", "annotations": dict(gang.notes)}
    return resource, {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": meta, "spec": spec}


def _job(gang: Gang) -> tuple[Resource, Document]:
    return JOBS, _indexed(gang)


def _jobset(gang: Gang) -> tuple[Resource, Document]:
    return JOB_SETS, {"replicatedJobs": [{"name": "worker", "replicas": 1, "template": {"spec": _indexed(gang)}}]}


def _pytorchjob(gang: Gang) -> tuple[Resource, Document]:
    def role(replicas: int) -> Document:
        return {"replicas": replicas, "restartPolicy": "OnFailure", "template": {"spec": _pod_spec(gang, "pytorch")}}

    roles = {"Master": role(1)} | ({"Worker": role(gang.size - 1)} if gang.size > 1 else {})
    return PYTORCH_JOBS, {"pytorchReplicaSpecs": roles, "runPolicy": {}}


def _indexed(gang: Gang) -> Document:
    """The first pod that fails by its own fault fails the Job: a swap is to cost none."""
    return {
        "parallelism": gang.size,
        "completions": gang.size,
        "completionMode": "Indexed",
        "backoffLimit": 0,
        "template": {"spec": {**_pod_spec(gang, "train"), "restartPolicy": "Never"}},
    }


def _pod_spec(gang: Gang, container: str) -> Document:
    spec: Document = {
        "priorityClassName": gang.priority,
        "containers": [
            {
                "name": container,
                "image": "none",
                "command": list(gang.command),
                "env": [{"name": name, "value": value} for name, value in gang.env.items()],
                "resources": {"limits": {ACCELERATOR: "1"}},
            }
        ],
    }
    return spec if gang.grace is None else {**spec, "terminationGracePeriodSeconds": gang.grace}


_SPECS = {"jobset": _jobset, "job": _job, "pytorchjob": _pytorchjob}
