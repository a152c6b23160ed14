"""CPU and memory limits: turns the limits of a container into control groups, where this machine permits that.

Both versions are supported: one tree for all controllers (v2), or one tree for each controller (v1).
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import msgspec

from understudy.embedded.agent.api.pod_types import Container
from understudy.model.quantity import parse_quantity

ROOT = Path("/sys/fs/cgroup")
_PERIOD = 100_000  # microseconds over which CPU time is measured
_SHORTEST_QUOTA = 1_000
_CONTROLLERS = ("cpu", "memory")


class ContainerLimits(msgspec.Struct, frozen=True):
    cpu: int | None = None  # thousandths of one CPU
    memory: int | None = None  # bytes

    @property
    def quota(self) -> int:
        """Microseconds of CPU time in each period."""
        return max((self.cpu or 0) * _PERIOD // 1000, _SHORTEST_QUOTA)


def limits_of(container: Container) -> ContainerLimits:
    given = container.resources.limits
    return ContainerLimits(
        cpu=parse_quantity(given["cpu"], "cpu") if "cpu" in given else None,
        memory=parse_quantity(given["memory"], "memory") if "memory" in given else None,
    )


class ControlGroups(Protocol):
    @property
    def bases(self) -> tuple[Path, ...]:
        """The parent groups of the containers' groups."""
        ...

    def make(self, name: str, limits: ContainerLimits) -> tuple[str, ...]:
        """Makes the groups of a container and returns their folders; none where nothing is limited."""
        ...

    def remove(self, name: str) -> None: ...

    def close(self) -> None:
        """Removes groups that are no longer used."""
        ...


class ControlGroupsV2:
    def __init__(self, base: Path) -> None:
        self._base = base

    @property
    def bases(self) -> tuple[Path, ...]:
        return (self._base,)

    def make(self, name: str, limits: ContainerLimits) -> tuple[str, ...]:
        if limits == ContainerLimits():
            return ()
        group = self._base / name
        group.mkdir(exist_ok=True)
        if limits.cpu is not None:
            (group / "cpu.max").write_text(f"{limits.quota} {_PERIOD}")
        if limits.memory is not None:
            (group / "memory.max").write_text(str(limits.memory))
            with contextlib.suppress(OSError):
                (group / "memory.swap.max").write_text("0")
        return (str(group),)

    def remove(self, name: str) -> None:
        _remove(self._base / name)

    def close(self) -> None:
        _remove(self._base)


class ControlGroupsV1:
    def __init__(self, cpu: Path, memory: Path) -> None:
        self._cpu, self._memory = cpu, memory

    @property
    def bases(self) -> tuple[Path, ...]:
        return (self._cpu, self._memory)

    def make(self, name: str, limits: ContainerLimits) -> tuple[str, ...]:
        groups = []
        if limits.cpu is not None:
            group = self._cpu / name
            group.mkdir(exist_ok=True)
            (group / "cpu.cfs_period_us").write_text(str(_PERIOD))
            (group / "cpu.cfs_quota_us").write_text(str(limits.quota))
            groups.append(str(group))
        if limits.memory is not None:
            group = self._memory / name
            group.mkdir(exist_ok=True)
            (group / "memory.limit_in_bytes").write_text(str(limits.memory))
            groups.append(str(group))
        return tuple(groups)

    def remove(self, name: str) -> None:
        _remove(self._cpu / name)
        _remove(self._memory / name)

    def close(self) -> None:
        _remove(self._cpu)
        _remove(self._memory)


def _remove(group: Path) -> None:
    with contextlib.suppress(OSError):  # absent, or a process is still in it: harmless
        group.rmdir()


def control_groups(name: str, root: Path = ROOT, own: str | None = None) -> ControlGroups | None:
    """Control groups below a parent of this name; None where this machine does not permit them.

    `own` is the content of /proc/self/cgroup.
    """
    if (root / "cgroup.controllers").exists():
        for parent in _parents(root, _own_groups() if own is None else own):
            if base := _base_below(parent, name):
                return ControlGroupsV2(base)
        return None
    trees = [root / controller for controller in _CONTROLLERS]
    try:
        for tree in trees:
            if not (tree / "cgroup.procs").exists():
                return None
            (tree / name).mkdir(exist_ok=True)
    except OSError:
        return None
    return ControlGroupsV1(*(tree / name for tree in trees))


def _own_groups() -> str:
    try:
        return Path("/proc/self/cgroup").read_text()
    except OSError:
        return ""


def _parents(root: Path, own: str) -> Iterator[Path]:
    """Possible parents of our groups: the top for root, else the groups above this process."""
    yield root
    for line in own.splitlines():
        if line.startswith("0::/"):
            group = root / line.removeprefix("0::/").strip("/")
            yield from (one for one in group.parents if one.is_relative_to(root) and one != root)


def _base_below(parent: Path, name: str) -> Path | None:
    """A new group whose children can have limits, or None where the parent does not permit it."""
    base = parent / name
    try:
        if not _enable(parent):
            return None
        base.mkdir(exist_ok=True)
        return base if _enable(base) and os.access(base, os.W_OK) else None
    except OSError:
        return None


def _enable(group: Path) -> bool:
    switch = group / "cgroup.subtree_control"
    if not set(_CONTROLLERS) <= set(switch.read_text().split()):
        switch.write_text(" ".join(f"+{controller}" for controller in _CONTROLLERS))
    return set(_CONTROLLERS) <= {word.lstrip("+") for word in switch.read_text().split()}
