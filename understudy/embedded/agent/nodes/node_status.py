"""Node status: turns the nodes of the cluster file into Node documents with status and conditions."""

import platform
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from understudy import __version__
from understudy.kinds.annotations import format_time

_ADDRESS = "127.0.0.1"
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}

Document = dict[str, Any]

_CONDITIONS = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "the agent has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "the agent has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "the agent has sufficient process ids available"),
    ("Ready", "True", "KubeletReady", "the agent is running"),
)


def node_document(node: Mapping[str, Any], storage: int, now: float) -> Document:
    """The Node document to create; `storage` is the size of the disk in bytes."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": dict(node["metadata"]),
        "spec": dict(node.get("spec", {})),
        "status": node_status(node, storage, now),
    }


def node_status(node: Mapping[str, Any], storage: int, now: float, known: Sequence[Mapping[str, Any]] = ()) -> Document:
    """`known` are the conditions in the API: an unchanged condition keeps its transition time."""
    given = node.get("status", {})
    capacity = {"ephemeral-storage": str(storage), **given.get("capacity", {})}
    name = node["metadata"]["name"]
    return {
        "capacity": capacity,
        "allocatable": {**capacity, **given.get("allocatable", {})},
        "addresses": given.get("addresses") or _addresses(name),
        "nodeInfo": {**_node_info(name), **given.get("nodeInfo", {})},
        "conditions": node_conditions(now, known),
    }


def _addresses(name: str) -> list[Document]:
    return [{"type": "InternalIP", "address": _ADDRESS}, {"type": "Hostname", "address": name}]


def internal_address(node: Mapping[str, Any]) -> str:
    for address in node.get("status", {}).get("addresses", ()):
        if address["type"] == "InternalIP":
            return str(address["address"])
    return _ADDRESS


def node_conditions(now: float, known: Sequence[Mapping[str, Any]] = ()) -> list[Document]:
    before = {one.get("type"): one for one in known}
    found = []
    for kind, state, reason, message in _CONDITIONS:
        earlier = before.get(kind, {})
        since = earlier.get("lastTransitionTime") if earlier.get("status") == state else None
        found.append(
            {
                "type": kind,
                "status": state,
                "reason": reason,
                "message": message,
                "lastHeartbeatTime": format_time(int(now)),
                "lastTransitionTime": since or format_time(int(now)),
            }
        )
    return found


def gone_condition(now: float) -> Document:
    """The Ready condition of a node whose process has ended; its time has fractions of a second, for measurements."""
    return {
        "type": "Ready",
        "status": "Unknown",
        "reason": "AgentGone",
        "message": "the connection to the node's agent was lost",
        "lastTransitionTime": format_time(now),
    }


def _node_info(name: str) -> Document:
    machine = _text("/etc/machine-id") or uuid.uuid5(uuid.NAMESPACE_DNS, platform.node()).hex
    return {
        "machineID": machine,
        "systemUUID": str(uuid.uuid5(uuid.NAMESPACE_DNS, f"{machine}/{name}")),
        "bootID": _text("/proc/sys/kernel/random/boot_id") or machine,
        "kernelVersion": platform.release(),
        "osImage": "this machine",
        "containerRuntimeVersion": f"process://{__version__}",
        "kubeletVersion": f"v{__version__}",
        "kubeProxyVersion": f"v{__version__}",
        "operatingSystem": platform.system().lower(),
        "architecture": _ARCHITECTURES.get(platform.machine(), platform.machine()),
    }


def _text(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""
