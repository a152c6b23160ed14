"""One replay: a cluster of spot and on-demand machines, jobs on it, and the churn of a trace in one mode."""

import asyncio
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import uvloop

from bench.hotswap import bench_cluster, gangs
from bench.hotswap.gangs import ACCELERATOR, Gang
from bench.spot.churn import MachineChurn, steps_of
from bench.spot.modes import Mode, loop_of
from bench.spot.outcome import Outcome, outcome
from bench.spot.traces import Churn
from bench.spot.workload import Pace, progress
from bench.spot.workload import gangs as gangs_of
from understudy.client import KubeClient, connect
from understudy.embedded.cluster_folder import ClusterFolder
from understudy.embedded.clusters.pools import Pool
from understudy.ports import Ref

START_SECONDS, LOOK = 60.0, 0.05


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """`events` are clipped to the spot machines, sped up, and cut to `seconds`."""

    events: Sequence[Churn]
    spot: Sequence[str]
    on_demand: int
    sizes: Sequence[int]  # of the jobs
    seconds: float
    speed: float
    notice: float
    pace: Pace = Pace()


class NeverStarted(Exception):
    """Jobs that fit did not start."""


def machines(count: int) -> list[str]:
    return [f"spot-{number}" for number in range(count)]


def _pools(setting: Setting) -> list[Pool]:
    offers: dict[str, Any] = {"cpu": 64, "memory": "256Gi", "accelerators": {ACCELERATOR: 1}}
    stay = [Pool(name="on-demand", count=setting.on_demand, **offers)] if setting.on_demand else []
    return [Pool(name="spot", count=len(setting.spot), spot=True, **offers), *stay]


def replay(setting: Setting, mode: Mode) -> Outcome:
    loop = loop_of(mode, setting.speed)
    with (
        tempfile.TemporaryDirectory(prefix="understudy-bench-") as place,
        bench_cluster.cluster(_pools(setting), loop, "bench-spot") as folder,
    ):
        return uvloop.run(_played(setting, mode, folder, Path(place)))


async def _played(setting: Setting, mode: Mode, folder: ClusterFolder, place: Path) -> Outcome:
    jobs = gangs_of(place, setting.sizes, setting.pace)
    there = [event.machine for event in setting.events if event.at == 0 and event.appears]
    later = [event for event in setting.events if event.at > 0]
    async with connect(folder.kubeconfig) as client:
        churn = MachineChurn(client, folder, mode)
        await churn.begin(setting.spot, there)
        await _submit(client, jobs)
        await _important_one_runs(place, jobs[0], len(there) + setting.on_demand)
        steps = steps_of(later, setting.notice if mode.noticed else None)
        on_demand = [f"on-demand-{number}" for number in range(setting.on_demand)]
        await churn.run(steps, setting.seconds, [*there, *on_demand])
        return await outcome(client, mode.name, place, jobs, churn)


async def _submit(client: KubeClient, jobs: Sequence[Gang]) -> None:
    for resource, document in [*gangs.priority_classes(), *(gangs.document(gang, "job") for gang in jobs)]:
        await client.create(Ref(resource, "default" if resource.namespaced else ""), document)


async def _important_one_runs(place: Path, gang: Gang, seats: int) -> None:
    """The trace begins when the first job works, where there is room for it."""
    deadline = time.monotonic() + START_SECONDS
    while gang.size <= seats and not progress(place, gang.name).steps:
        if time.monotonic() > deadline:
            raise NeverStarted(f"{gang.name} has not done a step within {START_SECONDS:.0f} s")
        await asyncio.sleep(LOOK)
