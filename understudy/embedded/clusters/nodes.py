"""Pools, or this machine, into the Node documents a cluster starts with."""

import ipaddress
import platform
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from understudy.embedded.cluster_folder import NOTICES_FROM
from understudy.embedded.clusters.machine import Machine
from understudy.embedded.clusters.pools import BadPool, Pool, Taint, check_pools, parse_taint

POOL = "understudy.dev/pool"
SPOT = "understudy.dev/spot"
SPARE = "understudy.dev/spare"
DEVICES = "understudy.dev/devices"  # annotation: the devices of this machine for each resource, as JSON
LOCAL_POOL = "this.machine"  # no pool of a file can have this name
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
# How each cloud marks its spot nodes, and whether it keeps ordinary pods off them.
_SPOT_LABELS: dict[object, tuple[str, str]] = {
    "azure": ("kubernetes.azure.com/scalesetpriority", "spot"),
    "gke": ("cloud.google.com/gke-spot", "true"),
    "aws": ("eks.amazonaws.com/capacityType", "SPOT"),
    "karpenter": ("karpenter.sh/capacity-type", "spot"),
}
_SPOT_TAINTS = {"azure": Taint("kubernetes.azure.com/scalesetpriority", "NoSchedule", "spot")}


def pool_nodes(pools: Iterable[Pool], machine: Machine) -> list[dict[str, Any]]:
    """Raises BadPool if the pools are invalid."""
    pools = tuple(pools)
    check_pools(pools)
    nodes: dict[str, dict[str, Any]] = {}
    for index, pool in enumerate(pools):
        for number in range(pool.size):
            node = _node(pool, number, machine)
            name = node["metadata"]["name"]
            if name in nodes:
                raise BadPool(f"pools[{index}]", f"its node {name} has the name of another node; rename the pool")
            nodes[name] = node
    return list(nodes.values())


def machine_node(machine: Machine) -> dict[str, Any]:
    """This machine, offered as one node."""
    capacity = {"cpu": machine.cpu, "memory": machine.memory, "pods": "110"}
    labels = {POOL: LOCAL_POOL}
    annotations = {}
    if machine.gpus:
        capacity["nvidia.com/gpu"] = str(len(machine.gpus))
        first = machine.gpus[0]
        labels |= {"nvidia.com/gpu.product": first.product, "nvidia.com/gpu.count": str(len(machine.gpus))}
        if first.memory_mib:
            labels["nvidia.com/gpu.memory"] = str(first.memory_mib)
        devices = {"nvidia.com/gpu": [gpu.id for gpu in machine.gpus]}
        annotations[DEVICES] = msgspec.json.encode(devices).decode()
    document = _document(machine.name, machine.address, labels, capacity)
    if annotations:
        document["metadata"]["annotations"] = annotations
    return document


def _node(pool: Pool, number: int, machine: Machine) -> dict[str, Any]:
    name = _name(pool, number)
    labels = {POOL: pool.name, "node.kubernetes.io/instance-type": pool.instance_type, **_marks(pool, number)}
    capacity = {
        "cpu": str(pool.cpu) or machine.cpu,
        "memory": str(pool.memory) or machine.memory,
        "pods": str(pool.pods),
        **{resource: str(amount) for resource, amount in pool.accelerators.items()},
    }
    document = _document(name, _address(pool, number, name, machine), labels | dict(pool.labels), capacity)
    if taints := [*_spot_taints(pool), *map(parse_taint, pool.taints)]:
        document["spec"] = {"taints": [msgspec.to_builtins(taint) for taint in taints]}
    if pool.notices is not None:
        origin = f"{pool.notices.source} {pool.notices.endpoint}".strip()
        document["metadata"]["annotations"] = {NOTICES_FROM: origin}
    return document


def _name(pool: Pool, number: int) -> str:
    """`<pool>-<number>`; in a pool with domains `<domain>-<number in it>`."""
    if pool.names:
        return pool.names[number]
    if pool.topology is not None and pool.topology.size < pool.size:
        return f"{_domain(pool, number)}-{number % pool.topology.size}"
    return f"{pool.name}-{number}"


def _domain(pool: Pool, number: int) -> str:
    assert pool.topology is not None
    index = number // pool.topology.size
    return pool.topology.names[index] if pool.topology.names else f"{pool.name}-{index}"


def _marks(pool: Pool, number: int) -> dict[str, str]:
    """Labels for the topology, spot, spare and role of a pool."""
    marks: dict[str, str] = {}
    if pool.topology is not None:
        marks[pool.topology.key] = _domain(pool, number)
    if pool.spot:
        marks |= {SPOT: "true", **dict([_SPOT_LABELS[pool.spot]] if pool.spot in _SPOT_LABELS else [])}
    if pool.spare:
        marks[SPARE] = "keep" if pool.spare == "keep" else "true"
    if pool.role:
        marks[f"node-role.kubernetes.io/{pool.role}"] = ""
    return marks


def _spot_taints(pool: Pool) -> list[Taint]:
    taint = _SPOT_TAINTS.get(str(pool.spot))
    return [taint] if taint else []


def _address(pool: Pool, number: int, name: str, machine: Machine) -> str:
    if pool.addresses:
        return pool.addresses[number]
    try:
        return str(ipaddress.ip_address(name))
    except ValueError:
        return machine.address


def _document(name: str, address: str, labels: Mapping[str, str], capacity: Mapping[str, str]) -> dict[str, Any]:
    architecture = _ARCHITECTURES.get(platform.machine(), platform.machine())
    system = platform.system().lower()
    given = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": system,
        "kubernetes.io/arch": architecture,
        **{key: value for key, value in labels.items() if value or key.startswith("node-role.")},
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": given},
        "status": {
            "capacity": dict(capacity),
            "allocatable": dict(capacity),
            "addresses": [{"type": "InternalIP", "address": address}, {"type": "Hostname", "address": name}],
        },
    }
