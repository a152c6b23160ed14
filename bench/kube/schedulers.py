"""The schedulers that are compared: each a process of its own beside the same API server, one at a time."""

import contextlib
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator

from bench.kube.measures import Scheduler
from tests.kube.cluster.processes import HOST, Process, free_port, running, wait_until
from tests.kube.cluster.running import Cluster
from tests.kube.cluster.settings import SchedulerSettings

GATES = {"GenericWorkload": True, "TopologyAwareWorkloadScheduling": True, "PodGroupPreemptionPolicy": True}
QPS, BURST = 5000.0, 10_000  # no scheduler is slowed down by its client
READY_SECONDS = 60.0

STOCK = Scheduler("kube-scheduler", "stock", grouped=False)
GATED = Scheduler("kube-scheduler, gates on", "gated", grouped=True)
OURS = Scheduler("understudy", "understudy", grouped=True)
CONTENDERS = {contender.scheduler: contender for contender in (STOCK, GATED, OURS)}


@contextlib.contextmanager
def started(cluster: Cluster, contender: Scheduler) -> Iterator[Process]:
    if contender is OURS:
        with _ours(cluster) as process:
            yield process
        return
    gates = GATES if contender is GATED else dict.fromkeys(GATES, False)
    with cluster.scheduler(SchedulerSettings(name=contender.scheduler, gates=gates, qps=QPS, burst=BURST)) as process:
        yield process


@contextlib.contextmanager
def _ours(cluster: Cluster) -> Iterator[Process]:
    port = free_port()
    command = [
        sys.executable,
        "-m",
        "understudy",
        "serve",
        f"--kubeconfig={cluster.kubeconfig}",
        f"--listen={HOST}:{port}",
        "--lease-namespace=kube-system",
    ]
    with running(command, cluster.plane.log("understudy"), name="understudy") as process:
        wait_until(lambda: _leads(port), "understudy leads", READY_SECONDS, [process])
        yield process


def _leads(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://{HOST}:{port}/metrics", timeout=5) as answer:
            return b"\nunderstudy_leader 1\n" in answer.read()
    except (urllib.error.URLError, OSError):
        return False
