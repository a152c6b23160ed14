"""The scheduler that is timed, in a fresh process: from its start to its first plan, then under events.

Prints one JSON line. It is made of the parts that a container runs: client, view, scheduling loop.
"""

import argparse
import asyncio
import resource
import time
from typing import Any

import msgspec
import uvloop

from understudy.client import KubeClient
from understudy.client.config import Config
from understudy.control.clock import SystemClock
from understudy.control.loop import Cycle, SchedulingLoop
from understudy.kube.counting_client import CountingClient
from understudy.kube.garbage_collector import freeze_after_sync
from understudy.kube.server import ServeOptions
from understudy.model.plans import Start

SETTLE = 10  # tenths of a second of quiet before events are pushed
TAIL = 0.5  # seconds in which the last ones are dealt with
PATIENCE = 120.0


class Phase(msgspec.Struct, frozen=True):
    """Events of one sort, so many a second for so long."""

    sort: str
    rate: float
    seconds: float


class Subject:
    def __init__(self, began: float) -> None:
        self._began = began
        self._planned = asyncio.Event()
        self.marks: dict[str, Any] = {}

    async def run(self, config: Config, phases: list[Phase]) -> None:
        self._mark("imported")
        async with KubeClient(config) as client:
            loop = SchedulingLoop(CountingClient(client), SystemClock(), ServeOptions(config=config).loop, self._heard)
            running = asyncio.create_task(loop.run())
            apart = asyncio.create_task(freeze_after_sync(lambda: loop.status.synced))
            waiting = asyncio.create_task(self._planned.wait())
            await asyncio.wait([running, waiting], return_when=asyncio.FIRST_COMPLETED, timeout=PATIENCE)
            if running.done():
                running.result()
            self.marks["first_bind"] = await _first_bind(client) - self._began
            await _rest(loop)
            self._mark("settled")
            self.marks["events"] = {phase.sort: await _under(client, phase) for phase in phases}
            self.marks["peak_mb"] = most_resident()
            running.cancel()
            apart.cancel()
            await asyncio.gather(running, apart, return_exceptions=True)

    def _heard(self, cycle: Cycle) -> None:
        if self._planned.is_set():
            return
        self._mark("first_plan")
        self.marks["starts"] = sum(isinstance(action, Start) for action in cycle.plan.actions)
        self.marks["gangs"], self.marks["nodes"] = len(cycle.snapshot.gangs), len(cycle.snapshot.nodes)
        self._planned.set()

    def _mark(self, name: str) -> None:
        self.marks[name] = time.monotonic() - self._began
        self.marks[f"{name}_cpu"] = time.process_time()
        self.marks[f"{name}_mb"] = resident()


async def _first_bind(client: KubeClient) -> float:
    """The time at which the first binding reached the server, by a clock that all processes share."""
    async with asyncio.timeout(PATIENCE):
        while (seen := await _seen(client))["first_bind"] is None:
            await asyncio.sleep(0.05)
    return float(seen["first_bind"])


async def _rest(loop: SchedulingLoop) -> None:
    """Waits until the scheduler has had nothing to do for a while, leases aside."""
    quiet = 0
    async with asyncio.timeout(PATIENCE):
        while quiet < SETTLE:
            await asyncio.sleep(0.1)
            quiet = quiet + 1 if loop.at_rest else 0


async def _under(client: KubeClient, phase: Phase) -> dict[str, Any]:
    cpu, began = time.process_time(), time.monotonic()
    seen = await _seen(client, f"?sort={phase.sort}&rate={phase.rate}&seconds={phase.seconds}")
    await asyncio.sleep(TAIL)
    spent, took = time.process_time() - cpu, time.monotonic() - began
    return {"pushed": seen["pushed"], "cpu_seconds": spent, "wall_seconds": took}


async def _seen(client: KubeClient, query: str = "") -> dict[str, Any]:
    seen: dict[str, Any] = msgspec.json.decode(await client.request("GET", f"/bench/events{query}"))
    return seen


def resident() -> float:
    """Megabytes of memory that this process has now."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 1e6


def most_resident() -> float:
    """The peak of resident memory. The figure of getrusage would include the process that this one was forked from."""
    with open("/proc/self/status") as file:
        [kilobytes] = [line.split()[1] for line in file if line.startswith("VmHWM:")]
    return int(kilobytes) / 1e3


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--began", type=float, required=True, help="when this process was asked for, by the clock")
    parser.add_argument("--phase", action="append", default=[], help="sort:rate:seconds")
    options = parser.parse_args()
    subject = Subject(options.began)
    asked = [Phase(sort, float(rate), float(secs)) for sort, rate, secs in (p.split(":") for p in options.phase)]
    serving = ServeOptions(config=Config(server=f"http://127.0.0.1:{options.port}"))
    uvloop.run(subject.run(serving.working, asked))  # a quiet watch must not make the view old, as in a container
    print(msgspec.json.encode(subject.marks).decode())
