"""A cluster of the benchmark's own, gone with everything in it when the benchmark ends, however it ends."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from bench.hotswap.gangs import ACCELERATOR
from understudy.cli.clusters.temporary import TemporaryCluster
from understudy.embedded.cluster_folder import ClusterFolder
from understudy.embedded.clusters.machine import this_machine
from understudy.embedded.clusters.nodes import pool_nodes
from understudy.embedded.clusters.pools import Pool

# Incidents come one upon the other here; in a real cluster these would hold some of them back.
LOOP: dict[str, dict[str, Any]] = {
    "policy": {
        "minRuntime": 0.0,
        "preemptionsPerHour": 1_000_000,
        "nodeCooldown": 0.0,
        "lemonFailures": 1_000_000,
        "lemonWindow": 1.0,
        "backoff": 0.0,
        "massFailureNodes": 1_000_000,
    }
}
CONDITIONS = (
    "guards are off: minRuntime, nodeCooldown, backoff 0; preemptionsPerHour, lemonFailures, massFailureNodes 1000000",
    "the next incident begins when all gangs are whole, all nodes well, and nothing has stirred for 250 ms",
)
_BUSY = "import os, sys\nwhile os.getppid() == int(sys.argv[1]): sum(range(20000))"


def pools(nodes: int, spares: int, accelerators: int) -> list[Pool]:
    """Pools with so many nodes and so many spares, each with this many accelerators."""
    offers: dict[str, Any] = {"cpu": 64, "memory": "256Gi", "accelerators": {ACCELERATOR: accelerators}}
    spare = [Pool(name="spare", count=spares, spare=True, **offers)] if spares else []
    return [Pool(name="node", count=nodes, **offers), *spare]


@contextlib.contextmanager
def cluster(
    wanted: Sequence[Pool], loop: dict[str, dict[str, Any]] = LOOP, name: str = "bench-hotswap"
) -> Iterator[ClusterFolder]:
    throwaway, well = TemporaryCluster(name, pool_nodes(wanted, this_machine()), loop), False
    try:
        throwaway.start()
        yield throwaway.folder
        well = True
    except KeyboardInterrupt:
        well = True
        raise
    finally:
        throwaway.discard(but_logs=not well)
        if not well:
            print(f"the cluster's logs are in {throwaway.folder.logs}", file=sys.stderr)


@contextlib.contextmanager
def full_load(cores: int) -> Iterator[None]:
    """Runs one busy process for each core. The processes also end when this process ends."""
    command = [sys.executable, "-c", _BUSY, str(os.getpid())]
    busy = [subprocess.Popen(command) for _ in range(cores)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def cores() -> int:
    return len(os.sched_getaffinity(0))
