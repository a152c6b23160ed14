"""Turns ledgers, jobs and events of a replay into figures, the same for every mode."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from bench.hotswap.gangs import Gang
from bench.spot.churn import MachineChurn
from bench.spot.workload import progress
from understudy.client import KubeClient
from understudy.objects.resources import EVENTS, JOBS


class Outcome(msgspec.Struct, frozen=True):
    mode: str
    steps: int
    steps_per_machine_hour: float
    evictions: int  # machines that were taken away with members on them, or from under them
    beaten: int  # of those, from which all members had moved in time
    steps_lost: int
    steps_lost_per_eviction: float
    jobs_lost: int
    preemptions: int
    machine_hours: float
    late_ms: float  # by which the driver itself was late at worst


async def outcome(client: KubeClient, mode: str, folder: Path, gangs: Sequence[Gang], churn: MachineChurn) -> Outcome:
    found = [progress(folder, gang.name) for gang in gangs]
    steps, lost = sum(one.steps for one in found), sum(one.lost for one in found)
    hit = [one for one in churn.evictions if one.hits]
    hours = churn.machine_seconds / 3600
    return Outcome(
        mode=mode,
        steps=steps,
        steps_per_machine_hour=steps / hours if hours else 0.0,
        evictions=len(hit),
        beaten=sum(one.is_beaten for one in hit),
        steps_lost=lost,
        steps_lost_per_eviction=lost / len(hit) if hit else 0.0,
        jobs_lost=lost_jobs(await _items(client, JOBS.path("default")), gangs),
        preemptions=preemptions(await _items(client, EVENTS.path("default"))),
        machine_hours=hours,
        late_ms=churn.late * 1e3,
    )


def lost_jobs(jobs: Sequence[dict[str, Any]], gangs: Sequence[Gang]) -> int:
    """Jobs that failed, or are not there any more."""
    failed = {
        job["metadata"]["name"]
        for job in jobs
        for one in job.get("status", {}).get("conditions", ())
        if one["type"] == "Failed" and one["status"] == "True"
    }
    there = {job["metadata"]["name"] for job in jobs} - failed
    return sum(gang.name not in there for gang in gangs)


def preemptions(events: Sequence[dict[str, Any]]) -> int:
    """The number of times a job had to make room for another."""
    preempted = (one for one in events if one["reason"] == "Preempted" and one["involvedObject"]["kind"] == "Job")
    return sum(max(one.get("count") or 1, (one.get("series") or {}).get("count", 1)) for one in preempted)


async def _items(client: KubeClient, path: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = msgspec.json.decode(await client.request("GET", path))["items"]
    return found
