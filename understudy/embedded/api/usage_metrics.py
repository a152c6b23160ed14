"""What nodes and pods use, as the objects of metrics.k8s.io that kubectl top reads. They are made when they are asked
for, and never stored."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from understudy.embedded.agent_protocol import ContainerUsage, UsageReport
from understudy.objects.meta import ObjectMeta, Part
from understudy.objects.resources import Resource

NODE_METRICS = Resource("metrics.k8s.io", "v1beta1", "nodes", "NodeMetrics", namespaced=False)
POD_METRICS = Resource("metrics.k8s.io", "v1beta1", "pods", "PodMetrics")
METRICS = (NODE_METRICS, POD_METRICS)

Document = dict[str, Any]


class _PodSpecFields(Part, frozen=True, gc=False):
    node_name: str = ""


class MeasuredPod(Part, frozen=True, gc=False):
    """What metrics say of a pod besides its usage."""

    metadata: ObjectMeta
    spec: _PodSpecFields = _PodSpecFields()


class MeasuredNode(Part, frozen=True, gc=False):
    metadata: ObjectMeta


measured_pod = msgspec.json.Decoder(MeasuredPod).decode
measured_node = msgspec.json.Decoder(MeasuredNode).decode


class Measurement(msgspec.Struct, frozen=True):
    """A report of the agent, by pod, and when it was made."""

    timestamp: str
    window: float
    by_pod: Mapping[str, list[ContainerUsage]]

    @classmethod
    def of(cls, report: UsageReport, timestamp: str) -> "Measurement":
        by_pod: dict[str, list[ContainerUsage]] = {}
        for one in report.containers:
            by_pod.setdefault(one.pod_uid, []).append(one)
        return cls(timestamp, report.window, by_pod)


def pod_metrics(measured: Measurement, pods: Iterable[MeasuredPod]) -> list[Document]:
    """Pods without a running container have none."""
    return [
        {
            **_head(POD_METRICS, pod.metadata, measured),
            "containers": [{"name": one.container, "usage": _usage([one])} for one in used],
        }
        for pod in pods
        if (used := measured.by_pod.get(pod.metadata.uid))
    ]


def node_metrics(measured: Measurement, nodes: Iterable[MeasuredNode], pods: Iterable[MeasuredPod]) -> list[Document]:
    """A node uses what its pods use: several nodes share this machine, so there is no other figure."""
    by_node: dict[str, list[ContainerUsage]] = {}
    for pod in pods:
        by_node.setdefault(pod.spec.node_name, []).extend(measured.by_pod.get(pod.metadata.uid, ()))
    return [
        {**_head(NODE_METRICS, node.metadata, measured), "usage": _usage(by_node.get(node.metadata.name, ()))}
        for node in nodes
    ]


def metrics_list(resource: Resource, items: list[Document]) -> Document:
    return {"kind": f"{resource.kind}List", "apiVersion": resource.api_version, "metadata": {}, "items": items}


def _head(resource: Resource, meta: ObjectMeta, measured: Measurement) -> Document:
    named = {"name": meta.name} | ({"namespace": meta.namespace} if resource.namespaced else {})
    labels = {"labels": dict(meta.labels)} if meta.labels else {}
    return {
        "kind": resource.kind,
        "apiVersion": resource.api_version,
        "metadata": {**named, **labels, "creationTimestamp": measured.timestamp},
        "timestamp": measured.timestamp,
        "window": f"{measured.window:.3f}s",
    }


def _usage(used: Iterable[ContainerUsage]) -> Document:
    shares = list(used)
    memory = sum(one.memory for one in shares) // 1024
    return {"cpu": f"{sum(one.cpu for one in shares)}n", "memory": f"{memory}Ki"}
