"""Turns a cluster's folder and settings into the household its pods share on this machine."""

import asyncio
import hashlib
import logging
import os
import shutil
import time
from pathlib import Path
from urllib.parse import urlsplit

from understudy.embedded.agent import nodes, records
from understudy.embedded.agent.addresses import DEFAULT_NETWORK, Addresses
from understudy.embedded.agent.bodies import Bodies
from understudy.embedded.agent.credentials import Credentials, TokenSource
from understudy.embedded.agent.devices import Devices
from understudy.embedded.agent.events import Recorder
from understudy.embedded.agent.fencing import Sweeper
from understudy.embedded.agent.household import Household, NodeFacts
from understudy.embedded.agent.launching import Machine, machine_environment
from understudy.embedded.agent.limits import ControlGroups, control_groups
from understudy.embedded.agent.names import Directory
from understudy.embedded.agent.remains import Remains
from understudy.embedded.agent.runtimes import PROCESS, Tool
from understudy.embedded.agent.sources import Library
from understudy.embedded.cluster_folder import ADMIN_ACCESS, PODS, ClusterFolder, ClusterSettings
from understudy.embedded.mpi.programs import install
from understudy.embedded.niceness import INITIAL_NICENESS
from understudy.embedded.shim import interposer, talk
from understudy.ports import Cluster
from understudy.train.job_environment import ACCESS

_MACHINE_HOSTS = Path("/etc/hosts")
_DEFAULT_PORTS = {"https": 443, "http": 80}

log = logging.getLogger(__name__)


class NoRuntime(Exception):
    """The tool that was to run containers is not there."""


def tool_for(runtime: str) -> Tool | None:
    """None where containers are processes of this machine."""
    if runtime == PROCESS:
        return None
    path = shutil.which(runtime)
    if path is None:
        raise NoRuntime(f"--runtime {runtime} was asked for, and there is no {runtime} on this machine")
    return Tool(path, runtime)


async def machine_for(folder: ClusterFolder, settings: ClusterSettings, hello: talk.Hello, server: str) -> Machine:
    """`server` is where the API is."""
    tool = tool_for(settings.runtime)
    if not hello.mounts and tool is None:
        log.warning("mounts cannot be private here (%s): paths and names are rewritten instead", hello.why_not)
    return Machine(
        isolated=hello.mounts and tool is None,
        api=api_variables(server) | ({} if tool or settings.pod_access != ADMIN_ACCESS else _access(folder)),
        env=machine_environment(os.environ),
        directory=Directory(folder.path / "hosts", _machine_hosts()),
        groups=_groups(folder) if tool is None else None,
        tool=tool,
        niceness=INITIAL_NICENESS,
        interposer=await _interposer(folder) if tool is None else "",
        programs=str(install(folder.programs, folder.agent_socket)) if tool is None else "",
    )


def _groups(folder: ClusterFolder) -> ControlGroups | None:
    """On record, for whoever has to take them away should this process be killed."""
    found = control_groups(group_base(folder))
    if found is not None:
        text = "".join(f"{base}\n" for base in found.bases)
        try:
            if not folder.control_groups.exists() or folder.control_groups.read_text() != text:
                folder.control_groups.write_text(text)
        except OSError as problem:
            log.warning("control groups may be left behind: %s", problem)
    return found


def group_base(folder: ClusterFolder) -> str:
    """Clusters of other users, or in other places, may have the same name."""
    digest = hashlib.blake2b(os.fsencode(folder.path.resolve()), digest_size=6).hexdigest()
    return f"understudy-{folder.path.name}-{digest}"


async def _interposer(folder: ClusterFolder) -> str:
    try:
        return str(await asyncio.to_thread(interposer.build, interposer.cache() or folder.path))
    except interposer.CannotBuild as problem:
        log.warning("pods share the ports of this machine: %s", problem)
        return ""


def _machine_hosts() -> str:
    try:
        return _MACHINE_HOSTS.read_text()
    except OSError:
        return "127.0.0.1 localhost\n"


def api_variables(server: str) -> dict[str, str]:
    """Where the API is, as pods are told everywhere."""
    parts = urlsplit(server)
    port = str(parts.port or _DEFAULT_PORTS.get(parts.scheme, 443))
    return {
        "KUBERNETES_SERVICE_HOST": parts.hostname or "127.0.0.1",
        "KUBERNETES_SERVICE_PORT": port,
        "KUBERNETES_SERVICE_PORT_HTTPS": port,
    }


def _access(folder: ClusterFolder) -> dict[str, str]:
    """The kubeconfig that all pods share."""
    path = folder.access(PODS)
    return {ACCESS: str(path)} if path.exists() else {}


def _authority(folder: ClusterFolder) -> bytes:
    return folder.authority.read_bytes() if folder.authority.exists() else b""


def household(
    folder: ClusterFolder, cluster: Cluster, bodies: Bodies, machine: Machine, tokens: TokenSource
) -> Household:
    """With what earlier agents gave to pods already taken."""
    settings = folder.read_settings()
    house = Household(
        folder=folder,
        cluster=cluster,
        bodies=bodies,
        machine=machine,
        devices=Devices(settings.nodes),
        addresses=Addresses(settings.pod_network or DEFAULT_NETWORK),
        library=Library(cluster),
        recorder=Recorder(cluster),
        nodes={
            node["metadata"]["name"]: NodeFacts(nodes.internal_address(node), node["status"]["capacity"])
            for node in settings.nodes
        },
        sweeper=Sweeper(),
        remains=Remains(folder),
        credentials=Credentials(tokens, time.time),
        authority=_authority(folder),
    )
    for uid, pod in records.found(folder.pods):
        record = records.load(pod)
        if record is not None:
            house.addresses.restore(uid, record.address)
            house.devices.restore(uid, record.shares)
    return house
