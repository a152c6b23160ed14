"""Training code in a cluster: it learns of its end by the signal it asked for, and its job of its checkpoints."""

import sys
from pathlib import Path

from tests.embedded.end_to_end.test_jobs import condition, running
from tests.embedded.manifests import job, jobset
from tests.embedded.real_cluster import RealCluster, node, play
from tests.embedded.witness import Document
from understudy.kinds.annotations import PREFIX
from understudy.objects.resources import JOB_SETS, JOBS

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
        witness = cluster.witness
        await cluster.priorities(low=1, high=2)
        await cluster.create(counting(tmp_path, go))
        await witness.until("it runs", lambda: running(witness, "counts"))
        await witness.until("it has saved and said so", lambda: checkpoint_at(cluster))
        await cluster.create(job("hero", "high", gpus=1))
        await witness.until("the hero runs", lambda: running(witness, "hero"))
        assert (tmp_path / "told").read_text() == "SIGUSR1 17.0"
        await cluster.delete(JOBS, "hero", propagation="Background")
        go.touch()
        await witness.until("it is done", lambda: condition(witness.find(JOB_SETS, "counts"), "Completed"))
        first, second = map(int, (tmp_path / "begins").read_text().split())
        assert first == 0 < second
        assert (witness.find(JOB_SETS, "counts") or {})["status"].get("restarts", 0) == 0

    play(tmp_path, [node("one", gpu="1")], scenario)


def checkpoint_at(cluster: RealCluster) -> str:
    document = cluster.witness.find(JOB_SETS, "counts") or {}
    annotations: dict[str, str] = document.get("metadata", {}).get("annotations", {})
    return annotations.get(f"{PREFIX}last-checkpoint", "")
