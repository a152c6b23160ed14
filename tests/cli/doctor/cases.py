"""Clusters as a doctor sees them, with the few facts a test cares about."""

from datetime import UTC, datetime
from typing import Any

import msgspec

from tests.objects.documents import Document, node, pod
from understudy.cli.doctor.facts import CheckupRequest, ClusterFacts, LeaderLease, NamespaceInfo
from understudy.cli.doctor.findings import Finding, Level
from understudy.cli.queries.nodes import NodeSummary, node_usages
from understudy.cli.queries.objects import NodeInfo, NodeState, PodInfo
from understudy.model.nodes import Health, Verdict

NOW = 1_767_268_800.0
ADMISSION = "admissionregistration.k8s.io"
SERVED = {
    ADMISSION: {"v1": frozenset({"mutatingadmissionpolicies", "mutatingadmissionpolicybindings"})},
    "understudy.dev": {"v1alpha1": frozenset({"incidents"})},
}


def seen(**facts: Any) -> ClusterFacts:
    defaults: dict[str, Any] = {
        "request": CheckupRequest(),
        "address": "https://c",
        "version": "v1.37.1",
        "now": NOW,
        "served": SERVED,
    }
    return ClusterFacts(**{**defaults, **facts})


def namespace(name: str, **labels: str) -> NamespaceInfo:
    return msgspec.convert({"metadata": {"name": name, "labels": labels}}, NamespaceInfo)


def leadership(ago: float, holder: str = "understudy-abc", place: str = "understudy-system") -> LeaderLease:
    renewed = datetime.fromtimestamp(NOW - ago, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    spec = {"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": renewed}
    return msgspec.convert({"metadata": {"name": "understudy", "namespace": place}, "spec": spec}, LeaderLease)


def _health(verdict: Verdict | None) -> Health:
    return Health() if verdict is None else Health(verdict, "its lease is old")


def nodes_seen(documents: list[Document], *pods: Document, **verdicts: Verdict) -> dict[str, Any]:
    """The facts about nodes and pods, for `seen`."""
    nodes = [msgspec.convert(one, NodeInfo) for one in documents]
    sitting = tuple(msgspec.convert(one, PodInfo) for one in pods)
    node_summaries = [
        NodeSummary(
            usage=usage,
            state=NodeState(health=_health(verdicts.get(usage.name))),
            pool="",
            slice="",
            spare=one.metadata.labels.get("understudy.dev/spare", ""),
            age=0.0,
        )
        for one, usage in zip(nodes, node_usages(nodes, sitting), strict=True)
    ]
    return {"nodes": tuple(nodes), "node_summaries": tuple(node_summaries), "pods": sitting}


def gpu_node(name: str, labels: Document | None = None, **spec: Any) -> Document:
    return node(name, {"labels": labels or {}}, allocatable={"cpu": "8", "nvidia.com/gpu": "8", "pods": "110"}, **spec)


def gpu_pod(name: str, where: str = "", gpus: int = 4, **spec: Any) -> Document:
    asks = {"name": "c", "image": "i", "resources": {"requests": {"nvidia.com/gpu": str(gpus)}}}
    return pod(name, where, **{"containers": [asks], **spec})


def texts(findings: list[Finding], level: Level | None = None) -> list[str]:
    return [one.text for one in findings if level in (None, one.level)]


def worst(findings: list[Finding]) -> Level:
    order = [Level.WELL, Level.NOTE, Level.CARE, Level.WRONG]
    return max((one.level for one in findings), key=order.index)
