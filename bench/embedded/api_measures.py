"""Measures one API server: each function does something to it, and returns how long that took."""

import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from bench.embedded.http_client import Line, Target, lines_to, saved
from bench.embedded.load import pod
from bench.embedded.servers import Running

Figures = dict[str, float]
CONNECTIONS = 32
WATCHERS = 10


def creates(running: Running, count: int) -> Figures:
    """The creates a second over 32 connections, while 10 watchers are connected."""
    made, seen = _created(running, f"burst-{count}", count, pace=0.0)
    latencies = made["latencies"]
    return {
        "creates_per_second": made["created"] / made["seconds"],
        "create_p50_ms": quantile(latencies, 0.50) * 1e3,
        "create_p99_ms": quantile(latencies, 0.99) * 1e3,
        "watch_burst_p99_ms": quantile(seen["delays"], 0.99) * 1e3,
    }


def watching(running: Running, count: int, pace: float) -> Figures:
    """The time from sending a create until each of 10 watchers has its event: the way through the store."""
    made, seen = _created(running, "paced", count, pace)
    delays = seen["delays"]
    return {
        "paced_create_p99_ms": quantile(made["latencies"], 0.99) * 1e3,
        "watch_p50_ms": quantile(delays, 0.50) * 1e3,
        "watch_p99_ms": quantile(delays, 0.99) * 1e3,
    }


def _created(running: Running, prefix: str, count: int, pace: float) -> tuple[dict[str, Any], dict[str, Any]]:
    since = asyncio.run(_revision(running.target))
    with tempfile.TemporaryDirectory() as place:
        target = str(saved(running.target, Path(place) / "target.json"))
        watch = [sys.executable, "-m", "bench.embedded.watch_latency", target, f"--since={since}", f"--count={count}"]
        load = [sys.executable, "-m", "bench.embedded.load", target, f"--prefix={prefix}", f"--count={count}"]
        load += [f"--connections={CONNECTIONS}", f"--pace={pace}"]
        result = Path(place) / "seen.json"
        watch += [f"--watchers={WATCHERS}", f"--result={result}"]
        watchers = subprocess.Popen(watch, stdout=subprocess.PIPE)
        try:
            assert watchers.stdout is not None
            if watchers.stdout.readline() != b"ready\n":
                raise RuntimeError("the watchers could not begin")
            made = msgspec.json.decode(subprocess.run(load, check=True, stdout=subprocess.PIPE, timeout=600).stdout)
            watchers.communicate(timeout=60)
            seen = msgspec.json.decode(result.read_bytes())
        finally:
            watchers.kill()
            watchers.wait()
    if len(seen["delays"]) != count * WATCHERS:
        raise RuntimeError(f"{count * WATCHERS} events were due, {len(seen['delays'])} came")
    return made, seen


async def _revision(target: Target) -> str:
    async with lines_to(target, 1) as (line,):
        answer = await line.ask(target.request("GET", "/api/v1/namespaces/default/pods?limit=1"))
    return str(msgspec.json.decode(answer.body)["metadata"]["resourceVersion"])


def lists(running: Running, sizes: Sequence[int], repeats: int = 20) -> Figures:
    """Lists of pods of a namespace each, made beforehand."""
    return asyncio.run(_lists(running.target, sizes, repeats))


async def _lists(target: Target, sizes: Sequence[int], repeats: int) -> Figures:
    figures: Figures = {}
    for size in sizes:
        space = f"list-{size}"
        await _fill(target, space, size)
        times = []
        async with lines_to(target, 1) as (line,):
            for _ in range(repeats):
                request = target.request("GET", f"/api/v1/namespaces/{space}/pods")
                began = time.perf_counter()
                answer = await line.ask(request)
                times.append(time.perf_counter() - began)
        if len(msgspec.json.decode(answer.body)["items"]) != size:
            raise RuntimeError(f"a list of {size} pods was not whole")
        figures[f"list_{size}_ms"] = quantile(sorted(times), 0.5) * 1e3
    return figures


async def _fill(target: Target, space: str, size: int) -> None:
    numbers = iter(range(size))

    async def worker(line: Line) -> None:
        for number in numbers:
            made = msgspec.json.encode(pod(f"pod-{number}"))
            answer = await line.ask(target.request("POST", f"/api/v1/namespaces/{space}/pods", made))
            if answer.status != 201:
                raise RuntimeError(f"a create was answered {answer.status}: {answer.body[:300]!r}")

    async with lines_to(target, CONNECTIONS) as lines:
        body = msgspec.json.encode({"metadata": {"name": space}})
        await lines[0].ask(target.request("POST", "/api/v1/namespaces", body))
        await asyncio.gather(*(worker(line) for line in lines))


def memory(running: Running, count: int) -> Figures:
    """The server's resident memory after so many new pods have been created."""
    asyncio.run(_fill(running.target, "memory", count))
    return {f"resident_mb_at_{count}_pods": running.resident_bytes() / 1e6}


def quantile(ordered: Sequence[float], part: float) -> float:
    """The value that this share of the values, sorted ascending, does not exceed."""
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]
