"""Gangs that are struck on a cluster that really runs: their seats, their processes, and what they wrote themselves."""

import contextlib
import os
import signal
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.hotswap.node_faults import families
from tests.embedded.cluster_monitor import ClusterMonitor
from tests.embedded.manifests import job
from tests.embedded.real_cluster import RealCluster, node
from tests.eventually import eventually_async
from tests.faults.live_cluster import ContainerProcess
from understudy.embedded.agent_protocol import MARK, AgentRefused
from understudy.embedded.clusters.process_lock import lock_holder
from understudy.embedded.shim import container_files, linux, node_pid_files
from understudy.embedded.shim.container_files import ShimState
from understudy.kinds.annotations import FAILED_AT
from understudy.objects.resources import INCIDENTS, JOBS, NODES, PODS

Document = dict[str, Any]

SPARE = {"understudy.dev/spare": "keep"}


def machines(count: int, spares: int) -> list[Document]:
    """n0, n1 … and s0, s1 …, with one accelerator each."""
    kept = [node(f"s{number}", gpu="1", labels=SPARE) for number in range(spares)]
    return [*(node(f"n{number}", gpu="1") for number in range(count)), *kept]


def writer(name: str, size: int, book: Path, priority: str = "") -> Document:
    """A job whose members all write into one book, again and again, which index and process they are."""
    line = f"""echo "$JOB_COMPLETION_INDEX $$$$" >> '{book}'"""  # `$$$$` in an object is `$$` in its process
    return job(name, priority, pods=size, gpus=1, program=f"while true; do {line}; sleep 0.05; done")


class GangLedger:
    """What members have written, oldest first."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def writers(self, index: str) -> list[int]:
        """The processes that wrote as this member."""
        lines = [line.split() for line in self.path.read_text().splitlines()]
        return [int(pid) for who, pid in lines if who == index]

    def last_of(self, index: str) -> int:
        return self.writers(index)[-1]

    def check_succession(self, index: str) -> None:
        """A worker that was replaced never writes again."""
        writers = self.writers(index)
        turns = [pid for pid, before in zip(writers, [0, *writers], strict=False) if pid != before]
        assert len(turns) == len(set(turns)), f"member {index} was written by {turns} in turn"


def index_of(pod: Document) -> str:
    return str(pod["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"])


def whole(monitor: ClusterMonitor, name: str, size: int, lost: Collection[str] = ()) -> list[Document]:
    """The pods of a job, by index, if all of its members run, none of them on a lost node."""
    pods = [one for one in monitor.pods_of(name) if one.get("status", {}).get("phase") != "Failed"]
    up = [one for one in pods if one.get("status", {}).get("phase") == "Running" and _seat(one) not in lost]
    return sorted(up, key=index_of) if len(up) == len(pods) == size else []


def _seat(pod: Document) -> str:
    return str(pod["spec"].get("nodeName", ""))


def seats(pods: Sequence[Document]) -> list[str]:
    return [_seat(pod) for pod in pods]


def is_said_lost(monitor: ClusterMonitor, name: str) -> bool:
    return _readiness(monitor, name) == "Unknown"


def is_well(monitor: ClusterMonitor, name: str) -> bool:
    return _readiness(monitor, name) == "True" and name not in monitor.snapshot().unhealthy


def _readiness(monitor: ClusterMonitor, name: str) -> str:
    found = (monitor.find(NODES, name) or {}).get("status", {}).get("conditions", ())
    return next((str(one["status"]) for one in found if one["type"] == "Ready"), "")


def incidents(monitor: ClusterMonitor, name: str) -> list[Document]:
    return [one for one in monitor.all(INCIDENTS) if one["spec"]["job"]["name"] == name]


def closed(monitor: ClusterMonitor, name: str, count: int) -> list[Document]:
    """The incidents of a job, if there are that many and all are over."""
    found = incidents(monitor, name)
    return found if len(found) == count and all(one["status"]["outcome"] != "open" for one in found) else []


def outcomes(monitor: ClusterMonitor, name: str) -> list[str]:
    return [one["status"]["outcome"] for one in incidents(monitor, name)]


def check_unharmed(monitor: ClusterMonitor, *names: str) -> None:
    """No member of these jobs counts as failed."""
    for name in names:
        status = (monitor.find(JOBS, name) or {})["status"]
        assert status.get("failed", 0) == 0, f"{name}: {status}"


def successor(monitor: ClusterMonitor, lost: Document) -> Document | None:
    """Who takes the place of a pod that is lost."""
    job_name = lost["metadata"]["labels"]["batch.kubernetes.io/job-name"]
    others = [one for one in monitor.pods_of(job_name) if one["metadata"]["uid"] != lost["metadata"]["uid"]]
    return next((one for one in others if index_of(one) == index_of(lost)), None)


def seated_successor(monitor: ClusterMonitor, lost: Document) -> Document | None:
    found = successor(monitor, lost)
    return found if found is not None and _seat(found) else None


def seated_nowhere(monitor: ClusterMonitor, name: str) -> bool:
    return not any(map(_seat, monitor.pods_of(name)))


def failures(monitor: ClusterMonitor, name: str) -> list[str]:
    """When a node failed, as it is written there."""
    notes = (monitor.find(NODES, name) or {"metadata": {}})["metadata"].get("annotations", {})
    return [text for text in notes.get(FAILED_AT, "").split(",") if text]


def is_gone(monitor: ClusterMonitor, pod: Document) -> bool:
    return pod["metadata"]["uid"] not in {one["metadata"]["uid"] for one in monitor.all(PODS)}


# Processes


async def lives(cluster: RealCluster, *nodes: str) -> list[ContainerProcess]:
    """The processes of these nodes and all that runs on them, be it started by an earlier agent; parents first."""
    found = await eventually_async(
        lambda: node_pid_files.running_nodes(cluster.folder.nodes), until=lambda running: running.keys() >= set(nodes)
    )
    shims = [shim for pod in cluster.monitor.all(PODS) if _seat(pod) in nodes for shim in _shims(cluster, pod)]
    pids = families([*(found[name].pid for name in nodes), *shims])
    born = {pid: linux.start_ticks(pid) for pid in pids}
    return [ContainerProcess(pid, birth) for pid, birth in born.items() if birth is not None]


def of_pods(found: Sequence[ContainerProcess]) -> list[ContainerProcess]:
    """Those of them that run for pods: not the nodes themselves, nor the shims that they have in reserve."""
    return [life for life in found if _is_marked(life.pid)]


def _is_marked(pid: int) -> bool:
    try:
        return f"{MARK}=".encode() in Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False


def _shims(cluster: RealCluster, pod: Document) -> list[int]:
    states = cluster.folder.pods.glob(f"{pod['metadata']['uid']}/containers/*/*/state.json")
    return [state.shim for path in states if (state := container_files.read(path, ShimState)) is not None]


def send(found: Sequence[ContainerProcess], number: signal.Signals) -> None:
    """To those that still live."""
    for life in found:
        with contextlib.suppress(ProcessLookupError):
            if life.goes_on():
                os.kill(life.pid, number)


async def part(cluster: RealCluster, name: str) -> int:
    """The process of a part, as soon as there is one."""
    return (await eventually_async(lambda: lock_holder(cluster.folder.processes / name))).pid


async def recover(cluster: RealCluster, name: str) -> None:
    """As soon as there is an agent to ask."""

    async def asked() -> bool:
        await cluster.recover(name)
        return True

    await eventually_async(asked, ignoring=(AgentRefused,))
    await cluster.monitor.until(f"{name} is well", lambda: is_well(cluster.monitor, name))


@contextlib.contextmanager
def held_still(pid: int) -> Iterator[None]:
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)
