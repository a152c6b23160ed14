"""Pools, or this machine, into the Node documents a cluster starts with."""

import ipaddress
import platform
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from understudy.embedded.cluster_folder import NOTICES_FROM
from understudy.embedded.clusters.machine import Machine
from understudy.embedded.clusters.pools import BadPool, Pool, Spot, SpotCloud, Taint, check_pools, parse_taint

POOL = "understudy.dev/pool"
SPOT = "understudy.dev/spot"
SPARE = "understudy.dev/spare"
DEVICES = "understudy.dev/devices"  # annotation: the devices of this machine for each resource, as JSON
LOCAL_POOL = "this.machine"  # no pool of a file can have this name
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
# The labels of each cloud's spot nodes. The first one is the taint, too, that keeps ordinary pods off them.
_SPOT_LABELS: dict[SpotCloud, dict[str, str]] = {
    "azure": {"kubernetes.azure.com/scalesetpriority": "spot"},
    "gke": {"cloud.google.com/gke-spot": "true", "cloud.google.com/gke-provisioning": "spot"},
    "aws": {"eks.amazonaws.com/capacityType": "SPOT"},
    "karpenter": {"karpenter.sh/capacity-type": "spot"},
}
_TAINTED: tuple[SpotCloud, ...] = ("azure",)  # the clouds that set the taint without being asked


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
        form = _spot_form(pool)
        marks |= {SPOT: "true", **(_SPOT_LABELS[form.cloud] if form else {})}
    if pool.spare:
        marks[SPARE] = "keep" if pool.spare == "keep" else "true"
    if pool.role:
        marks[f"node-role.kubernetes.io/{pool.role}"] = ""
    return marks


def _spot_form(pool: Pool) -> Spot | None:
    """None for a pool that is not spot, and for one that is marked by no cloud."""
    if isinstance(pool.spot, bool):
        return None
    return pool.spot if isinstance(pool.spot, Spot) else Spot(pool.spot)


def _spot_taints(pool: Pool) -> list[Taint]:
    form = _spot_form(pool)
    if form is None or not (form.cloud in _TAINTED if form.taint is None else form.taint):
        return []
    key, value = next(iter(_SPOT_LABELS[form.cloud].items()))
    return [Taint(key, "NoSchedule", value)]


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
