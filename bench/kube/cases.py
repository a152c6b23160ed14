"""What is measured of a scheduler: filling an empty cluster, and making room for important gangs in a full one."""

import asyncio
from collections.abc import Sequence
from functools import partial

import msgspec

from bench.kube import fleet
from bench.kube.fleet import HIGH, LOW, PER_SLICE, Gang
from bench.kube.witness import Witness
from understudy.client import KubeClient
from understudy.control.together import together

FIRST_GANGS = 64  # 1,024 pods, whose binding is timed
WANTED_SLICES = 4
SLOWEST = 4.0  # pods a second below which a scheduler is given up
LONGEST = 600.0


class Contender(msgspec.Struct, frozen=True):
    """A scheduler under test."""

    name: str
    scheduler: str  # what pods call it
    grouped: bool  # whether it understands PodGroups


class Filled(msgspec.Struct, frozen=True):
    pods: int
    seconds: float  # from the first pod created to the last one bound
    split: int  # gangs that are not in one slice

    @property
    def rate(self) -> float:
        return self.pods / self.seconds


class Preempted(msgspec.Struct, frozen=True):
    seconds: float  # from the first important pod created to the last one bound
    disturbed: int  # gangs that lost at least one pod
    broken: int  # those of them that lost some pods and kept others
    split: int  # important gangs that are not in one slice


async def fill(client: KubeClient, seen: Witness, contender: Contender, slices: int) -> Filled:
    """The first 64 gangs are timed; what else it takes to fill the cluster is not."""
    gangs = [Gang(f"low-{number}", LOW, contender.scheduler, contender.grouped) for number in range(slices)]
    timed, rest = gangs[:FIRST_GANGS], gangs[FIRST_GANGS:]
    began = asyncio.get_running_loop().time()
    await _seated(client, seen, timed)
    ended = max(pod.bound_at for pod in seen.bound())
    for batch in (rest[i : i + FIRST_GANGS] for i in range(0, len(rest), FIRST_GANGS)):
        await _seated(client, seen, batch)
    return Filled(len(timed) * PER_SLICE, ended - began, _split(seen, timed))


async def preempt(client: KubeClient, seen: Witness, contender: Contender, slices: int) -> Preempted:
    """Four important gangs come to a full cluster. Who has no notion of gangs gets the same pods."""
    low = {f"low-{number}" for number in range(slices)}
    high = [Gang(f"high-{n}", HIGH, contender.scheduler, contender.grouped) for n in range(WANTED_SLICES)]
    began = asyncio.get_running_loop().time()
    await _seated(client, seen, high)
    ended = max(pod.bound_at for gang in high for pod in seen.bound(gang.name))
    lost = seen.disturbed(low)
    broken = sum(count < PER_SLICE for count in lost.values())
    return Preempted(ended - began, len(lost), broken, _split(seen, high))


async def _seated(client: KubeClient, seen: Witness, gangs: Sequence[Gang]) -> None:
    wanted = {gang.name: gang.size for gang in gangs}
    total = sum(wanted.values())

    def all_bound() -> bool:
        return sum(pod.gang in wanted for pod in seen.bound()) >= total

    await together(partial(fleet.submit, client, gang) for gang in gangs)
    await seen.until(all_bound, min(LONGEST, 30.0 + total / SLOWEST), f"{len(gangs)} gangs, {total} pods bound")


def _split(seen: Witness, gangs: Sequence[Gang]) -> int:
    return sum(len({_slice(pod.node) for pod in seen.bound(gang.name)}) > 1 for gang in gangs)


def _slice(node: str) -> int:
    return int(node.rpartition("-")[2]) // PER_SLICE
