"""What a user lives through with MPIJobs on a cluster of this machine, in all three versions and without an MPI."""

import shutil
from functools import partial
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest

from tests.embedded.cluster_monitor import ClusterMonitor, Document
from tests.embedded.real_cluster import RealCluster, example_nodes, node, play
from tests.embedded.shared_cluster import SharedClusters
from tests.eventually import eventually_async
from understudy.embedded.agent_protocol import FailNode, ask_agent
from understudy.objects.resources import MPI_JOBS, MPI_JOBS_V1, MPI_JOBS_V1ALPHA1, PODS

OLDER_VERSIONS = ["v1alpha1", "v1"]
VERSIONS = [*OLDER_VERSIONS, "v2beta1"]
NEWEST_AND_THOROUGH_OLDER = [
    "v2beta1",
    *(pytest.param(version, marks=pytest.mark.thorough) for version in OLDER_VERSIONS),
]
OWN_MPI = "Open MPI" if shutil.which("ompi_info") else ""


def template(program: str, priority: str = "", gpus: int = 0) -> Document:
    resources = {"limits": {"nvidia.com/gpu": gpus}} if gpus else {}
    container = {"name": "mpi", "image": "horovod", "command": ["sh", "-c", program], "resources": resources}
    spec: Document = {"containers": [container]}
    return {"spec": {**spec, "priorityClassName": priority} if priority else spec}


def mpijob(version: str, name: str, program: str, workers: int = 1, **more: Any) -> Document:
    """In the words of each version: a launcher that runs the program, and workers that only wait."""
    gpus, slots, priority = more.pop("gpus", 0), more.pop("slots", None), more.pop("priority", "")
    notes = {f"understudy.dev/{key.replace('_', '-')}": value for key, value in more.pop("notes", {}).items()}
    policy: Document = {key: more.pop(key) for key in ("backoffLimit", "cleanPodPolicy", "suspend") if key in more}
    if version == "v1alpha1":
        spec: Document = {"replicas": workers, "template": template(program, priority, gpus), **policy}
    else:
        waiting = template("", priority, gpus)
        del waiting["spec"]["containers"][0]["command"]
        roles = {
            "Launcher": {"replicas": 1, "template": template(program, priority)},
            "Worker": {"replicas": workers, "template": waiting},
        }
        spec = {"mpiReplicaSpecs": roles, "runPolicy": policy}
    if slots:
        spec["slotsPerWorker"] = slots
    metadata = {"name": name, "annotations": notes}
    return {"apiVersion": f"kubeflow.org/{version}", "kind": "MPIJob", "metadata": metadata, "spec": {**spec, **more}}


def found(monitor: ClusterMonitor, name: str) -> Document:
    document = monitor.find(MPI_JOBS, name)
    return document or {}


def state(monitor: ClusterMonitor, name: str) -> str:
    """Active, Running, Succeeded or Failed, as the version says it."""
    status = found(monitor, name).get("status", {})
    if "launcherStatus" in status:
        return str(status["launcherStatus"])
    true = [one["type"] for one in status.get("conditions", ()) if one["status"] == "True"]
    return str(true[-1]) if true else ""


def succeeded(monitor: ClusterMonitor, name: str) -> bool:
    return state(monitor, name) == "Succeeded"


def pods(monitor: ClusterMonitor, name: str) -> dict[str, str]:
    """Phases by role: `launcher`, `worker-0`."""
    listed = {}
    for pod in monitor.all(PODS):
        rest = pod["metadata"]["name"].removeprefix(f"{name}-")
        if rest != pod["metadata"]["name"] and "deletionTimestamp" not in pod["metadata"]:
            role = "launcher" if rest.startswith("launcher") else rest
            listed[role] = pod["status"].get("phase", "Pending")
    return listed


async def log(cluster: RealCluster, name: str) -> list[str]:
    [launcher] = [pod for pod in cluster.monitor.all(PODS) if pod["metadata"]["name"].startswith(f"{name}-launcher")]
    answer = await cluster.client.request("GET", PODS.path("default", launcher["metadata"]["name"], "log"))
    return answer.decode().splitlines()


RANKS = (
    "echo $OMPI_COMM_WORLD_RANK/$OMPI_COMM_WORLD_SIZE $OMPI_COMM_WORLD_LOCAL_RANK/$OMPI_COMM_WORLD_LOCAL_SIZE $HOSTNAME"
)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_slot_of_every_worker_gets_a_process(shared: SharedClusters, version: str) -> None:
    async def scenario(cluster: RealCluster) -> None:
        monitor = cluster.monitor
        await cluster.create(mpijob(version, "train", f"mpirun sh -c '{RANKS}'", workers=2, slots=2))
        await monitor.until("it succeeded", lambda: state(monitor, "train") == "Succeeded")
        assert sorted(await log(cluster, "train")) == [
            "0/4 0/2 train-worker-0",
            "1/4 1/2 train-worker-0",
            "2/4 0/2 train-worker-1",
            "3/4 1/2 train-worker-1",
        ]

    shared.play([node("one"), node("two")], scenario)


@pytest.mark.skipif("Open MPI" not in OWN_MPI, reason="no Open MPI is installed")
def test_an_open_mpi_that_is_installed_comes_first_and_finds_its_way_into_the_workers(shared: SharedClusters) -> None:
    async def scenario(cluster: RealCluster) -> None:
        monitor = cluster.monitor
        program = f"mpirun --version; mpirun sh -c '{RANKS}'"
        await cluster.create(*(mpijob(version, version, program, workers=2) for version in VERSIONS))
        for version in VERSIONS:
            await monitor.until("it succeeded", partial(succeeded, monitor, version))
            told = await log(cluster, version)
            assert f"mpirun ({OWN_MPI}" in told[0]
            assert {f"0/2 0/1 {version}-worker-0", f"1/2 0/1 {version}-worker-1"} <= set(told)

    shared.play([node("one"), node("two")], scenario)


# Preemption


@pytest.mark.parametrize("version", VERSIONS)
def test_a_preempted_job_comes_back_by_itself(shared: SharedClusters, version: str) -> None:
    """The loss counts as no failure: the job has no retries left."""

    async def scenario(cluster: RealCluster) -> None:
        monitor = cluster.monitor
        both = {"launcher": "Running", "worker-0": "Running"}
        await cluster.priorities(critical=1_100_000, medium=1_000_000)
        tails = "mpirun tail -f /dev/null"
        await cluster.create(mpijob(version, "medium", tails, gpus=1, priority="medium", backoffLimit=0))
        await monitor.until("medium runs", lambda: pods(monitor, "medium") == both)
        await cluster.create(mpijob(version, "critical", tails, gpus=1, priority="critical"))
        await monitor.until("critical runs", lambda: pods(monitor, "critical") == both)
        [words] = await monitor.until("why", lambda: monitor.told("Preempted", "Pod", "medium-worker-0"))
        assert words.startswith("Preempted by default/critical-worker-0 on node 192.168.0.23")
        await cluster.delete(MPI_JOBS, "critical", propagation="Background")
        await monitor.until("medium runs again", lambda: pods(monitor, "medium") == both)
        await monitor.until("it says so", lambda: state(monitor, "medium") in ("Active", "Running"))

    shared.play(example_nodes("one-gpu"), scenario)


@pytest.mark.parametrize("version", NEWEST_AND_THOROUGH_OLDER)
def test_a_job_that_asks_for_it_fails_when_preempted_and_its_launcher_stays(
    shared: SharedClusters, version: str
) -> None:
    async def scenario(cluster: RealCluster) -> None:
        monitor = cluster.monitor
        both = {"launcher": "Running", "worker-0": "Running"}
        await cluster.priorities(critical=1_100_000, medium=1_000_000)
        tails, fails = "mpirun tail -f /dev/null", {"on-preemption": "fail"}
        medium = mpijob(
            version, "medium", tails, gpus=1, priority="medium", notes=fails, backoffLimit=3, cleanPodPolicy="All"
        )
        await cluster.create(medium)
        await monitor.until("medium runs", lambda: pods(monitor, "medium") == both)
        await cluster.create(mpijob(version, "critical", tails, gpus=1, priority="critical"))
        await monitor.until("critical runs", lambda: pods(monitor, "critical") == both)
        await monitor.until("medium failed", lambda: state(monitor, "medium") == "Failed")
        await monitor.until("only its launcher is left", lambda: pods(monitor, "medium") == {"launcher": "Failed"})

    shared.play(example_nodes("one-gpu"), scenario)


@pytest.mark.parametrize("version", NEWEST_AND_THOROUGH_OLDER)
def test_processes_of_a_preempted_job_are_told_and_have_the_time_to_save(
    shared: SharedClusters, tmp_path: Path, version: str
) -> None:
    """And what they saved is there when they come back."""
    saved, enough = tmp_path / "saved", tmp_path / "enough"
    script = tmp_path / "train.sh"
    script.write_text(
        f"rank=$OMPI_COMM_WORLD_RANK\n"
        f"test -e {saved}.$rank && touch {saved}.$rank.again && exit 0\n"
        f"sleep 1000000 & trap 'kill $!; sleep 0.5; touch {saved}.$rank; exit 1' TERM\n"
        f"touch {tmp_path}/up.$rank\n"
        f"wait\n"
    )

    async def scenario(cluster: RealCluster) -> None:
        monitor = cluster.monitor
        await cluster.priorities(high=2, low=1)
        await cluster.create(
            mpijob(version, "train", f"mpirun sh {script}", workers=2, gpus=1, priority="low", backoffLimit=0)
        )
        await eventually_async(lambda: all((tmp_path / f"up.{rank}").exists() for rank in range(2)))
        waits = f"until test -e {enough}; do sleep 0.05; done"
        await cluster.create(mpijob(version, "hero", waits, gpus=1, priority="high", cleanPodPolicy="Running"))
        await monitor.until("hero runs", lambda: pods(monitor, "hero").get("worker-0") == "Running")
        await eventually_async(lambda: all(Path(f"{saved}.{rank}").exists() for rank in range(2)))
        enough.touch()
        await monitor.until("train succeeded", lambda: state(monitor, "train") == "Succeeded")
        assert all(Path(f"{saved}.{rank}.again").exists() for rank in range(2))

    shared.play([node("one", gpu="1"), node("two", gpu="1")], scenario)


# Failures


@pytest.mark.parametrize("version", NEWEST_AND_THOROUGH_OLDER)
def test_a_rank_that_fails_takes_the_others_and_the_job_with_it(
    shared: SharedClusters, tmp_path: Path, version: str
) -> None:
    pids = tmp_path / "pid"
    program = f"test $OMPI_COMM_WORLD_RANK = 1 && sleep 0.3 && exit 7; echo $$ > {pids}; exec sleep 1000000"

    async def scenario(cluster: RealCluster) -> None:
        monitor = cluster.monitor
        await cluster.create(mpijob(version, "train", f"mpirun sh -c '{program}'", workers=2, backoffLimit=0))
        await monitor.until("it failed", lambda: state(monitor, "train") == "Failed")
        assert not Path(f"/proc/{pids.read_text().strip()}").exists()
        [launcher] = [one for one in monitor.all(PODS) if one["metadata"]["name"].startswith("train-launcher")]
        assert launcher["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 7
        assert "mpirun: train-worker-1" in " ".join(await log(cluster, "train"))

    shared.play([node("one")], scenario)


@pytest.mark.parametrize(
    ("version", "how"),
    [
        ("v2beta1", "kill"),
        ("v2beta1", "freeze"),
        *(pytest.param(version, "kill", marks=pytest.mark.thorough) for version in OLDER_VERSIONS),
    ],
)
def test_the_loss_of_a_node_costs_no_retry(tmp_path: Path, version: str, how: Literal["kill", "freeze"]) -> None:
    """The worker is made again on the spare, and the launcher starts over; there is not one retry to spend."""
    again = tmp_path / "again"
    program = f"test -e {again}.$OMPI_COMM_WORLD_RANK && exit 0; touch {again}.$OMPI_COMM_WORLD_RANK; sleep 1000000"

    async def scenario(cluster: RealCluster) -> None:
        monitor = cluster.monitor
        train = mpijob(version, "train", f"mpirun sh -c '{program}'", workers=2, gpus=1, backoffLimit=0)
        await cluster.create(train)
        await eventually_async(lambda: all(Path(f"{again}.{rank}").exists() for rank in range(2)))
        await monitor.until("all run", lambda: list(pods(monitor, "train").values()) == ["Running"] * 3)
        worker = monitor.find(PODS, "train-worker-1")
        launcher = next(one for one in monitor.all(PODS) if one["metadata"]["name"].startswith("train-launcher"))
        assert worker is not None
        assert worker["spec"]["nodeName"] != launcher["spec"]["nodeName"]
        await ask_agent(cluster.folder.agent_socket, FailNode(worker["spec"]["nodeName"], how))
        await monitor.until("it succeeded", lambda: state(monitor, "train") == "Succeeded")
        await cluster.recover(worker["spec"]["nodeName"])

    play(tmp_path, [node("one", gpu="1"), node("two", gpu="1", cpu="0"), node("spare", gpu="1", cpu="0")], scenario)


@pytest.mark.parametrize("version", NEWEST_AND_THOROUGH_OLDER)
def test_the_loss_of_the_launcher_costs_no_retry(tmp_path: Path, version: str) -> None:
    """With a worker on the same node. The other worker stays, and the process in it starts over."""
    again = tmp_path / "again"
    program = f"test -e {again}.$OMPI_COMM_WORLD_RANK && exit 0; touch {again}.$OMPI_COMM_WORLD_RANK; sleep 1000000"

    async def scenario(cluster: RealCluster) -> None:
        monitor = cluster.monitor
        await cluster.create(mpijob(version, "train", f"mpirun sh -c '{program}'", workers=2, gpus=1, backoffLimit=0))
        await eventually_async(lambda: all(Path(f"{again}.{rank}").exists() for rank in range(2)))
        await monitor.until("all run", lambda: list(pods(monitor, "train").values()) == ["Running"] * 3)
        launcher = next(one for one in monitor.all(PODS) if one["metadata"]["name"].startswith("train-launcher"))
        others = [one for one in monitor.all(PODS) if one["spec"]["nodeName"] != launcher["spec"]["nodeName"]]
        await cluster.fail(launcher["spec"]["nodeName"])
        await monitor.until("it succeeded", lambda: state(monitor, "train") == "Succeeded")
        await cluster.recover(launcher["spec"]["nodeName"])
        assert len(others) == 1

    play(tmp_path, [node("one", gpu="1"), node("two", gpu="1"), node("spare", gpu="1")], scenario)


# Standing back


@pytest.mark.parametrize("version", ["v1", "v2beta1"])
def test_a_job_stands_back_and_goes_on(shared: SharedClusters, version: str) -> None:
    async def scenario(cluster: RealCluster) -> None:
        monitor = cluster.monitor
        both = {"launcher": "Running", "worker-0": "Running"}
        await cluster.create(mpijob(version, "train", "mpirun tail -f /dev/null", backoffLimit=0))
        await monitor.until("it runs", lambda: pods(monitor, "train") == both and state(monitor, "train") == "Running")
        await cluster.patch(MPI_JOBS, "train", {"spec": {"runPolicy": {"suspend": True}}})
        await monitor.until("it stands back", lambda: not pods(monitor, "train"))
        assert state(monitor, "train") == "Suspended"
        await cluster.patch(MPI_JOBS, "train", {"spec": {"runPolicy": {"suspend": False}}})
        await monitor.until("it runs", lambda: pods(monitor, "train") == both and state(monitor, "train") == "Running")

    shared.play([node("one")], scenario)


# Versions


def test_a_job_stays_in_the_version_it_was_made_in(shared: SharedClusters) -> None:
    async def scenario(cluster: RealCluster) -> None:
        for version in VERSIONS:
            await cluster.create(mpijob(version, f"of-{version}", "true"))
        for resource in (MPI_JOBS, MPI_JOBS_V1, MPI_JOBS_V1ALPHA1):
            listed = msgspec.json.decode(await cluster.client.request("GET", resource.path("default")))["items"]
            assert {one["metadata"]["name"]: one["apiVersion"] for one in listed} == {
                f"of-{version}": f"kubeflow.org/{version}" for version in VERSIONS
            }

    shared.play([node("one")], scenario)
