"""Measures a scheduler: filling an empty cluster, and making room for important gangs in a full one."""

import asyncio
from collections.abc import Sequence
from functools import partial

import msgspec

from bench.kube import workload
from bench.kube.binding_watch import BindingWatch
from bench.kube.workload import HIGH, LOW, PER_SLICE, Gang
from understudy.client import KubeClient
from understudy.control.concurrency import run_all

FIRST_GANGS = 64  # 1,024 pods, whose binding is timed
WANTED_SLICES = 4
SLOWEST = 4.0  # pods a second below which a scheduler is given up
LONGEST = 600.0
SLOWEST_REPORTS = 10.0  # pods a second whose statuses KWOK reports on a loaded machine
CALM = 5.0  # seconds in which a scheduler may write what it put off, such as events


class Scheduler(msgspec.Struct, frozen=True):
    """A scheduler under test."""

    name: str
    scheduler: str  # what pods call it
    grouped: bool  # whether it understands PodGroups


class Round(msgspec.Struct, frozen=True):
    """One contender's turn on the cluster. Its number is in the names of its gangs, so no other round has had them."""

    contender: Scheduler
    number: int
    busy_loops: int = 0  # processes that keep CPUs busy meanwhile

    def low(self, slices: int) -> list[Gang]:
        return [self._gang(f"low-{number}", LOW) for number in range(slices)]

    def high(self) -> list[Gang]:
        return [self._gang(f"high-{number}", HIGH) for number in range(WANTED_SLICES)]

    def _gang(self, name: str, priority: str) -> Gang:
        unique = f"{self.contender.scheduler}-{self.number}-{name}"
        return Gang(unique, priority, self.contender.scheduler, self.contender.grouped)


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


async def fill(client: KubeClient, seen: BindingWatch, turn: Round, slices: int) -> Filled:
    """Fills the cluster. Only the first 64 gangs are timed."""
    gangs = turn.low(slices)
    timed, rest = gangs[:FIRST_GANGS], gangs[FIRST_GANGS:]
    began = asyncio.get_running_loop().time()
    await _seated(client, seen, timed)
    ended = _last_bound(seen, timed)
    for batch in (rest[i : i + FIRST_GANGS] for i in range(0, len(rest), FIRST_GANGS)):
        await _seated(client, seen, batch)
    return Filled(len(timed) * PER_SLICE, ended - began, _split(seen, timed))


async def calm_down(seen: BindingWatch, turn: Round, slices: int) -> None:
    """The queue of KWOK is empty, and the scheduler had time for what it put off.

    KWOK takes up one change after the other. Victims would leave only after it has reported all pods that were bound
    before, and a scheduler that binds faster would wait longer for them.
    """
    names = [gang.name for gang in turn.low(slices)]
    seconds = 60.0 + slices * PER_SLICE / SLOWEST_REPORTS
    await seen.until(lambda: seen.all_run(names), seconds, f"{slices * PER_SLICE} pods run")
    await asyncio.sleep(CALM)


async def preempt(client: KubeClient, seen: BindingWatch, turn: Round, slices: int) -> Preempted:
    """Four important gangs come to a full cluster. Who has no notion of gangs gets the same pods."""
    low, high = {gang.name for gang in turn.low(slices)}, turn.high()
    began = asyncio.get_running_loop().time()
    await _seated(client, seen, high)
    ended = _last_bound(seen, high)
    lost = seen.disturbed(low)
    broken = sum(count < PER_SLICE for count in lost.values())
    return Preempted(ended - began, len(lost), broken, _split(seen, high))


async def _seated(client: KubeClient, seen: BindingWatch, gangs: Sequence[Gang]) -> None:
    total = sum(gang.size for gang in gangs)

    def all_bound() -> bool:
        return all(len(seen.bound(gang.name)) >= gang.size for gang in gangs)

    await run_all(partial(workload.submit, client, gang) for gang in gangs)
    await seen.until(all_bound, min(LONGEST, 30.0 + total / SLOWEST), f"{len(gangs)} gangs, {total} pods bound")


def _last_bound(seen: BindingWatch, gangs: Sequence[Gang]) -> float:
    return max(pod.bound_at for gang in gangs for pod in seen.bound(gang.name))


def _split(seen: BindingWatch, gangs: Sequence[Gang]) -> int:
    return sum(len({_slice(pod.node) for pod in seen.bound(gang.name)}) > 1 for gang in gangs)


def _slice(node: str) -> int:
    return int(node.rpartition("-")[2]) // PER_SLICE
