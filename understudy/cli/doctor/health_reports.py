"""Turns what health reporters leave in a cluster into findings: which of them report failures of nodes and the end of
machines."""

import enum
from collections.abc import Iterator
from fnmatch import fnmatchcase

import msgspec

from understudy.cli.doctor.facts import ClusterFacts
from understudy.cli.doctor.findings import Finding, care, counted, note, well
from understudy.cli.queries.objects import NodeInfo
from understudy.control.view.node_capacity import capacity_of
from understudy.kinds.annotations import NOTICE
from understudy.model.nodes import Capacity, is_accelerator

_AGENT = "the node agent of Understudy"


class Trouble(enum.StrEnum):
    GPU = "sick accelerators"
    SPOT = "the end of spot machines"
    MAINTENANCE = "maintenance"
    SYSTEM = "kernels, disks and container runtimes"


class Trace(msgspec.Struct, frozen=True, kw_only=True):
    """What a reporter leaves in a cluster, also while all is well. `*` stands for any characters."""

    reporter: str
    troubles: tuple[Trouble, ...] = ()
    conditions: tuple[str, ...] = ()
    taints: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    annotations: tuple[str, ...] = ()
    pods: tuple[str, ...] = ()
    group: str = ""  # of the API


TRACES = (
    Trace(
        reporter="AKS",
        troubles=(Trouble.GPU,),
        conditions=("NVLinkStatusInactive", "IBLinkFlapping", "GPUClockThrottling", "UnhealthyNvidiaDevicePlugin"),
    ),
    Trace(
        reporter="AKS",
        troubles=(Trouble.SPOT, Trouble.MAINTENANCE),
        conditions=("VMEventScheduled",),
        taints=("remediator.*/unschedulable",),
    ),
    Trace(reporter="GKE", troubles=(Trouble.MAINTENANCE,), labels=("cloud.google.com/gke-nodepool",)),
    Trace(
        reporter="GKE",
        troubles=(Trouble.SPOT,),
        taints=("cloud.google.com/impending-node-termination",),
        pods=("node-termination-handler*", "k8s-node-termination-handler*"),
    ),
    Trace(reporter="EKS node monitoring agent", troubles=(Trouble.GPU,), conditions=("AcceleratedHardwareReady",)),
    Trace(
        reporter="EKS node monitoring agent",
        troubles=(Trouble.SYSTEM,),
        conditions=("KernelReady", "StorageReady", "ContainerRuntimeReady"),
    ),
    Trace(
        reporter="aws-node-termination-handler",
        troubles=(Trouble.SPOT, Trouble.MAINTENANCE),
        taints=("aws-node-termination-handler/*",),
        labels=("aws-node-termination-handler/*",),
        pods=("*aws-node-termination-handler*",),
    ),
    Trace(
        reporter="Karpenter",
        troubles=(Trouble.SPOT, Trouble.MAINTENANCE),
        taints=("karpenter.sh/*",),
        labels=("karpenter.sh/nodepool",),
    ),
    Trace(
        reporter="NVSentinel",
        troubles=(Trouble.GPU,),
        conditions=("Gpu*Watch", "SysLogs*", "NVSwitch*"),
        labels=("dgxc.nvidia.com/nvsentinel-state",),
        pods=("*gpu-health-monitor*",),
    ),
    Trace(
        reporter="NVSentinel",
        troubles=(Trouble.MAINTENANCE,),
        conditions=("CSPMaintenance",),
        pods=("*csp-health-monitor*",),
    ),
    Trace(reporter="NVSentinel", group="nvsentinel.nvidia.com"),
    Trace(
        reporter="node-problem-detector",
        troubles=(Trouble.SYSTEM,),
        conditions=("KernelDeadlock", "ReadonlyFilesystem"),
        pods=("*node-problem-detector*",),
    ),
    Trace(
        reporter="node lifecycle conditions",
        troubles=(Trouble.MAINTENANCE,),
        conditions=("MaintenancePlanned", "MaintenanceInProgress", "DrainInProgress", "GracefulNodeShutdownInProgress"),
    ),
    Trace(
        reporter="node readiness controller",
        taints=("readiness.k8s.io/*",),
        annotations=("readiness.k8s.io/*",),
        group="readiness.node.x-k8s.io",
    ),
    Trace(reporter=_AGENT, troubles=(Trouble.GPU,), conditions=("GPUUnhealthy",)),
    Trace(
        reporter=_AGENT,
        troubles=(Trouble.SPOT, Trouble.MAINTENANCE),
        annotations=(NOTICE,),
        pods=("understudy-node-agent*",),
    ),
)

_FIXES = {
    Trouble.GPU: "install NVSentinel, turn on the GPU checks of your cloud, or run understudy node-agent",
    Trouble.SPOT: "run understudy node-agent there, or the termination handler of your cloud",
    Trouble.MAINTENANCE: "run understudy node-agent, or write the node lifecycle conditions of Kubernetes",
    Trouble.SYSTEM: "install node-problem-detector",
}
_WITHOUT = {
    Trouble.GPU: "a job on one is repaired only when it fails or its node goes",
    Trouble.SPOT: "a job there is repaired after the loss, and not moved before it",
    Trouble.MAINTENANCE: "a job is moved only if the node is drained",
    Trouble.SYSTEM: "only the kubelet's own conditions count",
}


def check_health_reports(facts: ClusterFacts) -> list[Finding]:
    """An embedded cluster has its own agent, and nodes that are processes."""
    if facts.embedded or not facts.nodes:
        return []
    found = [trace for trace in TRACES if _is_there(trace, facts)]
    reporters: dict[str, list[str]] = {}
    for trace in found:
        reporters.setdefault(trace.reporter, []).extend(trace.troubles)
    named = [f"{name} ({', '.join(dict.fromkeys(what))})" if what else name for name, what in reporters.items()]
    covered = {trouble for trace in found for trouble in trace.troubles}
    return [*([well(f"reports on nodes: {'; '.join(named)}")] if named else []), *_uncovered(facts.nodes, covered)]


def _uncovered(nodes: tuple[NodeInfo, ...], covered: set[Trouble]) -> Iterator[Finding]:
    bought = sum(any(map(is_accelerator, node.status.allocatable)) for node in nodes)
    spot = sum(capacity_of(node.metadata.labels, {}) is Capacity.SPOT for node in nodes)
    for trouble, many in {Trouble.GPU: bought, Trouble.SPOT: spot}.items():
        if many and trouble not in covered:
            text = f"no reporter of {trouble.value} is seen, on {counted(many, 'such node')}: {_WITHOUT[trouble]}"
            yield care(text, _FIXES[trouble])
    for trouble in (Trouble.MAINTENANCE, Trouble.SYSTEM):
        if trouble not in covered:
            yield note(f"no reporter of {trouble.value} is seen: {_WITHOUT[trouble]}", _FIXES[trouble])


def _is_there(trace: Trace, facts: ClusterFacts) -> bool:
    if trace.group and trace.group in facts.served:
        return True
    if any(_fit(trace.pods, pod.metadata.name) for pod in facts.pods or ()):
        return True
    return any(_shows(trace, node) for node in facts.nodes or ())


def _shows(trace: Trace, node: NodeInfo) -> bool:
    meta = node.metadata
    return (
        any(_fit(trace.conditions, condition.type) for condition in node.status.conditions)
        or any(_fit(trace.taints, taint.key) for taint in node.spec.taints)
        or any(_fit(trace.labels, label) for label in meta.labels)
        or any(_fit(trace.annotations, annotation) for annotation in meta.annotations)
    )


def _fit(patterns: tuple[str, ...], text: str) -> bool:
    return any(pattern == text or ("*" in pattern and fnmatchcase(text, pattern)) for pattern in patterns)
