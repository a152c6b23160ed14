"""Signals on nodes, each as its cloud or tool writes it: the gang moves, or swaps what it lost; and what NVSentinel is
answered."""

import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

import msgspec
import pytest

from tests.kube.cluster.api import STRATEGIC, ApiError, Object
from tests.kube.cluster.operators.operator import wait_served
from tests.kube.cluster.processes import wait_until
from tests.kube.cluster.running import Cluster
from tests.kube.serve.gangs import HOLDS
from tests.kube.serve.recording_proxy import SECONDS
from tests.kube.serve.replica_pair import ReplicaPair
from tests.kube.serve.six_nodes import SixNodes
from understudy.objects.resources import DRAIN_REQUESTS

SIZE = 2
INCIDENTS = "/apis/understudy.dev/v1alpha1/namespaces/{}/incidents"
SENTINEL = "default"  # the namespace in which NVSentinel runs here


class Signal(msgspec.Struct, frozen=True):
    """What is written on a node."""

    conditions: Sequence[Object] = ()
    taints: Sequence[Object] = ()
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}

    def put(self, six_nodes: SixNodes, node: str) -> float:
        """Returns when it was written."""
        path = f"/api/v1/nodes/{node}"
        self._report(six_nodes, node, self.conditions)
        metadata = {"labels": dict(self.labels), "annotations": dict(self.annotations)}
        six_nodes.api.patch(path, {"metadata": metadata, "spec": {"taints": list(self.taints) or None}})
        return time.monotonic()

    def withdraw(self, six_nodes: SixNodes, node: str) -> None:
        other = {"True": "False", "False": "True"}
        self._report(six_nodes, node, [{**one, "status": other[one["status"]]} for one in self.conditions])
        metadata = {"labels": dict.fromkeys(self.labels), "annotations": dict.fromkeys(self.annotations)}
        six_nodes.api.patch(f"/api/v1/nodes/{node}", {"metadata": metadata, "spec": {"taints": None}})

    def _report(self, six_nodes: SixNodes, node: str, conditions: Sequence[Object]) -> None:
        told = [{**one, "lastTransitionTime": moment(0.0)} for one in conditions]
        if told:
            six_nodes.api.patch(f"/api/v1/nodes/{node}/status", {"status": {"conditions": told}}, STRATEGIC)


def moment(ahead: float) -> str:
    return datetime.fromtimestamp(time.time() + ahead, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def condition(kind: str, status: str = "True", reason: str = "Because", message: str = "") -> Signal:
    return Signal(conditions=({"type": kind, "status": status, "reason": reason, "message": message},))


def taint(key: str, value: str = "", labels: Mapping[str, str] | None = None) -> Signal:
    return Signal(taints=({"key": key, "value": value, "effect": "NoSchedule"},), labels=labels or {})


NTH = "aws-node-termination-handler"
GKE = "cloud.google.com"


def leaving() -> dict[str, Signal]:
    """As they are written now: some have a deadline."""
    return {
        "AKS: a spot machine is preempted": condition("VMEventScheduled", message="Preempt scheduled"),
        "AKS: auto-drain": taint("remediator.kubernetes.azure.com/unschedulable"),
        "GKE: impending termination": taint(f"{GKE}/impending-node-termination"),
        "GKE: maintenance is near": Signal(labels={f"{GKE}/scheduled-maintenance-time": str(int(time.time()) + 1800)}),
        "GKE: maintenance goes on": Signal(labels={f"{GKE}/active-node-maintenance": "ONGOING"}),
        "EKS: an error until the reboot": condition("AcceleratedHardwareReady", "False", "NvidiaXID13Error"),
        "EKS: spot interruption": taint(f"{NTH}/spot-itn", "id", {f"{NTH}/action-time": str(int(time.time()) + 120)}),
        "EKS: rebalance recommendation": taint(f"{NTH}/rebalance-recommendation", "id"),
        "Karpenter: disrupted": taint("karpenter.sh/disrupted"),
        "cluster autoscaler: scale-down": taint("ToBeDeletedByClusterAutoscaler", str(int(time.time()))),
        "Kubernetes: graceful shutdown": condition("GracefulNodeShutdownInProgress"),
        "Kubernetes: drain": condition("DrainInProgress"),
        "Kubernetes: maintenance": condition("MaintenanceInProgress"),
        "NVSentinel: maintenance of the cloud": condition("CSPMaintenance"),
        "NVSentinel: quarantine": Signal(labels={"dgxc.nvidia.com/nvsentinel-state": "quarantined"}),
        "NVSentinel: taint": taint("nvidia.com/gpu-xid-error", "true"),
        "Understudy: a notice of the node agent": Signal(
            annotations={"understudy.dev/notice": f"deadline={moment(30)},source=azure,cause=Preempt"}
        ),
        "a deadline in the past": taint(f"{NTH}/spot-itn", "id", {f"{NTH}/action-time": "1700000000"}),
    }


LOST = {
    "AKS: a GPU is missing": condition("GPUMissing"),
    "AKS: NVLink": condition("NVLinkStatusInactive"),
    "AKS: Xid errors": condition("XIDErrors"),
    "EKS: Xid 79": condition("AcceleratedHardwareReady", "False", "NvidiaXID79Error"),
    "EKS: double bit error": condition("AcceleratedHardwareReady", "False", "NvidiaDoubleBitError"),
    "node-problem-detector: kernel": condition("KernelDeadlock"),
    "NVSentinel: memory": condition("GpuMemWatch", reason="GpuMemWatchIsNotHealthy"),
    "NVSentinel: NVLink": condition("GpuNvlinkWatch", reason="GpuNvlinkWatchIsNotHealthy"),
    "NVSentinel: Xid": condition("SysLogsXIDError", reason="SysLogsXIDErrorIsNotHealthy"),
    "NVSentinel: fallen off the bus": condition("SysLogsGPUFallenOff", reason="SysLogsGPUFallenOffIsNotHealthy"),
    "NVSentinel: NVSwitch": condition("NVSwitchFatalError", reason="NVSwitchFatalErrorIsNotHealthy"),
    "cloud provider: shut down": taint("node.cloudprovider.kubernetes.io/shutdown"),
    "lost counts before leaving": Signal(condition("GPUMissing").conditions, taint("karpenter.sh/disrupted").taints),
}
SUSPECT = {
    "AKS: a machine pauses": condition("VMEventScheduled", message="Freeze scheduled"),
    "AKS: InfiniBand": condition("IBLinkFlapping"),
    "EKS: network": condition("NetworkingReady", "False"),
    "node-problem-detector: kubelet": condition("FrequentKubeletRestart"),
    "Kubernetes: maintenance is planned": condition("MaintenancePlanned"),
}


def cause(six_nodes: SixNodes) -> str:
    """Of the incident of the namespace."""
    found = six_nodes.api.items(INCIDENTS.format(six_nodes.namespace))
    return " | ".join(one["spec"]["cause"] for one in found)


def moved(six_nodes: SixNodes, signal: Signal, expected: str) -> str:
    """A gang is seated, the signal is written on the node of one member, and the gang is whole elsewhere. Returns the
    node."""
    six_nodes.seated("high", SIZE)
    node = six_nodes.seen.seats("high")[0]
    written_at = signal.put(six_nodes, node)
    six_nodes.seen.until("no member sits there any more", lambda: node not in six_nodes.seen.seats("high"))
    whole_at = six_nodes.whole("high", SIZE)
    print(f"whole {whole_at - written_at:.2f} s after the signal")  # noqa: T201
    wait_until(lambda: f"node {node} {expected}: " in cause(six_nodes), f"the incident says {expected}", SECONDS)
    return node


@pytest.mark.parametrize("name", leaving())
def test_a_gang_leaves_a_node_that_will_go(name: str, pair: ReplicaPair, six_nodes: SixNodes) -> None:
    pair.ready_pair()
    moved(six_nodes, leaving()[name], "leaving")


@pytest.mark.parametrize("name", LOST)
def test_a_gang_swaps_a_member_whose_node_is_broken(name: str, pair: ReplicaPair, six_nodes: SixNodes) -> None:
    pair.ready_pair()
    moved(six_nodes, LOST[name], "lost")


@pytest.mark.parametrize("name", SUSPECT)
def test_a_gang_stays_on_a_node_in_doubt_and_a_seat_is_held_until_the_doubt_is_over(
    name: str, pair: ReplicaPair, six_nodes: SixNodes
) -> None:
    pair.ready_pair()
    six_nodes.seated("high", SIZE)
    seats = six_nodes.seen.seats("high")
    SUSPECT[name].put(six_nodes, seats[0])
    wait_until(lambda: six_nodes.notes("high").get(HOLDS), "a seat is held ahead", SECONDS)
    SUSPECT[name].withdraw(six_nodes, seats[0])
    wait_until(lambda: not six_nodes.notes("high").get(HOLDS), "the hold is given up", SECONDS)
    assert six_nodes.seen.seats("high") == seats
    assert six_nodes.seen.made("high") == SIZE


def test_a_node_whose_notice_is_withdrawn_is_used_again(pair: ReplicaPair, six_nodes: SixNodes) -> None:
    pair.ready_pair()
    signal = leaving()["Karpenter: disrupted"]
    node = moved(six_nodes, signal, "leaving")
    signal.withdraw(six_nodes, node)
    six_nodes.create("more", len(six_nodes.names) - SIZE)
    six_nodes.whole("more", len(six_nodes.names) - SIZE)
    assert node in six_nodes.seen.seats("more")


def test_a_time_that_cannot_be_read_is_reported_on_the_node_and_moves_no_pod(
    pair: ReplicaPair, six_nodes: SixNodes
) -> None:
    pair.ready_pair()
    six_nodes.seated("high", SIZE)
    seats = six_nodes.seen.seats("high")
    Signal(labels={f"{GKE}/scheduled-maintenance-time": "soon"}).put(six_nodes, seats[0])

    def reports() -> list[Object]:
        return [
            event
            for event in six_nodes.api.items("/api/v1/events")
            if event["reason"] == "InvalidObject" and event["involvedObject"]["name"] == seats[0]
        ]

    wait_until(reports, "it is reported", SECONDS)
    six_nodes.create("next", len(six_nodes.names) - SIZE)  # the loop goes on
    six_nodes.whole("next", len(six_nodes.names) - SIZE)
    assert six_nodes.seen.seats("high") == seats
    [report] = reports()
    assert "is not a time" in report["message"]


# NVSentinel


@pytest.fixture
def drain_requests(kube: Cluster) -> Iterator[str]:
    """The path of drain requests: the kind as a drainer of NVSentinel defines it."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": DRAIN_REQUESTS.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": anything},
        "subresources": {"status": {}},
    }
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": DRAIN_REQUESTS.key},
        "spec": {
            "group": DRAIN_REQUESTS.group,
            "scope": "Namespaced",
            "names": {"plural": DRAIN_REQUESTS.plural, "singular": "drainrequest", "kind": DRAIN_REQUESTS.kind},
            "versions": [version],
        },
    }
    kube.api.create(definition)
    wait_served(kube.api, definition, kube.processes)
    yield DRAIN_REQUESTS.path(SENTINEL)
    kube.api.delete(kube.api.path(definition))


def test_a_drain_request_moves_the_gang_and_is_then_answered(
    drain_requests: str, pair: ReplicaPair, six_nodes: SixNodes
) -> None:
    pair.ready_pair()
    six_nodes.seated("high", SIZE)
    node = six_nodes.seen.seats("high")[0]
    sitting = [pod.name for pod in six_nodes.seen.sitting("high") if pod.node == node]
    spec = {"nodeName": node, "checkName": "SysLogsXIDError", "podsToDrain": {six_nodes.namespace: sitting}}
    request = {
        "apiVersion": DRAIN_REQUESTS.api_version,
        "kind": DRAIN_REQUESTS.kind,
        "metadata": {"name": f"drain-{node}", "namespace": SENTINEL},
        "spec": spec,
    }
    six_nodes.api.request("POST", drain_requests, request)

    def answered() -> bool:
        try:
            conditions = six_nodes.api.get(f"{drain_requests}/drain-{node}").get("status", {}).get("conditions", [])
        except ApiError:
            return False
        return any(one["type"] == "DrainComplete" and one["status"] == "True" for one in conditions)

    wait_until(answered, "the request is answered", SECONDS)
    assert not [pod for pod in six_nodes.seen.there("high") if pod.node == node]
    six_nodes.whole("high", SIZE)
    assert node not in six_nodes.seen.seats("high")
    six_nodes.api.delete(f"{drain_requests}/drain-{node}")
