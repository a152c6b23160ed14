"""`python -m bench.hotswap.invariant_monitor KUBECONFIG`: watches a cluster during repairs, and reports violations.

It reads the API and /proc and nothing else. On its input it is told which nodes are about to fail, a line of JSON
each: `["node-0", "node-1"]`. When that ends it prints its verdict, as JSON.
"""

import argparse
import asyncio
import contextlib
import os
import sys
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from pathlib import Path

import msgspec
import uvloop

from bench.hotswap import api_objects
from bench.hotswap.invariants import KINDS, InvariantChecker
from bench.hotswap.process_table import ProcessTable, is_living
from understudy.client import KubeClient, connect
from understudy.kinds.training_operator.pytorchjob import PYTORCH_JOBS
from understudy.objects.resources import JOB_SETS, JOBS, PODS, Resource
from understudy.ports import Change, ChangeType

EVERY = 0.02  # seconds between two looks at /proc
_MEEK = 19  # its niceness: the observer must not slow the cluster down
_KINDS = (JOBS, JOB_SETS, PYTORCH_JOBS)


class Verdict(msgspec.Struct, frozen=True):
    violations: dict[str, int]
    described: list[str]
    looks: int  # at /proc

    @property
    def clean(self) -> bool:
        return not any(self.violations.values())


class Monitor:
    """The monitor as seen from the benchmark: a process beside it."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def warn(self, nodes: Iterable[str]) -> None:
        """Announces nodes that are about to fail; returns when the monitor knows them."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(msgspec.json.encode(sorted(nodes)) + b"\n")
        await self._process.stdin.drain()
        await self._process.stdout.readline()

    async def verdict(self) -> Verdict:
        said, _ = await self._process.communicate(b"")  # and nothing more will come
        return msgspec.json.decode(said, type=Verdict)


@contextlib.asynccontextmanager
async def monitoring(kubeconfig: Path) -> AsyncIterator[Monitor]:
    pipe = asyncio.subprocess.PIPE
    command = (sys.executable, "-m", "bench.hotswap.invariant_monitor", str(kubeconfig))
    process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, start_new_session=True)
    try:
        assert process.stdout is not None
        if await process.stdout.readline() != b"ready\n":
            raise RuntimeError("the monitor could not begin")
        yield Monitor(process)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def monitor_cluster(client: KubeClient, orders: asyncio.StreamReader) -> Verdict:
    checker, looks = InvariantChecker(), 0
    synced = {resource: asyncio.Event() for resource in (PODS, *_KINDS)}
    tasks = [asyncio.create_task(_follow(client, checker, resource, synced[resource])) for resource in synced]
    await asyncio.gather(*(event.wait() for event in synced.values()))
    print("ready", flush=True)
    ended = asyncio.create_task(_listen(checker, orders))
    process_table = ProcessTable()
    while not ended.done():
        _look(checker, process_table)
        looks += 1
        if late := checker.uneven(time.monotonic()):
            there, held = await _pods(client), await _held(client)
            for name in late:
                checker.ask_again(name, there, held.get(name, frozenset()))
        await asyncio.wait([ended, *tasks], timeout=EVERY, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            if task.done():
                task.result()
    checker.end(await _pods(client))
    for task in tasks:
        task.cancel()
    return Verdict(checker.counts(), [f"{kind}: {words}" for kind, words in checker.violations], looks)


async def _pods(client: KubeClient) -> list[api_objects.Pod]:
    return api_objects.pods(await client.request("GET", PODS.path())).items


async def _held(client: KubeClient) -> dict[str, frozenset[str]]:
    """By job, the members for which seats are held now."""
    found = [api_objects.jobs(await client.request("GET", resource.path())).items for resource in _KINDS]
    return {job.metadata.name: job.held for jobs in found for job in jobs}


def _look(checker: InvariantChecker, process_table: ProcessTable) -> None:
    """Looks twice, since two processes that never lived at the same moment may both be found in one look."""
    living = process_table.look()
    for suspicion in list(checker.processes(living, time.monotonic(), time.time())):
        if all(any(map(is_living, living[uid])) for uid in suspicion[2:]):
            checker.report_violation(suspicion)


async def _listen(checker: InvariantChecker, orders: asyncio.StreamReader) -> None:
    while line := await orders.readline():
        checker.fail(msgspec.json.decode(line, type=list[str]))
        print("known", flush=True)


async def _follow(client: KubeClient, checker: InvariantChecker, resource: Resource, synced: asyncio.Event) -> None:
    async for change in client.follow(resource):
        if change.type is ChangeType.SYNCED:
            synced.set()
        elif resource is PODS:
            checker.pod(api_objects.pod(change.raw), change.type is ChangeType.DELETED, time.monotonic())
        else:
            _job(checker, resource, change)


def _job(checker: InvariantChecker, resource: Resource, change: Change) -> None:
    job = api_objects.job(change.raw)
    gone = change.type is ChangeType.DELETED
    checker.job(f"{resource.kind} {job.metadata.name}", job, gone, time.monotonic())


async def _input() -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    return reader


def main(arguments: Sequence[str] | None = None) -> None:
    meanings = "; ".join(f"{kind}: {meaning}" for kind, meaning in KINDS.items())
    parser = argparse.ArgumentParser(
        prog="python -m bench.hotswap.invariant_monitor", description=__doc__, epilog=meanings
    )
    parser.add_argument("kubeconfig", help="of the cluster to look at")
    options = parser.parse_args(arguments)
    os.nice(_MEEK)

    async def seen() -> Verdict:
        async with connect(options.kubeconfig) as client:
            return await monitor_cluster(client, await _input())

    print(msgspec.json.encode(uvloop.run(seen())).decode(), flush=True)


if __name__ == "__main__":
    main()
