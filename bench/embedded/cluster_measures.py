"""Measures a whole cluster: the time until it is up, the time until pods run, and the memory it takes."""

import asyncio
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import uvloop

from bench.embedded.api_measures import Figures, quantile
from bench.embedded.servers import resident_bytes
from understudy.client import KubeClient, connect
from understudy.objects.pods import Pod
from understudy.objects.resources import PODS
from understudy.ports import ChangeType, Ref

UNDERSTUDY = (sys.executable, "-m", "understudy")
NAME = "bench"
_SMALL = """\
pools:
  - {name: node, count: 4, cpu: 64, memory: 256Gi, pods: 1000}
"""
_LARGE = """\
pools:
  - {name: node, count: %d, cpu: 64, memory: 256Gi, accelerators: {nvidia.com/gpu: 8}}
"""


class Cluster(msgspec.Struct, frozen=True):
    home: Path
    kubeconfig: Path

    def resident_bytes(self) -> dict[str, int]:
        """The resident memory of each component."""
        status = msgspec.json.decode(_understudy(self.home, "status", "-o", "json"))
        (cluster,) = status["clusters"]
        return {part: resident_bytes(facts["pid"]) for part, facts in cluster["parts"].items()}


@contextlib.contextmanager
def cluster(file: str) -> Iterator[Cluster]:
    with tempfile.TemporaryDirectory() as place:
        home = Path(place)
        (home / "cluster.yaml").write_text(file)
        try:
            _understudy(home, "up", "--detach", "--name", NAME, "-f", str(home / "cluster.yaml"), "--wait", "120")
            yield Cluster(home, home / "clusters" / NAME / "kubeconfig")
        finally:
            _understudy(home, "down", "--name", NAME, "--now")


def _understudy(home: Path, *arguments: str) -> bytes:
    environment = {**os.environ, "UNDERSTUDY_HOME": str(home)}
    command = [*UNDERSTUDY, *arguments]
    return subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, timeout=600).stdout


def _pod(name: str, command: str) -> dict[str, Any]:
    container = {"name": "main", "image": "none", "command": ["sh", "-c", command]}
    spec = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 0, "containers": [container]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def first_pod() -> Figures:
    """The time from the start of `understudy up` until the first pod is seen to run."""
    began = time.perf_counter()
    with cluster(_SMALL) as made:
        up = time.perf_counter() - began
        uvloop.run(_run(made, [_pod("first", "exec sleep 600")]))
        return {"up_seconds": up, "first_pod_seconds": time.perf_counter() - began}


async def _run(made: Cluster, pods: list[dict[str, Any]]) -> None:
    """Creates the pods, eight at a time, and returns when all have been seen to run."""
    async with connect(made.kubeconfig) as client, asyncio.TaskGroup() as group:
        group.create_task(_all_running(client, {pod["metadata"]["name"] for pod in pods}))
        waiting = iter(pods)

        async def creator() -> None:
            for pod in waiting:
                await client.create(Ref(PODS, "default"), pod)

        for _ in range(8):
            group.create_task(creator())


async def _all_running(client: KubeClient, names: set[str]) -> None:
    left = set(names)
    async for change in client.follow(PODS, namespace="default"):
        if change.type in (ChangeType.ADDED, ChangeType.MODIFIED):
            pod = msgspec.json.decode(change.raw, type=Pod)
            if pod.status.phase == "Running":
                left.discard(pod.metadata.name)
        if not left:
            return


def applied_to_running(count: int) -> Figures:
    """Starts one pod after the other. Times from the request, and from the start of kubectl, to the container's first
    command."""
    with cluster(_SMALL) as made, tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        figures = _quantiles("request_to_process", uvloop.run(_requested(made, folder, count)))
        if kubectl := shutil.which("kubectl"):
            figures |= _quantiles("kubectl_to_process", _applied(kubectl, made, folder, count))
        return figures


def _quantiles(name: str, seconds: list[float]) -> Figures:
    ordered = sorted(seconds)
    return {f"{name}_{label}_ms": quantile(ordered, part) * 1e3 for label, part in (("p50", 0.5), ("p99", 0.99))}


def _reporting_pod(name: str, folder: Path) -> dict[str, Any]:
    """A pod that says when it began, by a clock the whole machine shares."""
    file = folder / name
    return _pod(name, f"date +%s.%N > {file}.part && mv {file}.part {file}; exec sleep 600")


async def _requested(made: Cluster, folder: Path, count: int) -> list[float]:
    delays = []
    async with connect(made.kubeconfig) as client:
        for number in range(count):
            name = f"asked-{number}"
            sent = time.time()
            await client.create(Ref(PODS, "default"), _reporting_pod(name, folder))
            delays.append(await _time_written(folder / name) - sent)
            await client.delete(Ref(PODS, "default", name), grace=0)
    return delays


async def _time_written(file: Path) -> float:
    deadline = time.monotonic() + 30
    while not file.exists():
        if time.monotonic() > deadline:
            raise RuntimeError(f"the process of {file.name} did not begin within 30 s")
        await asyncio.sleep(0.002)
    return float(file.read_text())


def _applied(kubectl: str, made: Cluster, folder: Path, count: int) -> list[float]:
    delays = []
    command = [kubectl, f"--kubeconfig={made.kubeconfig}"]
    for number in range(count):
        name = f"applied-{number}"
        body = msgspec.json.encode(_reporting_pod(name, folder))
        sent = time.time()
        subprocess.run([*command, "apply", "-f", "-"], input=body, check=True, stdout=subprocess.DEVNULL, timeout=60)
        delays.append(asyncio.run(_time_written(folder / name)) - sent)
        subprocess.run([*command, "delete", "pod", name, "--now", "--wait=false"], check=True, capture_output=True)
    return delays


def held(nodes: int, pods: int) -> Figures:
    """A cluster with so many virtual nodes and running pods, each a real process: how long it took, what it holds."""
    began = time.perf_counter()
    with cluster(_LARGE % nodes) as made:
        up = time.perf_counter() - began
        began = time.perf_counter()
        uvloop.run(_run(made, [_pod(f"held-{number}", "exec sleep 3600") for number in range(pods)]))
        running = time.perf_counter() - began
        parts = made.resident_bytes()
        return {
            f"up_with_{nodes}_nodes_seconds": up,
            f"{pods}_pods_running_after_seconds": running,
            **{f"{part}_resident_mb": size / 1e6 for part, size in parts.items()},
        }
