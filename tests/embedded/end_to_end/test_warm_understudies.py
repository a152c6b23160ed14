"""What a user lives through with warm understudies: a node dies, and the process that held is the rank that lacks."""

import sys
from pathlib import Path

from tests.embedded.cluster_monitor import ClusterMonitor, Document
from tests.embedded.end_to_end.test_jobs import condition, log_of, running
from tests.embedded.end_to_end.training_manifests import role, torch
from tests.embedded.real_cluster import RealCluster, node, play
from tests.eventually import eventually_async
from understudy.embedded.agent.containers.attempts import state_of
from understudy.embedded.shim.pod_folders import pod_folder
from understudy.kinds.annotations import STEPS_IN, WARM
from understudy.kinds.training_operator.pytorchjob import PYTORCH_JOBS
from understudy.objects.resources import PODS

CODE = """
import json, os, socket, time
devices, name = os.environ["CUDA_VISIBLE_DEVICES"], socket.gethostname()
print("rank", os.environ["RANK"], os.getpid(), devices, name, socket.gethostbyname("train-worker-0"), flush=True)
time.sleep(3600)
"""
PROGRAM = [sys.executable, "-c", CODE]
NODES_OF_THE_STORY = [
    *(node(name, gpu="1") for name in ("a", "b")),
    *(node(name, gpu="1", labels={"understudy.dev/spare": "keep"}) for name in ("s0", "s1")),
]


def job() -> Document:
    master = role(PROGRAM, restart="OnFailure", gpus=1)
    document = torch("train", master, role(PROGRAM, restart="OnFailure", gpus=1))
    document["metadata"]["annotations"] = {WARM: "1"}
    return document


def understudy(monitor: ClusterMonitor, but: str = "") -> Document | None:
    """The one that is ready, and is not the one with this uid."""
    pod = monitor.find(PODS, "train-warm-0")
    return pod if pod and pod["metadata"]["uid"] != but and condition(pod, "Ready").get("status") == "True" else None


def pid_of(cluster: RealCluster, pod: Document) -> int:
    state = state_of(pod_folder(cluster.folder.pods, pod["metadata"]["uid"]).attempt("pytorch", 0))
    assert state is not None
    return state.pid


def test_the_understudy_of_a_lost_member_is_that_member_at_once(tmp_path: Path) -> None:
    async def scenario(cluster: RealCluster) -> None:
        monitor = cluster.monitor
        await cluster.create(job())
        await monitor.until("the job runs", lambda: running(monitor, "train", 2))
        ready = await monitor.until("its understudy", lambda: understudy(monitor))
        seat, pid = ready["spec"]["nodeName"], pid_of(cluster, ready)
        assert seat in ("s0", "s1")
        lost = monitor.find(PODS, "train-worker-0")
        assert lost is not None
        await cluster.fail(lost["spec"]["nodeName"])
        found = await monitor.until("a new worker", lambda: _another(monitor, lost["metadata"]["uid"]))
        assert found["metadata"]["annotations"][STEPS_IN] == ready["metadata"]["uid"]
        assert found["spec"]["nodeName"] == seat
        words = await _rank(cluster, found)
        number = {"s0": "2", "s1": "3"}[seat]
        assert words == ["rank", "1", str(pid), number, "train-worker-0", found["status"]["podIP"]]
        [told] = await monitor.until("it is told", lambda: monitor.told("SteppedIn", "Pod", "train-worker-0"))
        assert told == f"Understudy train-warm-0 steps in on node {seat}"
        again = await monitor.until("a new understudy", lambda: understudy(monitor, but=ready["metadata"]["uid"]))
        assert again["spec"]["nodeName"] == {"s0": "s1", "s1": "s0"}[seat]
        await cluster.delete(PYTORCH_JOBS, "train", propagation="Background")
        await monitor.until("no pod is left", lambda: not monitor.all(PODS) or None)

    play(tmp_path, NODES_OF_THE_STORY, scenario)


def _another(monitor: ClusterMonitor, uid: str) -> Document | None:
    return next((pod for pod in running(monitor, "train-worker-0") if pod["metadata"]["uid"] != uid), None)


async def _rank(cluster: RealCluster, pod: Document) -> list[str]:
    """The words of its line, once the line is whole."""
    log = await eventually_async(lambda: log_of(cluster, pod), until=lambda log: "rank" in log.rpartition("\n")[0])
    return log.split()
