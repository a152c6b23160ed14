"""The settings a cluster starts with: what the user asks for now, else what it had before, else the defaults."""

import random
import socket
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from understudy.embedded.cluster_folder import OWN_ACCESS, ClusterFolder, ClusterSettings, PythonScope, home
from understudy.embedded.clusters.nodes import LOCAL_POOL, POOL

DEFAULT_ADDRESS = "127.0.0.1"
DEFAULT_PORT = 16443
PORTS = range(DEFAULT_PORT, DEFAULT_PORT + 100)
DEFAULT_RUNTIME = "process"
POD_NETWORKS = range(16, 251)  # the second number of 127.N.0.0/16


class RequestedSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What the user asked for. None means unchanged, or the default for a new cluster."""

    name: str
    address: str | None = None
    port: int | None = None
    runtime: str | None = None
    pod_access: str | None = None
    python_env: str | None = None
    nodes: Sequence[dict[str, Any]] | None = None
    loop: dict[str, dict[str, Any]] | None = None


class MachineState(msgspec.Struct, frozen=True, kw_only=True):
    """Other clusters, free ports and the node of this machine."""

    others: Sequence[ClusterSettings]
    is_port_free: Callable[[str, int], bool]  # whether an address and port can be listened on
    local_node: Callable[[], dict[str, Any]]
    chance: random.Random


def resolve_settings(
    wanted: RequestedSettings, before: ClusterSettings | None, around: MachineState
) -> ClusterSettings:
    address = wanted.address or (before.address if before else DEFAULT_ADDRESS)
    return ClusterSettings(
        name=wanted.name,
        address=address,
        port=wanted.port or _port(address, before, around),
        fixed_port=bool(wanted.port) or (before is not None and before.fixed_port),
        runtime=wanted.runtime or (before.runtime if before else DEFAULT_RUNTIME),
        pod_access=wanted.pod_access or (before.pod_access if before else OWN_ACCESS),
        python_env=PythonScope(wanted.python_env or (before.python_env if before else PythonScope.POD)),
        pod_network=before.pod_network if before else _pod_network(around),
        nodes=tuple(_nodes(wanted, before, around)),
        loop=wanted.loop if wanted.loop is not None else (before.loop if before else {}),
    )


def settings_differences(wanted: RequestedSettings, running: ClusterSettings) -> list[str]:
    """How a running cluster differs from what the user asks for, in words."""
    found = []
    for field in ("address", "port", "runtime", "pod_access", "python_env"):
        asked = getattr(wanted, field)
        if asked and asked != getattr(running, field):
            found.append(f"its {field.replace('_', ' ')} is {getattr(running, field)}, not {asked}")
    if wanted.nodes is not None and _chosen_fields(wanted.nodes) != _chosen_fields(running.nodes):
        found.append("it has other nodes than the file")
    if wanted.loop is not None and wanted.loop != running.loop:
        found.append("it has other settings")
    return found


def read_settings(folder: ClusterFolder) -> ClusterSettings | None:
    """None if the folder has no readable settings of a cluster."""
    try:
        return folder.read_settings()
    except (OSError, msgspec.DecodeError):
        return None


def all_clusters() -> dict[str, ClusterSettings]:
    """The clusters of this user, up or down, by name."""
    found = {}
    for path in _folders():
        if (settings := read_settings(ClusterFolder(path))) is not None:
            found[path.name] = settings
    return found


def is_port_free(address: str, port: int) -> bool:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError:
            return False
    return True


def _folders() -> list[Path]:
    try:
        return sorted((home() / "clusters").iterdir())
    except FileNotFoundError:
        return []


def _port(address: str, before: ClusterSettings | None, around: MachineState) -> int:
    """The port it had, unless another program has taken it and the user never asked for that port."""
    if before is not None and (before.fixed_port or around.is_port_free(address, before.port)):
        return before.port
    return _free_port(address, around)


def _free_port(address: str, around: MachineState) -> int:
    """The first port that is free now and belongs to no other cluster."""
    taken = {settings.port for settings in around.others}
    for port in PORTS:
        if port not in taken and around.is_port_free(address, port):
            return port
    return around.chance.randrange(20_000, 32_000)


def _pod_network(around: MachineState) -> str:
    taken = {settings.pod_network for settings in around.others}
    networks = [network for n in POD_NETWORKS if (network := f"127.{n}.0.0/16") not in taken]
    return around.chance.choice(networks)


def _nodes(wanted: RequestedSettings, before: ClusterSettings | None, around: MachineState) -> Iterable[dict[str, Any]]:
    """Without a cluster file, a cluster that had one keeps its nodes; the node of this machine is measured again."""
    if wanted.nodes is not None:
        return wanted.nodes
    if before is not None and not all(_is_local(node) for node in before.nodes):
        return before.nodes
    return [around.local_node()]


def _is_local(node: Mapping[str, Any]) -> bool:
    return bool(node["metadata"]["labels"].get(POOL) == LOCAL_POOL)


def _chosen_fields(nodes: Iterable[Mapping[str, Any]]) -> list[tuple[Any, ...]]:
    """The parts of nodes that the user chooses; the rest changes with the machine."""
    return [
        (meta["name"], meta["labels"], meta.get("annotations"), node.get("spec"), node["status"]["capacity"])
        for node in nodes
        for meta in [node["metadata"]]
    ]
