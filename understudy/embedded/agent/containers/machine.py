"""What all containers of this machine have in common: API address, hosts files, control groups, container runtime."""

import asyncio
import hashlib
import logging
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from understudy.embedded.agent.containers.control_groups import ControlGroups, control_groups
from understudy.embedded.agent.containers.runtimes import (
    PROCESS,
    ContainerRuntime,
)
from understudy.embedded.agent.network.pod_dns import PodNames
from understudy.embedded.agent.python.layered_environment import path_of_pods
from understudy.embedded.cluster_folder import ADMIN_ACCESS, PODS, ClusterFolder, ClusterSettings
from understudy.embedded.mpi.program_scripts import install
from understudy.embedded.niceness import INITIAL_NICENESS
from understudy.embedded.shim import interposer, messages
from understudy.train.job_environment import ACCESS

_MACHINE_HOSTS = Path("/etc/hosts")
_DEFAULT_PORTS = {"https": 443, "http": 80}
log = logging.getLogger(__name__)


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """What the launch of every container on this machine depends on."""

    isolated: bool  # containers have private mounts
    api: Mapping[str, str]  # variables with the address of the API
    env: Mapping[str, str]
    directory: PodNames
    groups: ControlGroups | None = None
    tool: ContainerRuntime | None = None  # docker or podman, if chosen
    interposer: str = ""  # a library that gives pods ports of their own, unless they use the host network
    niceness: int = 0  # of pods
    programs: str = ""  # a folder at the end of the PATH of every container

    def close(self) -> None:
        self.directory.close()
        if self.groups is not None:
            self.groups.close()


class RuntimeNotInstalled(Exception):
    """The chosen container runtime is not installed."""


def tool_for(runtime: str) -> ContainerRuntime | None:
    """None where containers are processes of this machine."""
    if runtime == PROCESS:
        return None
    path = shutil.which(runtime)
    if path is None:
        raise RuntimeNotInstalled(f"--runtime {runtime} was asked for, and there is no {runtime} on this machine")
    return ContainerRuntime(path, runtime)


async def machine_for(folder: ClusterFolder, settings: ClusterSettings, hello: messages.Hello, server: str) -> Machine:
    """`server` is the address of the API."""
    tool = tool_for(settings.runtime)
    if not hello.mounts and tool is None:
        log.warning("mounts cannot be private here (%s): paths and names are rewritten instead", hello.why_not)
    return Machine(
        isolated=hello.mounts and tool is None,
        api=api_variables(server) | ({} if tool or settings.pod_access != ADMIN_ACCESS else _access(folder)),
        env=machine_environment(os.environ),
        directory=PodNames(folder.path / "hosts", _machine_hosts()),
        groups=_groups(folder) if tool is None else None,
        tool=tool,
        niceness=INITIAL_NICENESS,
        interposer=await _interposer(folder) if tool is None else "",
        programs=str(install(folder.programs, folder.agent_socket)) if tool is None else "",
    )


def _groups(folder: ClusterFolder) -> ControlGroups | None:
    """Writes the names of the groups to a file, by which `down` removes them if this process is killed."""
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
    """Unique by a digest: clusters in other folders may have the same name."""
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
    """The variables in which Kubernetes gives the address of the API to pods."""
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


_INHERITED = (
    *("PATH", "HOME", "LANG", "LC_ALL", "USER", "LOGNAME", "TZ", "LD_LIBRARY_PATH"),
    # Where pip finds packages. Where it puts them is left to the pod.
    *("PIP_CONFIG_FILE", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_NO_INDEX", "PIP_CERT"),
)


def machine_environment(given: Mapping[str, str]) -> dict[str, str]:
    """The variables of the agent that programs need on this machine. The programs of Understudy's own virtual
    environment are not among them: its pip would change that environment."""
    env = {name: given[name] for name in _INHERITED if name in given}
    return env | {"PATH": path_of_pods(env.get("PATH") or os.defpath)}
