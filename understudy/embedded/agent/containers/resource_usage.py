"""What containers use: the CPU time and memory of their processes, as the kernel counts them."""

import asyncio
import os
import time
from collections.abc import Mapping
from pathlib import Path

import msgspec

from understudy.embedded.agent_protocol import ContainerUsage, UsageReport
from understudy.embedded.shim import linux

SHORTEST_WINDOW = 0.5  # seconds; a rate over less says little, since the kernel counts hundredths of a second
OLDEST_SAMPLE = 60.0  # seconds; before that, what a container used is no answer to what it uses
_NANOCORES = 1_000_000_000
_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICKS = os.sysconf("SC_CLK_TCK")

ContainerName = tuple[str, str]  # the uid of the pod, the name of the container


class Sample(msgspec.Struct, frozen=True):
    """`cpu_ticks` is all that the container has used since it was started, by processes that have ended too."""

    at: float
    cpu_ticks: Mapping[ContainerName, int]
    memory: Mapping[ContainerName, int]


class UsageMeter:
    """CPU is measured between two samples, so the first report after a while waits for a moment."""

    def __init__(self) -> None:
        self._last: Sample | None = None
        self._lock = asyncio.Lock()

    async def report(self, shims: Mapping[ContainerName, int]) -> UsageReport:
        """`shims` has the process of the shim of every running container: the containers are its descendants."""
        async with self._lock:
            before = self._last
            if before is None or time.monotonic() - before.at > OLDEST_SAMPLE:
                before = await asyncio.to_thread(take_sample, shims)
            if (left := before.at + SHORTEST_WINDOW - time.monotonic()) > 0:
                await asyncio.sleep(left)
            now = self._last = await asyncio.to_thread(take_sample, shims)
            return between(before, now)


def take_sample(shims: Mapping[ContainerName, int]) -> Sample:
    ticks, memory = {}, {}
    for name, shim in shims.items():
        pids = linux.descendants(shim)
        # What a shim has waited for counts too; what it does itself is not the container's.
        ticks[name] = sum(map(_cpu_ticks, pids)) + _waited_ticks(shim)
        memory[name] = sum(map(_memory, pids))
    return Sample(time.monotonic(), ticks, memory)


def between(before: Sample, now: Sample) -> UsageReport:
    """A container that was not there before has used its time since then."""
    window = now.at - before.at
    used = [
        ContainerUsage(
            pod, name, max(0, ticks - before.cpu_ticks.get((pod, name), 0)) * _NANOCORES // round(_TICKS * window),
            now.memory[pod, name],
        )
        for (pod, name), ticks in now.cpu_ticks.items()
    ]  # fmt: skip
    return UsageReport(window, used)


def _cpu_ticks(pid: int) -> int:
    """Its own, and those of children that it has waited for."""
    fields = linux.stat_fields(pid)
    return sum(int(field) for field in fields[11:15]) if fields is not None else 0


def _waited_ticks(pid: int) -> int:
    fields = linux.stat_fields(pid)
    return sum(int(field) for field in fields[13:15]) if fields is not None else 0


def _memory(pid: int) -> int:
    """Bytes. Pages that processes share are divided among them where the kernel says how; else they count for each."""
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE
    except (OSError, ValueError, IndexError):
        return 0
