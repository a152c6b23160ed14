"""The table of signals: what clouds, Kubernetes and health monitors write on a node, and what it means. The setting
`health.signals` goes before it; docs/reference/settings.md shows it."""

from collections.abc import Mapping
from functools import lru_cache

import msgspec

from understudy.control.view.signal_rules import RulesOfKind, SignalRule, by_kind
from understudy.model.nodes import NO_EXECUTE, Verdict

_SUSPECT, _LOST, _LEAVING, _IGNORED = Verdict.SUSPECT, Verdict.LOST, Verdict.LEAVING, Verdict.HEALTHY


class SignalSource(msgspec.Struct, frozen=True):
    """The signals of one reporter. The first rule that fits a signal decides, so exceptions go first."""

    name: str
    rules: tuple[SignalRule, ...]


def _conditions(
    verdict: Verdict, *names: str, status: str = "", reason: str = "", message: str = "", seconds: float | None = None
) -> tuple[SignalRule, ...]:
    return tuple(
        SignalRule(verdict, condition=name, status=status, reason=reason, message=message, seconds=seconds)
        for name in names
    )


def _taints(
    verdict: Verdict, *keys: str, value: str = "", seconds: float | None = None, time: str = ""
) -> tuple[SignalRule, ...]:
    return tuple(SignalRule(verdict, taint=key, value=value, seconds=seconds, time=time) for key in keys)


_KUBERNETES = SignalSource(
    "Kubernetes",
    (
        *_taints(
            _LOST,
            "node.kubernetes.io/out-of-service",
            "node.kubernetes.io/unreachable",
            "node.kubernetes.io/shutdown",
            "node.cloudprovider.kubernetes.io/shutdown",
        ),
        # its pods are about to be evicted; until then they can be moved in order
        *_conditions(_LEAVING, "DiskPressure"),
        *_conditions(_SUSPECT, "NetworkUnavailable"),
    ),
)

# The condition of planned maintenance has no time: it may be days away, so seats are not moved for it yet.
_LIFECYCLE = SignalSource(
    "node lifecycle conditions",
    (
        *_conditions(_LEAVING, "GracefulNodeShutdownInProgress", "DrainInProgress", "Drained", "MaintenanceInProgress"),
        *_conditions(_SUSPECT, "MaintenancePlanned"),
    ),
)

_NODE_PROBLEM_DETECTOR = SignalSource(
    "node-problem-detector",
    (
        *_conditions(_LOST, "KernelDeadlock", "ReadonlyFilesystem", "XfsShutdown", "CperHardwareErrorFatal"),
        *_conditions(
            _SUSPECT,
            "KubeletUnhealthy",
            "ContainerRuntimeUnhealthy",
            "KubeProxyUnhealthy",
            "FrequentKubeletRestart",
            "FrequentContainerdRestart",
            "FrequentDockerRestart",
            "FrequentUnregisterNetDevice",
            "DiskBadBlock",
        ),
        # A time server that is away would close the whole cluster to new seats.
        *_conditions(_IGNORED, "NTPProblem"),
    ),
)

_AKS = SignalSource(
    "AKS",
    (
        *_conditions(_LOST, "GPUMissing", "NVLinkStatusInactive", "XIDErrors", "FilesystemCorruptionProblem"),
        *_conditions(
            _SUSPECT,
            "IBLinkFlapping",
            "GPUClockThrottling",
            "UnhealthyNvidiaDevicePlugin",
            "KubeletProblem",
            "ContainerRuntimeProblem",
        ),
        *_conditions(_SUSPECT, "VMEventScheduled", message="*Freeze*"),  # a pause of seconds, and no move is needed
        *_conditions(_LEAVING, "VMEventScheduled", seconds=30.0),  # the notice of a preemption, the shortest there is
        *_taints(
            _LEAVING,
            "remediator.kubernetes.azure.com/unschedulable",
            "remediator.aks.microsoft.com/unschedulable",
            seconds=30.0,
        ),
    ),
)

_GKE_MAINTENANCE = "cloud.google.com/scheduled-maintenance-time"
_GKE = SignalSource(
    "GKE",
    (
        *_taints(_LEAVING, "cloud.google.com/impending-node-termination", seconds=30.0),
        SignalRule(_LEAVING, label="cloud.google.com/active-node-maintenance", value="ONGOING", time=_GKE_MAINTENANCE),
        SignalRule(_LEAVING, label=_GKE_MAINTENANCE, time=_GKE_MAINTENANCE),
    ),
)

# Errors after which the accelerators may go on until EKS reboots the node, ten minutes after it saw them.
_EKS_UNTIL_REBOOT = ("13", "31", "63", "64", "94")
_EKS = SignalSource(
    "EKS node monitoring agent",
    (
        *(
            SignalRule(
                _LEAVING,
                condition="AcceleratedHardwareReady",
                status="False",
                reason=f"NvidiaXID{code}Error",
                seconds=600.0,
            )
            for code in _EKS_UNTIL_REBOOT
        ),
        *_conditions(_LOST, "AcceleratedHardwareReady", status="False"),
        *_conditions(
            _SUSPECT, "StorageReady", "NetworkingReady", "KernelReady", "ContainerRuntimeReady", status="False"
        ),
    ),
)

_TERMINATION_HANDLER = SignalSource(
    "aws-node-termination-handler",
    _taints(
        _LEAVING,
        "aws-node-termination-handler/spot-itn",
        "aws-node-termination-handler/rebalance-recommendation",
        "aws-node-termination-handler/scheduled-maintenance",
        "aws-node-termination-handler/asg-lifecycle-termination",
        seconds=120.0,
        time="aws-node-termination-handler/action-time",
    ),
)

_KARPENTER = SignalSource(
    "Karpenter", _taints(_LEAVING, "karpenter.sh/disrupted", "karpenter.sh/disruption", seconds=120.0)
)
_CLUSTER_AUTOSCALER = SignalSource(
    "cluster autoscaler", _taints(_LEAVING, "ToBeDeletedByClusterAutoscaler", seconds=600.0)
)

# Its conditions are written for fatal errors only. A node in quarantine is drained, hours later or not at all.
_NVSENTINEL = SignalSource(
    "NVSentinel",
    (
        *_conditions(
            _LOST,
            "GpuMemWatch",
            "GpuNvlinkWatch",
            "GpuInforomWatch",
            "GpuPcieWatch",
            "GpuSmWatch",
            "GpuMcuWatch",
            "GpuPmuWatch",
            "GpuDriverWatch",
            "SysLogsXIDError",
            "SysLogsSXIDError",
            "SysLogsGPUFallenOff",
            "NVSwitchFatalError",
            "NVSwitchDown",
        ),
        *_conditions(
            _SUSPECT,
            "GpuThermalWatch",
            "GpuPowerWatch",
            "GpuCpusetWatch",
            "NVSwitchNonFatalError",
            "SysLogsNICDriverError",
            "DCGMError",
        ),
        *_conditions(_LEAVING, "CSPMaintenance"),
        *_taints(_LEAVING, "AggregatedNodeHealth", value="False"),
        *_taints(_LEAVING, "nvidia.com/gpu-xid-error", "nvidia.com/gpu-error"),
        *(
            SignalRule(_LEAVING, label="dgxc.nvidia.com/nvsentinel-state", value=state)
            for state in ("quarantined", "draining", "drain-succeeded", "remediating")
        ),
    ),
)

# New nodes have these taints until they are set up, many of them at once where a pool grows.
_READINESS = SignalSource(
    "node readiness controller",
    (
        SignalRule(_LEAVING, taint="readiness.k8s.io/*", effect=NO_EXECUTE, after_creation=900.0),
        SignalRule(_SUSPECT, taint="readiness.k8s.io/*", after_creation=900.0),
    ),
)

_OTHERS = SignalSource(
    "node agent of Understudy, and others", _conditions(_LOST, "XidError", "NVLinkError", "GPUUnhealthy")
)

SOURCES = (
    _KUBERNETES,
    _LIFECYCLE,
    _NODE_PROBLEM_DETECTOR,
    _AKS,
    _GKE,
    _EKS,
    _TERMINATION_HANDLER,
    _KARPENTER,
    _CLUSTER_AUTOSCALER,
    _NVSENTINEL,
    _READINESS,
    _OTHERS,
)
DEFAULT_SIGNALS = tuple(rule for source in SOURCES for rule in source.rules)


@lru_cache(maxsize=16)
def rules_with(own: tuple[SignalRule, ...]) -> Mapping[str, RulesOfKind]:
    """The whole table, by kind of signal: `own` rules decide before the defaults."""
    return by_kind((*own, *DEFAULT_SIGNALS))
