"""Gangs of two priorities on a few nodes, for tests of faults."""

from datetime import UTC, datetime

from tests.kube.cluster.api import Api, Object
from tests.kube.cluster.kwok import Nodes
from tests.kube.jobs import pod_spec

LOW, HIGH = "faults-low", "faults-high"
_VALUES = {LOW: 100, HIGH: 1000}
HOLDS, LAST_SEATS = "understudy.dev/holds", "understudy.dev/last-seats"


def make_priorities(api: Api) -> None:
    for name, value in _VALUES.items():
        document = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}}
        if not api.exists(f"/apis/scheduling.k8s.io/v1/priorityclasses/{name}"):
            api.create({**document, "value": value})


def job(name: str, size: int, priority: str = HIGH, gpus: int = 8) -> Object:
    """A Job, which can be suspended."""
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {
            "completionMode": "Indexed",
            "completions": size,
            "parallelism": size,
            "template": {"spec": {**pod_spec(gpus=gpus), "priorityClassName": priority}},
        },
    }


def bare_group(name: str, size: int, priority: str = LOW, gpus: int = 8) -> list[Object]:
    """Pods without an owner that are one group by their labels."""
    labels = {
        "pod-group.scheduling.sigs.k8s.io/name": name,
        "pod-group.scheduling.sigs.k8s.io/min-available": str(size),
    }
    spec = {**pod_spec(gpus=gpus), "priorityClassName": priority}
    return [
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"{name}-{i}", "labels": labels}, "spec": spec}
        for i in range(size)
    ]


def job_of(api: Api, namespace: str, name: str) -> Object:
    return api.get(f"/apis/batch/v1/namespaces/{namespace}/jobs/{name}")


def notes_on(api: Api, namespace: str, name: str) -> dict[str, str]:
    return dict(job_of(api, namespace, name)["metadata"].get("annotations", {}))


def breaks(nodes: Nodes, name: str) -> None:
    """Its accelerators fail: Understudy takes the node for lost at once, and Kubernetes does nothing."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    bad = {"type": "GPUUnhealthy", "status": "True", "reason": "XidErrors", "lastTransitionTime": now}
    known = nodes.get(name)["status"]["conditions"]
    nodes.api.patch(f"/api/v1/nodes/{name}/status", {"status": {"conditions": [*known, bad]}})


def clear(api: Api, namespace: str) -> None:
    background = {"propagationPolicy": "Background"}
    api.request("DELETE", f"/apis/batch/v1/namespaces/{namespace}/jobs", background)
    api.request("DELETE", f"/api/v1/namespaces/{namespace}/pods", {"gracePeriodSeconds": 0})
