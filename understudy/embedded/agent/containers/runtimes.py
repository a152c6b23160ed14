"""Container runtimes: the command lines by which docker or podman runs, enters and removes a container."""

from collections.abc import Mapping, Sequence

import msgspec

from understudy.embedded.agent.containers.control_groups import ContainerLimits
from understudy.embedded.shim.container_files import Mount

PROCESS = "process"
_NVIDIA = "nvidia.com/gpu"


class ContainerRuntime(msgspec.Struct, frozen=True):
    """docker, or podman, which takes the same options."""

    path: str
    name: str

    def gpus(self, ids: Sequence[str]) -> list[str]:
        if not ids:
            return []
        if self.name == "podman":
            return [word for one in ids for word in ("--device", f"{_NVIDIA}={one}")]
        return ["--gpus", f'"device={",".join(ids)}"']


class RuntimeRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A container to be run by docker or podman."""

    name: str  # unique on this machine
    image: str
    command: tuple[str, ...]
    args: tuple[str, ...]
    values: Mapping[str, str]  # of its environment, without the variables of this machine
    cwd: str
    hostname: str
    mounts: tuple[Mount, ...]
    limits: ContainerLimits = ContainerLimits()
    devices: Mapping[str, tuple[str, ...]] = {}


def run_line(
    tool: ContainerRuntime, wanted: RuntimeRequest, machine: Mapping[str, str]
) -> tuple[tuple[str, ...], dict[str, str]]:
    """The command line and its environment. Values are passed in the environment, since all users see command lines."""
    line = [tool.path, "run", "--rm", "--name", wanted.name, "--network", "host", "--hostname", wanted.hostname]
    for mount in wanted.mounts:
        line += ["--volume", f"{mount.source}:{mount.target}{':ro' if mount.read_only else ''}"]
    for name, value in wanted.values.items():
        # Variables of this machine are also those of the runtime itself, so their values go into the command line.
        line += ["--env", f"{name}={value}" if name in machine else name]
    if wanted.cwd:
        line += ["--workdir", wanted.cwd]
    if wanted.limits.cpu is not None:
        line += ["--cpus", f"{wanted.limits.cpu / 1000:g}"]
    if wanted.limits.memory is not None:
        line += ["--memory", str(wanted.limits.memory)]
    line += tool.gpus(wanted.devices.get(_NVIDIA, ()))
    if wanted.command:
        line += ["--entrypoint", wanted.command[0]]
    return (*line, wanted.image, *wanted.command[1:], *wanted.args), {**wanted.values, **machine}


def remove_line(tool: ContainerRuntime, name: str) -> tuple[str, ...]:
    return tool.path, "rm", "--force", name


def exec_line(tool: ContainerRuntime, name: str, command: Sequence[str], *, tty: bool) -> tuple[str, ...]:
    return tool.path, "exec", "--interactive", *(["--tty"] if tty else []), name, *command
