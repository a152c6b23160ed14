"""What a user of TrainJobs lives through with a cluster of this machine: runtimes, real processes, preemption."""

import sys
from pathlib import Path
from typing import Any

import msgspec

from tests.embedded.cluster_monitor import ClusterMonitor, Document
from tests.embedded.manifests import STAYS, job
from tests.embedded.real_cluster import RealCluster, node, play
from tests.embedded.shared_cluster import SharedClusters
from understudy.objects.resources import CLUSTER_TRAINING_RUNTIMES, JOB_SETS, JOBS, PODS, TRAIN_JOBS

API = "trainer.kubeflow.org/v1alpha1"
STEP = "trainer.kubeflow.org/trainjob-ancestor-step"
MEETING = """
import os, socket, time
rank, address = os.environ["PET_NODE_RANK"], (os.environ["PET_MASTER_ADDR"], int(os.environ["PET_MASTER_PORT"]))
if rank == "0":
    with socket.create_server(address) as server:
        peer, _ = server.accept()
else:
    while True:
        try:
            peer = socket.create_connection(address)
            break
        except OSError:
            time.sleep(0.02)
with peer:
    peer.sendall(f"{rank} of {os.environ['PET_NNODES']} x {os.environ['PET_NPROC_PER_NODE']}".encode())
    print("met", peer.recv(100).decode(), flush=True)
"""


def train_job(name: str, program: str = STAYS, runtime: str = "plain", **spec: Any) -> Document:
    trainer = {"command": ["sh", "-c", program], **spec.pop("trainer", {})}
    meta = {"name": name, "annotations": spec.pop("annotations", {})}
    return {
        "apiVersion": API,
        "kind": "TrainJob",
        "metadata": meta,
        "spec": {"runtimeRef": {"name": runtime}, "trainer": trainer, **spec},
    }


def replicated(name: str, step: str, command: str = "", **more: Any) -> Document:
    program = {"command": ["sh", "-c", command]} if command else {}
    pods = {"restartPolicy": "Never", "containers": [{"name": name, "image": "any", **program}], **more.pop("pod", {})}
    job = {"metadata": {"labels": {STEP: step}}, "spec": {"backoffLimit": 0, "template": {"spec": pods}}}
    return {"name": name, "template": job, **more}


def runtime(name: str, *jobs: Document) -> Document:
    spec = {"mlPolicy": {"numNodes": 1}, "template": {"spec": {"replicatedJobs": list(jobs)}}}
    return {"apiVersion": API, "kind": "ClusterTrainingRuntime", "metadata": {"name": name}, "spec": spec}


def low() -> Document:
    """One of little importance: a TrainJob has its priority from its runtime."""
    return runtime("low", replicated("node", "trainer", pod={"priorityClassName": "low"}))


def running(monitor: ClusterMonitor, name: str, count: int) -> list[Document]:
    pods = monitor.pods_of(name)
    return pods if [each.get("status", {}).get("phase") for each in pods] == ["Running"] * count else []


def condition(monitor: ClusterMonitor, name: str, kind: str, status: str = "True") -> Document:
    conditions = (monitor.find(TRAIN_JOBS, name) or {}).get("status", {}).get("conditions", ())
    return next((each for each in conditions if each["type"] == kind and each["status"] == status), {})


async def log_of(cluster: RealCluster, pod: Document) -> str:
    path = PODS.path(pod["metadata"]["namespace"], pod["metadata"]["name"], "log")
    return (await cluster.client.request("GET", path)).decode()


def test_nodes_of_the_torch_runtime_find_each_other_and_the_job_completes(shared: SharedClusters) -> None:
    async def scenario(cluster: RealCluster) -> None:
        monitor = cluster.monitor
        trainer = {"command": [sys.executable, "-c", MEETING], "numNodes": 2, "numProcPerNode": 3}
        await cluster.create(train_job("pair", runtime="torch-distributed", trainer=trainer))
        done = await monitor.until("it is done", lambda: condition(monitor, "pair", "Complete"))
        assert done["reason"] == "AllJobsCompleted"
        assert [await log_of(cluster, each) for each in monitor.pods_of("pair")] == [
            "met 1 of 2 x 3\n",
            "met 0 of 2 x 3\n",
        ]
        assert {each["spec"]["hostname"] for each in monitor.pods_of("pair")} == {"pair-node-0-0", "pair-node-0-1"}
        [figures] = (monitor.find(TRAIN_JOBS, "pair") or {})["status"]["jobsStatus"]
        assert (figures["name"], figures["succeeded"]) == ("node", 1)
        await cluster.delete(TRAIN_JOBS, "pair", propagation="Background")
        await monitor.until("all of it is gone", lambda: not monitor.pods_of("pair") and not monitor.all(JOB_SETS))

    shared.play([node("one"), node("two")], scenario)


def test_it_pauses_with_all_its_pods_and_goes_on(shared: SharedClusters) -> None:
    async def scenario(cluster: RealCluster) -> None:
        monitor = cluster.monitor
        await cluster.create(train_job("train", trainer={"numNodes": 2}))
        await monitor.until("it runs", lambda: running(monitor, "train", 2))
        assert "conditions" not in (monitor.find(TRAIN_JOBS, "train") or {}).get("status", {})
        await cluster.patch(TRAIN_JOBS, "train", {"spec": {"suspend": True}})
        await monitor.until("it has paused", lambda: condition(monitor, "train", "Suspended") and not monitor.all(PODS))
        selector = {"nodeSelector": {"kubernetes.io/hostname": "two"}}
        moved = [{"targetJobs": [{"name": "node"}], "spec": selector}]
        await cluster.patch(TRAIN_JOBS, "train", {"spec": {"suspend": False, "podTemplateOverrides": moved}})
        pods = await monitor.until("it goes on", lambda: running(monitor, "train", 2))
        assert {each["spec"]["nodeName"] for each in pods} == {"two"}
        assert condition(monitor, "train", "Suspended", "False")["reason"] == "Resumed"

    shared.play([node("one"), node("two")], scenario)


def test_it_is_preempted_whole_and_comes_back_with_what_it_had(tmp_path: Path) -> None:
    saved, enough = tmp_path / "saved", tmp_path / "enough"
    trains = f"test -e {saved} && exit 0; sleep 1000000 & trap 'kill $!; touch {saved}; exit 1' TERM; wait"
    goes_on = f"until test -e {enough}; do sleep 0.05; done"

    async def scenario(cluster: RealCluster) -> None:
        monitor = cluster.monitor
        await cluster.priorities(low=1, high=2)
        gpus = {"limits": {"nvidia.com/gpu": 1}}
        await cluster.create(
            low(), train_job("train", trains, "low", trainer={"numNodes": 2, "resourcesPerNode": gpus})
        )
        await monitor.until("it runs", lambda: running(monitor, "train", 2))
        await cluster.create(job("hero", "high", gpus=1, program=goes_on))
        await monitor.until("hero runs", lambda: running(monitor, "hero", 1))
        assert monitor.pods_of("train") == []  # whole, though one seat would have been enough
        assert saved.exists()
        assert condition(monitor, "train", "Suspended")
        enough.touch()
        await monitor.until("it is done after all", lambda: condition(monitor, "train", "Complete"))
        assert (monitor.find(JOB_SETS, "train") or {})["status"]["restarts"] == 0
        assert (monitor.find(JOBS, "train-node-0") or {})["status"].get("failed", 0) == 0
        await monitor.until("it is told", lambda: monitor.told("Resumed", "TrainJob", "train"))

    play(tmp_path, [node("one", gpu="2")], scenario)


def test_one_that_asks_for_it_fails_when_it_is_preempted(shared: SharedClusters) -> None:
    async def scenario(cluster: RealCluster) -> None:
        monitor = cluster.monitor
        await cluster.priorities(low=1, high=2)
        asks = {"understudy.dev/on-preemption": "fail"}
        gpu = {"resourcesPerNode": {"limits": {"nvidia.com/gpu": 1}}}
        await cluster.create(low(), train_job("brief", runtime="low", trainer=gpu, annotations=asks))
        await monitor.until("it runs", lambda: running(monitor, "brief", 1))
        await cluster.create(job("hero", "high", gpus=1))
        await monitor.until("hero runs", lambda: running(monitor, "hero", 1))
        failed = await monitor.until("it failed", lambda: condition(monitor, "brief", "Failed"))
        assert failed["reason"] == "Preempted"
        assert "Job/default/hero" in failed["message"]

    shared.play([node("one", gpu="1")], scenario)


def test_the_data_is_loaded_before_any_trainer_starts(shared: SharedClusters, tmp_path: Path) -> None:
    data = tmp_path / "data"
    fetches = replicated("dataset-initializer", "dataset-initializer", f'sleep 0.3; echo "$STORAGE_URI" > {data}')
    order = [{"name": "dataset-initializer", "status": "Complete"}]

    async def scenario(cluster: RealCluster) -> None:
        monitor = cluster.monitor
        await cluster.create(runtime("with-data", fetches, replicated("node", "trainer", dependsOn=order)))
        source = {"dataset": {"storageUri": "file://somewhere"}}
        await cluster.create(train_job("train", f"cat {data}", "with-data", initializer=source))
        await monitor.until("it is done", lambda: condition(monitor, "train", "Complete"))
        [trained] = [each for each in monitor.pods_of("train") if "-node-" in each["metadata"]["name"]]
        assert await log_of(cluster, trained) == "file://somewhere\n"

    shared.play([node("one")], scenario)


def test_one_whose_runtime_is_missing_is_told_and_runs_when_it_comes(shared: SharedClusters) -> None:
    async def scenario(cluster: RealCluster) -> None:
        monitor = cluster.monitor
        answer = await cluster.client.request("GET", CLUSTER_TRAINING_RUNTIMES.path())
        there = {each["metadata"]["name"] for each in msgspec.json.decode(answer)["items"]}
        assert there >= {"torch-distributed", "plain"}
        await cluster.create(train_job("early", runtime="late"))
        [words] = await monitor.until(
            "why", lambda: monitor.told("TrainJobResourcesCreationFailed", "TrainJob", "early")
        )
        assert f"there is no ClusterTrainingRuntime 'late'; there are: {', '.join(sorted(there))}" in words
        await cluster.create(runtime("late", replicated("node", "trainer")))
        await monitor.until("it runs", lambda: running(monitor, "early", 1))

    shared.play([node("one")], scenario)
