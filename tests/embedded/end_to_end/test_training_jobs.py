"""What a user lives through with training jobs: ranks that meet, fall, stand back and come again as real processes."""

import asyncio
import copy
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.embedded.cluster_monitor import PATIENCE, ClusterMonitor, Document
from tests.embedded.end_to_end.test_jobs import log_of, running, seated, uids
from tests.embedded.end_to_end.training_manifests import CONTAINERS, has, role, status_of, torch, training
from tests.embedded.manifests import STAYS
from tests.embedded.real_cluster import KINDS, RealCluster, node, play
from tests.embedded.shared_cluster import SharedClusters
from understudy.kinds.annotations import PREFIX
from understudy.kinds.training_operator.pytorchjob import PYTORCH_JOBS
from understudy.objects.resources import PODS, SERVICES
from understudy.ports import Refused

# Ranks meet

MEETING = """
import json, os, socket
env = os.environ.get
{where}
if int(rank) == 0:
    with socket.create_server((addr, int(port))) as server:
        peers = [server.accept()[0] for _ in range(int(size) - 1)]
        print("met", sorted(int(peer.recv(10)) for peer in peers), flush=True)
        for peer in peers:
            peer.sendall(b"go")
else:
    while True:
        try:
            peer = socket.create_connection((addr, int(port)))
            break
        except ConnectionRefusedError:
            pass
    peer.sendall(str(rank).encode())
    assert peer.recv(10) == b"go"
"""
MASTER = 'addr, port, rank, size = env("MASTER_ADDR"), env("MASTER_PORT"), env("RANK"), env("WORLD_SIZE")'
WHERE = {
    "PyTorchJob": MASTER,
    "XGBoostJob": MASTER,
    "JAXJob": 'addr, port = env("COORDINATOR_ADDRESS"), env("COORDINATOR_PORT")\n'
    'rank, size = env("PROCESS_ID"), env("NUM_PROCESSES")',
    "TFJob": 'config = json.loads(env("TF_CONFIG"))\nworkers = config["cluster"]["worker"]\n'
    'addr, port, rank, size = *workers[0].split(":"), config["task"]["index"], len(workers)',
    "PaddleJob": 'addr, port = env("PADDLE_MASTER").split(":")\n'
    'rank, size = socket.gethostname().split("-")[-1], env("PADDLE_NNODES")',
}
LED = ("PyTorchJob", "XGBoostJob")


@pytest.mark.parametrize("kind", WHERE)
def test_ranks_meet_by_name_and_jobs_do_not_get_in_each_others_way(shared: SharedClusters, kind: str) -> None:
    """Two jobs side by side on one node, both on the port of their kind."""
    program = [sys.executable, "-c", MEETING.format(where=WHERE[kind])]

    async def scenario(cluster: RealCluster) -> None:
        monitor = cluster.monitor
        for name in ("red", "blue"):
            led = {"Master": role(program), "Worker": role(program, 2)}
            await cluster.create(training(kind, name, led if kind in LED else {"Worker": role(program, 3)}))
        for name in ("red", "blue"):
            await monitor.until(f"{name} is done", partial(has, monitor, name, "Succeeded", kind))
            [first] = await monitor.until(f"the first of {name}", partial(leaders, monitor, name))
            assert await log_of(cluster, first) == "met [1, 2]\n"

    shared.play([node("one")], scenario)


def leaders(monitor: ClusterMonitor, name: str) -> list[Document]:
    """News of pods may come later than that of their job."""
    return [one for one in monitor.pods_of(name) if "training.kubeflow.org/job-role" in labels(one)]


def labels(pod: Document) -> Document:
    found: Document = pod["metadata"]["labels"]
    return found


# How jobs end


def test_jobs_end_as_their_policies_say(shared: SharedClusters) -> None:
    """Side by side: each has a master that ends at once or never, and a worker that decides the result."""
    stays, done = role(STAYS, 1, "Never"), role("true", 1, "Never")

    jobs: list[tuple[Document, str, str, set[str]]] = [  # a job, what it comes to, in which words, the pods left of it
        (
            torch("never", copy.deepcopy(stays), role("exit 3", 1, "Never"), cleanPodPolicy="Running"),
            "Failed",
            "PyTorchJob never is failed because",
            {"never-worker-0"},
        ),
        (
            torch("code", copy.deepcopy(stays), role("exit 3", 1, "ExitCode"), cleanPodPolicy="Running"),
            "Failed",
            "job code is failing because Worker replica(s) failed.",
            {"code-worker-0"},
        ),
        (
            torch("spent", copy.deepcopy(stays), role("exit 3", 1, "OnFailure"), cleanPodPolicy="All", backoffLimit=0),
            "Failed",
            "it has reached the specified backoff limit",
            set(),
        ),
        (
            torch("late", copy.deepcopy(stays), role(STAYS), cleanPodPolicy="Running", activeDeadlineSeconds=3),
            "Failed",
            "it was active longer than specified deadline",
            set(),
        ),
        (
            torch("kept", copy.deepcopy(done), role("true")),
            "Succeeded",
            "PyTorchJob default/kept successfully completed.",
            {"kept-master-0", "kept-worker-0"},
        ),
        (torch("swept", copy.deepcopy(done), role(STAYS), cleanPodPolicy="All"), "Succeeded", "successfully", set()),
    ]

    async def scenario(cluster: RealCluster) -> None:
        monitor = cluster.monitor
        for document, *_ in jobs:
            await cluster.create(document)
        for document, state, words, left in jobs:
            name = document["metadata"]["name"]
            ended = await monitor.until(f"{name} is {state}", partial(has, monitor, name, state))
            assert words in ended["message"]
            await monitor.until(f"{name} is tidied up", partial(is_left, monitor, name, left))
            assert "completionTime" in status_of(monitor, name)
        [failed] = [one for one in monitor.pods_of("code") if one["status"]["phase"] == "Failed"]
        assert failed["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 3
        told = await monitor.until("how it ended", lambda: monitor.told("ExitedWithCode", "PyTorchJob", "code"))
        assert told == ["Pod: default.code-worker-0 exited with code 3"]

    shared.play([node("one")], scenario)


def is_left(monitor: ClusterMonitor, name: str, pods: set[str]) -> bool:
    """Services go with their pods."""
    there = {one["metadata"]["name"]: one["status"]["phase"] for one in monitor.pods_of(name)}
    return services_of(monitor, name) == pods == there.keys() and "Pending" not in there.values()


def services_of(monitor: ClusterMonitor, name: str) -> set[str]:
    names = {one["metadata"]["name"] for one in monitor.all(SERVICES)}
    return {service for service in names if service.startswith(f"{name}-")}


@pytest.mark.parametrize(
    ("restart", "code", "made_again"), [("OnFailure", 1, False), ("ExitCode", 137, True)], ids=["in place", "anew"]
)
def test_a_worker_that_falls_is_started_again(
    shared: SharedClusters, tmp_path: Path, restart: str, code: int, made_again: bool
) -> None:
    fallen, up_again = tmp_path / "fallen", tmp_path / "up-again"
    waits = f"until test -e {up_again}; do sleep 0.02; done"
    falls = f"test -e {fallen} && touch {up_again} && exit 0; touch {fallen}; exit {code}"

    async def scenario(cluster: RealCluster) -> None:
        monitor = cluster.monitor
        await cluster.create(torch("train", role(waits, 1, "Never"), role(falls, 1, restart), backoffLimit=3))
        await monitor.until("it is done", lambda: has(monitor, "train", "Succeeded"))
        status = status_of(monitor, "train")
        assert status.get("restarts", 0) == made_again
        await monitor.until("its end is told", lambda: monitor.told("PyTorchJobSucceeded", "PyTorchJob", "train"))
        told = monitor.told("PyTorchJobRestarting", "PyTorchJob", "train")
        assert told == (["job train is restarting because Worker replica(s) failed."] if made_again else [])

    shared.play([node("one")], scenario)


def test_a_job_is_forgotten_when_its_time_is_over(shared: SharedClusters) -> None:
    async def scenario(cluster: RealCluster) -> None:
        monitor = cluster.monitor
        await cluster.create(torch("brief", role("true"), role("true"), ttlSecondsAfterFinished=0))
        await monitor.until("it is done", lambda: monitor.told("PyTorchJobSucceeded", "PyTorchJob", "brief"))
        await monitor.until("nothing is left", lambda: not monitor.all(PODS) and not services_of(monitor, "brief"))
        assert monitor.find(PYTORCH_JOBS, "brief") is None

    shared.play([node("one")], scenario)


# Standing back


def test_a_job_stands_back_when_told_to_and_goes_on_from_the_start(shared: SharedClusters) -> None:
    async def scenario(cluster: RealCluster) -> None:
        monitor = cluster.monitor
        await cluster.create(torch("train", role(STAYS, 1, "Never"), role(STAYS, 2, "Never"), backoffLimit=0))
        before = await monitor.until("it runs", lambda: running(monitor, "train", 3))
        await monitor.until("it says so", lambda: has(monitor, "train", "Running"))
        await cluster.patch(PYTORCH_JOBS, "train", {"spec": {"runPolicy": {"suspend": True}}})
        await monitor.until("it says so", lambda: has(monitor, "train", "Suspended"))
        await monitor.until("nothing runs", lambda: not monitor.all(PODS) and not services_of(monitor, "train"))
        assert not has(monitor, "train", "Running")
        await cluster.patch(PYTORCH_JOBS, "train", {"spec": {"runPolicy": {"suspend": False}}})
        after = await monitor.until("it runs again", lambda: running(monitor, "train", 3))
        assert not uids(before) & uids(after)
        await monitor.until("it says so", lambda: has(monitor, "train", "Running"))
        assert not has(monitor, "train", "Suspended")
        assert "restarts" not in status_of(monitor, "train")

    shared.play([node("one")], scenario)


@pytest.mark.parametrize("kind", CONTAINERS)
def test_a_preempted_job_goes_whole_and_comes_back_at_no_cost(shared: SharedClusters, kind: str) -> None:
    """Its policies forgive nothing, and its processes fail when they are told to go."""
    fails = "sleep 1000000 & trap 'kill $!; exit 1' TERM; wait"

    def gang(name: str, program: str) -> Document:
        ranks = role(program, 2, "Never", priority=name, gpus=1)
        roles = {"Worker": ranks}
        if kind == "XGBoostJob":
            roles = {"Master": role(program, 1, "Never", priority=name, gpus=1), "Worker": {**ranks, "replicas": 1}}
        return training(kind, name, roles, {"backoffLimit": 0})

    async def scenario(cluster: RealCluster) -> None:
        monitor = cluster.monitor
        await cluster.priorities(low=1, high=2)
        await cluster.create(gang("low", fails))
        before = await monitor.until("low runs", lambda: running(monitor, "low", 2))
        await cluster.create(gang("high", STAYS))
        await monitor.until("high runs", lambda: running(monitor, "high", 2))
        await monitor.until("low says so", lambda: has(monitor, "low", "Suspended", kind))
        assert not seated(monitor, "low")
        await monitor.until("why", lambda: monitor.told("Preempted", "Pod", "low"))
        await cluster.delete(KINDS["kubeflow.org/v1", kind], "high", propagation="Background")
        after = await monitor.until("low runs again", lambda: running(monitor, "low", 2))
        assert not uids(before) & uids(after)
        await monitor.until("low says so", lambda: has(monitor, "low", "Running", kind))
        assert "restarts" not in status_of(monitor, "low", kind)

    shared.play([node("one", gpu="1"), node("two", gpu="1")], scenario)


def test_a_preempted_job_that_asks_for_it_ends_instead(shared: SharedClusters) -> None:
    async def scenario(cluster: RealCluster) -> None:
        monitor = cluster.monitor
        await cluster.priorities(low=1, high=2)
        master, worker = role(STAYS, priority="low", gpus=1), role(STAYS, priority="low", gpus=1)
        low = torch("low", master, worker, cleanPodPolicy="Running")
        low["metadata"]["annotations"] = {f"{PREFIX}on-preemption": "fail"}
        await cluster.create(low)
        await monitor.until("low runs", lambda: running(monitor, "low", 2))
        await monitor.until("low says so", lambda: has(monitor, "low", "Running"))
        await cluster.create(training("JAXJob", "high", {"Worker": role(STAYS, priority="high", gpus=1)}))
        await monitor.until("high runs", lambda: running(monitor, "high"))
        failed = await monitor.until("low has failed", lambda: has(monitor, "low", "Failed"))
        assert failed["reason"] == "Preempted"
        assert "JAXJob/default/high" in failed["message"]
        await monitor.until("low is wound up", lambda: "completionTime" in status_of(monitor, "low"))
        assert not has(monitor, "low", "Running")
        assert not monitor.pods_of("low")

    shared.play([node("one", gpu="1"), node("two", gpu="1")], scenario)


def test_an_elastic_job_gives_up_workers_and_grows_back(tmp_path: Path) -> None:
    async def scenario(cluster: RealCluster) -> None:
        monitor = cluster.monitor
        await cluster.priorities(low=1, high=2)
        workers = {"Worker": role("echo $PET_NNODES;" + STAYS, 3, "Never", priority="low", gpus=1)}
        elastic = training("PyTorchJob", "elastic", workers, elasticPolicy={"minReplicas": 1, "maxReplicas": 3})
        await cluster.create(elastic)
        before = await monitor.until("all three run", lambda: running(monitor, "elastic", 3))
        assert await log_of(cluster, before[0]) == "1:3\n"
        await cluster.create(training("JAXJob", "hero", {"Worker": role(STAYS, 2, priority="high", gpus=1)}))
        await monitor.until("hero runs", lambda: running(monitor, "hero", 2))
        [left] = seated(monitor, "elastic")
        assert uids([left]) < uids(before)  # it goes on where it is
        await monitor.until("the others wait", lambda: len(monitor.pods_of("elastic")) == 3)
        await cluster.delete(KINDS["kubeflow.org/v1", "JAXJob"], "hero", propagation="Background")
        after = await monitor.until("all three run again", lambda: running(monitor, "elastic", 3))
        assert uids([left]) < uids(after)
        assert "restarts" not in status_of(monitor, "elastic")
        assert has(monitor, "elastic", "Running")

    play(tmp_path, [node(name, gpu="1") for name in ("one", "two", "three")], scenario)


TOGETHER = """
import os, pathlib, socket, sys
address = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
if os.environ["RANK"] == "0":
    peer = socket.create_server(address).accept()[0]
else:
    while True:
        try:
            peer = socket.create_connection(address)
            break
        except ConnectionRefusedError:
            pass
print("together", flush=True)
peer.settimeout(0.05)
enough = pathlib.Path(sys.argv[1])
while not enough.exists():
    try:
        if peer.recv(1) == b"" and not enough.exists():
            sys.exit("the peer is gone")
    except TimeoutError:
        pass
"""


def test_when_a_node_is_lost_a_spare_steps_in_and_who_fell_with_it_comes_again(tmp_path: Path) -> None:
    """The master fails at once, seconds before the cause is known. Its policies allow no failure."""
    enough = tmp_path / "enough"
    rank = role([sys.executable, "-c", TOGETHER, str(enough)], 1, "Never", gpus=8)

    async def scenario(cluster: RealCluster) -> None:
        monitor = cluster.monitor
        await cluster.create(torch("train", rank, copy.deepcopy(rank), backoffLimit=0))
        before = await monitor.until("it runs", lambda: running(monitor, "train", 2))
        await until_together(cluster, before)
        [lost] = [one for one in before if one["metadata"]["name"] == "train-worker-0"]
        await cluster.fail(lost["spec"]["nodeName"])
        after = await monitor.until("it runs again", partial(anew, monitor, before))
        assert {one["spec"]["nodeName"] for one in after} == {"one", "two", "spare"} - {lost["spec"]["nodeName"]}
        await until_together(cluster, after)
        enough.touch()
        await monitor.until("it is done", lambda: has(monitor, "train", "Succeeded"))
        assert "restarts" not in status_of(monitor, "train")

    spare = node("spare", gpu="8", labels={f"{PREFIX}spare": "keep"})
    play(tmp_path, [node("one", gpu="8"), node("two", gpu="8"), spare], scenario)


def anew(monitor: ClusterMonitor, before: list[Document]) -> list[Document]:
    pods = running(monitor, "train", 2)
    return [] if uids(pods) & uids(before) else pods


async def until_together(cluster: RealCluster, pods: list[Document]) -> None:
    for pod in pods:
        async with asyncio.timeout(PATIENCE):
            async for piece in cluster.client.stream(
                f"{PODS.path('default', pod['metadata']['name'], 'log')}?follow=true"
            ):
                assert piece == b"together\n"
                break


# What makes no sense


def misplaced(document: Document) -> None:
    worker = document["spec"]["pytorchReplicaSpecs"]["Worker"]
    worker["spec"] = worker.pop("template")["spec"]


def policy_in_the_wrong_place(document: Document) -> None:
    document["spec"]["cleanPodPolicy"] = "All"


def unknown_restart_policy(document: Document) -> None:
    document["spec"]["pytorchReplicaSpecs"]["Worker"]["restartPolicy"] = "Sometimes"


REFUSED: list[tuple[Callable[[Document], None], int, str]] = [
    (misplaced, 400, 'unknown field "spec.pytorchReplicaSpecs.Worker.spec"'),
    (misplaced, 400, "did you mean spec.pytorchReplicaSpecs.Worker.template.spec"),
    (policy_in_the_wrong_place, 400, 'unknown field "spec.cleanPodPolicy"'),
    (unknown_restart_policy, 422, "spec.pytorchReplicaSpecs.Worker.restartPolicy"),
]


def test_what_does_not_belong_there_is_refused(shared: SharedClusters) -> None:
    path = f"{PYTORCH_JOBS.path('default')}?fieldValidation=Strict"

    async def scenario(cluster: RealCluster) -> None:
        for spoil, code, words in REFUSED:
            document = torch("train", role("true"), role("true"))
            spoil(document)
            with pytest.raises(Refused) as refused:
                await cluster.client.request("POST", path, document)
            assert refused.value.code == code
            assert words in refused.value.message
        assert cluster.monitor.all(PYTORCH_JOBS) == []

    shared.play([node("one")], scenario)
