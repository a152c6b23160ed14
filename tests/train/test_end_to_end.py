"""Training code in a cluster: it learns of its end by the signal it asked for, and its job of its checkpoints."""

import sys
import time
from pathlib import Path

from tests.embedded.cluster_monitor import ClusterMonitor, Document
from tests.embedded.end_to_end.test_jobs import condition, running
from tests.embedded.manifests import job, jobset
from tests.embedded.real_cluster import RealCluster, Setup, node, play
from understudy.kinds.annotations import NOTICE, PREFIX, format_notice
from understudy.model.nodes import Notice
from understudy.objects.resources import INCIDENTS, JOB_SETS, JOBS, NODES

ROOT = Path(__file__).parents[2]
# Counts until a file is there.
SCRIPT = """
import pathlib, sys, time
from understudy import train
folder, go = map(pathlib.Path, sys.argv[1:])
count = 0

def write(path):
    path.write_text(str(count))

def read(path):
    global count
    count = int(path.read_text())

with train.Checkpoints(folder / "checkpoints", write, read, every_steps=20) as checkpoints:
    begin = checkpoints.resume()
    assert begin == count
    (folder / "begins").open("a").write(f"{begin}\\n")
    while not go.exists():
        time.sleep(0.01)
        count += 1
        if stop := train.stopping():
            (folder / "told").write_text(f"{stop.reason} {stop.deadline - stop.at:.1f}")
        checkpoints.after(count)
"""


def counting(folder: Path, go: Path) -> Document:
    document = jobset("counts", 1, job("counts", "low", gpus=1))
    template = document["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    template["metadata"] = {"annotations": {f"{PREFIX}checkpoint-signal": "SIGUSR1"}}
    template["spec"]["terminationGracePeriodSeconds"] = 17
    [container] = template["spec"]["containers"]
    container["command"] = [sys.executable, "-c", SCRIPT, str(folder), str(go)]
    container["env"] = [{"name": "PYTHONPATH", "value": str(ROOT)}]
    return document


def test_a_preempted_job_says_when_it_saved_and_goes_on(tmp_path: Path) -> None:
    go = tmp_path / "go"

    async def scenario(cluster: RealCluster) -> None:
        monitor = cluster.monitor
        await cluster.priorities(low=1, high=2)
        await cluster.create(counting(tmp_path, go))
        await monitor.until("it runs", lambda: running(monitor, "counts"))
        await monitor.until("it has saved and said so", lambda: checkpoint_at(cluster))
        await cluster.create(job("hero", "high", gpus=1))
        await monitor.until("the hero runs", lambda: running(monitor, "hero"))
        assert (tmp_path / "told").read_text() == "SIGUSR1 17.0"
        await cluster.delete(JOBS, "hero", propagation="Background")
        go.touch()
        await monitor.until("it is done", lambda: condition(monitor.find(JOB_SETS, "counts"), "Completed"))
        first, second = map(int, (tmp_path / "begins").read_text().split())
        assert first == 0 < second
        assert (monitor.find(JOB_SETS, "counts") or {})["status"].get("restarts", 0) == 0

    play(tmp_path, [node("one", gpu="1")], scenario)


# Saves once when it begins, then only when it has to.
SPARING = SCRIPT.replace("every_steps=20", "every_seconds=3600").replace(
    "        checkpoints.after(count)",
    """        if count == 1:
            checkpoints.save(count)
        checkpoints.after(count)
        if train.notice() and not train.stopping():
            (folder / "asked").write_text(str(checkpoints.due(count)))""",
)


def test_a_job_whose_machine_will_go_saves_when_it_is_asked_and_moves_before_the_deadline(tmp_path: Path) -> None:
    go = tmp_path / "go"

    async def scenario(cluster: RealCluster) -> None:
        monitor = cluster.monitor
        await cluster.priorities(low=1)
        document = counting(tmp_path, go)
        template = document["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
        template["spec"]["containers"][0]["command"][2] = SPARING
        await cluster.create(document)
        await monitor.until("it runs", lambda: running(monitor, "counts"))
        before = await monitor.until("it has saved and said so", lambda: checkpoint_at(cluster))
        [home] = [pod["spec"]["nodeName"] for pod in monitor.pods_of("counts")]
        now = time.time()
        notice = format_notice(Notice(now + 300.0, "azure", "Preempt", now))
        await cluster.patch(NODES, home, {"metadata": {"annotations": {NOTICE: notice}}})
        await monitor.until("it was asked, and saved", lambda: checkpoint_at(cluster) != before)
        await monitor.until("it has moved", lambda: moved(monitor, home))
        assert (tmp_path / "asked").exists()
        assert monitor.told("CheckpointRequested", "JobSet", "counts")
        incident = await monitor.until("the notice was beaten", lambda: beaten(monitor))
        assert incident["spec"]["cause"] == f"node {home} leaving: notice (azure Preempt)"
        go.touch()
        await monitor.until("it is done", lambda: condition(monitor.find(JOB_SETS, "counts"), "Completed"))
        first, second = map(int, (tmp_path / "begins").read_text().split())
        assert first == 0 < second

    play(tmp_path, [node("one", gpu="1"), node("two", gpu="1")], scenario, Setup(looks=(INCIDENTS,)))


def moved(monitor: ClusterMonitor, home: str) -> bool:
    pods = monitor.pods_of("counts")
    return bool(running(monitor, "counts")) and all(pod["spec"].get("nodeName") != home for pod in pods)


def beaten(monitor: ClusterMonitor) -> Document | None:
    found = [one for one in monitor.all(INCIDENTS) if one["status"].get("beaten")]
    return found[0] if found else None


def checkpoint_at(cluster: RealCluster) -> str:
    document = cluster.monitor.find(JOB_SETS, "counts") or {}
    annotations: dict[str, str] = document.get("metadata", {}).get("annotations", {})
    return annotations.get(f"{PREFIX}last-checkpoint", "")
