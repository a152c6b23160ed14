"""What a user lives through with a cluster of this machine, from manifests to processes and back."""

import shutil
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.embedded.cluster_monitor import ClusterMonitor, Document
from tests.embedded.manifests import budget, headless_service, job, jobset, lone_pod
from tests.embedded.real_cluster import RealCluster, Setup, example_nodes, node, play
from tests.embedded.shared_cluster import SharedClusters
from understudy.objects.resources import BUDGETS, JOB_SETS, JOBS, NODES, PODS
from understudy.ports import Refused

POOL = "cloud.google.com/gke-nodepool"


def running(monitor: ClusterMonitor, name: str, count: int = 1) -> list[Document]:
    """The pods of a job, if so many of them run and no others are on their way in."""
    pods = monitor.pods_of(name)
    up = [one for one in pods if one.get("status", {}).get("phase") == "Running"]
    return up if len(up) == len(pods) == count else []


def seated(monitor: ClusterMonitor, name: str) -> list[Document]:
    return [one for one in monitor.pods_of(name) if one["spec"].get("nodeName")]


def condition(document: Document | None, kind: str) -> dict[str, Any]:
    found = (document or {}).get("status", {}).get("conditions", ())
    return next((one for one in found if one["type"] == kind and one["status"] == "True"), {})


def is_complete(monitor: ClusterMonitor, name: str) -> bool:
    return bool(condition(monitor.find(JOBS, name), "Complete"))


def uids(pods: list[Document]) -> set[str]:
    return {one["metadata"]["uid"] for one in pods}


# Preemption


def test_a_critical_job_takes_the_only_gpu_and_the_one_it_was_taken_from_goes_on_later(
    shared: SharedClusters, tmp_path: Path
) -> None:
    saved, enough = tmp_path / "saved", tmp_path / "enough"
    trains = f"test -e {saved} && exit 0; sleep 1000000 & trap 'kill $!; sleep 0.3; touch {saved}; exit 1' TERM; wait"
    goes_on = f"until test -e {enough}; do sleep 0.05; done"

    async def scenario(cluster: RealCluster) -> None:
        monitor = cluster.monitor
        await cluster.priorities(critical=1_100_000, medium=1_000_000)
        await cluster.create(job("medium", "medium", gpus=1, program=trains))
        [victim] = await monitor.until("medium runs", lambda: running(monitor, "medium"))
        await cluster.create(job("critical", "critical", gpus=1, program=goes_on))
        [taker] = await monitor.until("critical runs", lambda: running(monitor, "critical"))
        assert saved.exists()  # it was given the time
        name, node = taker["metadata"]["name"], taker["spec"]["nodeName"]
        assert node == victim["spec"]["nodeName"] == "192.168.0.23"
        [words] = await monitor.until("why", lambda: monitor.told("Preempted", "Pod", victim["metadata"]["name"]))
        assert words.startswith(f"Preempted by default/{name} on node {node}")
        stopping = await monitor.until("it ends", lambda: monitor.told("Killing", "Pod", victim["metadata"]["name"]))
        assert stopping == ["Stopping container main"]
        assert monitor.pods_of("medium") == []
        enough.touch()
        await monitor.until("medium is done", lambda: is_complete(monitor, "medium"))
        status = (monitor.find(JOBS, "medium") or {})["status"]
        assert (status["succeeded"], status.get("failed", 0)) == (1, 0)
        await monitor.until("it is told", lambda: monitor.told("Resumed", "Job", "medium"))

    shared.play(example_nodes("one-gpu"), scenario)


def test_a_victim_that_asks_for_it_ends_instead(shared: SharedClusters) -> None:
    async def scenario(cluster: RealCluster) -> None:
        monitor = cluster.monitor
        await cluster.priorities(low=1, high=2)
        await cluster.create(job("brief", "low", gpus=1, on_preemption="fail"))
        await monitor.until("brief runs", lambda: running(monitor, "brief"))
        await cluster.create(job("hero", "high", gpus=1))
        await monitor.until("hero runs", lambda: running(monitor, "hero"))
        failed = await monitor.until("brief failed", lambda: condition(monitor.find(JOBS, "brief"), "Failed"))
        assert failed["reason"] == "Preempted"
        assert "Job/default/hero" in failed["message"]
        await cluster.delete(JOBS, "hero", propagation="Background")
        await monitor.until("hero is gone", lambda: not monitor.all(PODS))
        assert monitor.pods_of("brief") == []

    shared.play([node("one", gpu="1")], scenario)


def domain(monitor: ClusterMonitor, pod: Document) -> str:
    found = monitor.find(NODES, pod["spec"]["nodeName"])
    assert found is not None
    return str(found["metadata"]["labels"][POOL])


def shared_slices(monitor: ClusterMonitor) -> Iterator[str]:
    """Slices on which pods of two priorities have seats, be it on their way out."""
    found: dict[str, set[str]] = {}
    for one in monitor.all(PODS):
        if one["spec"].get("nodeName") and one.get("status", {}).get("phase") not in ("Succeeded", "Failed"):
            found.setdefault(domain(monitor, one), set()).add(one["spec"]["priorityClassName"])
    yield from (f"{name} is shared by {sorted(there)}" for name, there in found.items() if len(there) > 1)


@pytest.mark.parametrize("kind", ["Job", "JobSet"])
def test_a_job_on_slices_goes_whole_and_no_slice_is_ever_shared(shared: SharedClusters, kind: str) -> None:
    """The low one has all five slices, a Job or a child Job on each; the high one wants three of them."""
    lingers = "sleep 1000000 & trap 'kill $!; sleep 0.5; exit 1' TERM; wait"

    def wanted(name: str, slices: int) -> list[Document]:
        alike = [job(f"{name}-{n}", name, pods=2, program=lingers, exclusive_topology=POOL) for n in range(slices)]
        return alike if kind == "Job" else [jobset(name, slices, alike[0])]

    async def scenario(cluster: RealCluster) -> None:
        monitor = cluster.monitor
        monitor.more_rules.append(lambda: shared_slices(monitor))
        await cluster.priorities(low=1_000_000, high=2_000_000)

        def of(priority: str) -> list[Document]:
            return [one for one in monitor.all(PODS) if one["spec"]["priorityClassName"] == priority]

        def up(priority: str, count: int) -> list[Document]:
            pods = of(priority)
            return pods if [one.get("status", {}).get("phase") for one in pods] == ["Running"] * count else []

        await cluster.create(*wanted("low", 5))
        await monitor.until("low runs", lambda: up("low", 10))
        await cluster.create(*wanted("high", 3))
        high = await monitor.until("high runs", lambda: up("high", 6))
        left = {"Job": 4, "JobSet": 0}[kind]  # Jobs go one by one, a JobSet goes whole
        assert len([one for one in of("low") if one["spec"].get("nodeName")]) == left
        assert len({domain(monitor, one) for one in high}) == 3
        for document in wanted("high", 3):
            resource = {"Job": JOBS, "JobSet": JOB_SETS}[kind]
            await cluster.delete(resource, document["metadata"]["name"], propagation="Background")
        await monitor.until("low runs again", lambda: up("low", 10))

    shared.play(example_nodes("slices"), scenario)


def test_a_gang_is_seated_in_one_stroke(shared: SharedClusters) -> None:
    async def scenario(cluster: RealCluster) -> None:
        await cluster.create(job("wide", pods=20))
        await cluster.monitor.until("one has a seat", lambda: seated(cluster.monitor, "wide"))
        answer = await cluster.client.request("GET", PODS.path("default"))
        pods = msgspec.json.decode(answer)["items"]
        assert len(pods) == 20
        assert all(one["spec"].get("nodeName") for one in pods)
        await cluster.monitor.until("all run", lambda: running(cluster.monitor, "wide", 20))

    shared.play([node("one"), node("two")], scenario)


def test_an_equal_waits_knows_why_and_starts_by_itself(shared: SharedClusters) -> None:
    async def scenario(cluster: RealCluster) -> None:
        monitor = cluster.monitor
        await cluster.priorities(same=5)
        await cluster.create(job("first", "same", gpus=1))
        first = await monitor.until("first runs", lambda: running(monitor, "first"))
        await cluster.create(job("second", "same", gpus=1))

        def refusal() -> Document | None:
            conditions = [c for one in monitor.pods_of("second") for c in one.get("status", {}).get("conditions", ())]
            return next((c for c in conditions if c["type"] == "PodScheduled" and c["status"] == "False"), None)

        told = await monitor.until("second is told why", refusal)
        assert told["reason"] == "Unschedulable"
        assert told["message"] == (
            "needs 1 pod with 1 nvidia.com/gpu; room for 0 of 1 pods; one has 0 of 1 nvidia.com/gpu free; "
            "held by Job/default/first, 1 seat: it has the same priority (5)"
        )
        [words] = await monitor.until("an event", lambda: monitor.told("FailedScheduling", "Pod", "second"))
        assert words == told["message"]
        assert uids(running(monitor, "first")) == uids(first)
        await cluster.delete(JOBS, "first", propagation="Background")
        await monitor.until("second runs", lambda: running(monitor, "second"))
        assert not refusal()

    shared.play([node("one", gpu="1")], scenario)


def test_an_elastic_job_gives_up_its_surplus_and_grows_back(shared: SharedClusters) -> None:
    async def scenario(cluster: RealCluster) -> None:
        monitor = cluster.monitor
        await cluster.priorities(low=1, high=2)
        await cluster.create(job("elastic", "low", pods=3, gpus=1, min_members="1"))
        before = await monitor.until("all three run", lambda: running(monitor, "elastic", 3))
        await cluster.create(job("hero", "high", pods=2, gpus=1))
        await monitor.until("hero runs", lambda: running(monitor, "hero", 2))
        [left] = seated(monitor, "elastic")
        assert uids([left]) < uids(before)  # it goes on where it is
        await monitor.until("the others wait", lambda: len(monitor.pods_of("elastic")) == 3)
        await cluster.delete(JOBS, "hero", propagation="Background")
        after = await monitor.until("all three run again", lambda: running(monitor, "elastic", 3))
        assert uids([left]) < uids(after)
        status = (monitor.find(JOBS, "elastic") or {})["status"]
        assert status.get("failed", 0) == status.get("succeeded", 0) == 0

    shared.play([node(name, gpu="1") for name in ("one", "two", "three")], scenario)


def test_a_budget_is_violated_only_if_no_other_gang_can_make_room(shared: SharedClusters) -> None:
    async def scenario(cluster: RealCluster) -> None:
        monitor = cluster.monitor
        await cluster.priorities(low=1, high=2)
        await cluster.create(budget("kept", "kept", 1), job("kept", "low", gpus=1), job("open", "low", gpus=1))
        await monitor.until("both run", lambda: running(monitor, "kept") and running(monitor, "open"))
        await monitor.until("it is counted", lambda: allowed(monitor, "kept") == 0)
        await cluster.create(job("hero", "high", gpus=1))
        await monitor.until("hero runs", lambda: running(monitor, "hero"))
        assert running(monitor, "kept")
        assert not seated(monitor, "open")
        await cluster.create(job("second-hero", "high", gpus=1))
        await monitor.until("the second hero runs", lambda: running(monitor, "second-hero"))
        assert not seated(monitor, "kept")

    shared.play([node("one", gpu="1"), node("two", gpu="1")], scenario)


def allowed(monitor: ClusterMonitor, name: str) -> int | None:
    found = (monitor.find(BUDGETS, name) or {}).get("status", {})
    return found.get("disruptionsAllowed") if found.get("expectedPods") else None


def test_one_that_may_not_preempt_waits_for_room(shared: SharedClusters) -> None:
    async def scenario(cluster: RealCluster) -> None:
        monitor = cluster.monitor
        await cluster.priorities(low=1, patient={"value": 9, "preemptionPolicy": "Never"})
        await cluster.create(job("low", "low", gpus=1))
        before = await monitor.until("low runs", lambda: running(monitor, "low"))
        await cluster.create(job("patient", "patient", gpus=1))
        [words] = await monitor.until("why", lambda: monitor.told("FailedScheduling", "Pod", "patient"))
        assert "held by Job/default/low, 1 seat: it is less important, but this gang may not preempt" in words
        assert running(monitor, "low") == before
        await cluster.delete(JOBS, "low", propagation="Background")
        await monitor.until("patient runs", lambda: running(monitor, "patient"))

    shared.play([node("one", gpu="1")], scenario)


# What makes no sense


def test_what_names_no_known_class_is_refused_or_told_and_others_go_on(tmp_path: Path) -> None:
    async def scenario(cluster: RealCluster) -> None:
        monitor = cluster.monitor
        with pytest.raises(Refused, match="no PriorityClass with name nosuch was found") as refused:
            await cluster.create(lone_pod("lonely", "nosuch"))
        assert refused.value.code == 403
        await cluster.create(job("lost", "nosuch"))
        words, *_ = await monitor.until("lost is told", lambda: monitor.told("FailedCreate", "Job", "lost"))
        assert "no PriorityClass with name nosuch was found" in words
        await cluster.create(job("other"))
        await monitor.until("other runs", lambda: running(monitor, "other"))
        await cluster.priorities(nosuch=1)
        await monitor.until("lost runs after all", lambda: running(monitor, "lost"))

    play(tmp_path, [node("one")], scenario, Setup(expected=("no PriorityClass with name nosuch",)))


def test_an_annotation_that_makes_no_sense_is_told_and_others_go_on(shared: SharedClusters) -> None:
    async def scenario(cluster: RealCluster) -> None:
        monitor = cluster.monitor
        await cluster.create(job("odd", pods=2, min_members="a few"))
        [words] = await monitor.until("odd is told", lambda: monitor.told("InvalidObject", "Job", "odd"))
        assert "understudy.dev/min-members" in words
        assert "'a few' is not a number of members" in words
        await cluster.create(job("other"))
        await monitor.until("other runs", lambda: running(monitor, "other"))
        assert not seated(monitor, "odd")
        await cluster.patch(JOBS, "odd", {"metadata": {"annotations": {"understudy.dev/min-members": "1"}}})
        await monitor.until("odd runs once it is mended", lambda: running(monitor, "odd", 2))

    shared.play([node("one")], scenario)


# Processes


async def log_of(cluster: RealCluster, pod: Document) -> str:
    path = PODS.path(pod["metadata"]["namespace"], pod["metadata"]["name"], "log")
    return (await cluster.client.request("GET", path)).decode()


def test_no_two_pods_see_the_same_accelerator(shared: SharedClusters) -> None:
    """Eight pods, one GPU each, on two nodes of four; then two that want all of a node, in the places of the first."""
    shows = "echo $CUDA_VISIBLE_DEVICES; sleep 1000000 & trap 'kill $!; exit 1' TERM; wait"

    async def scenario(cluster: RealCluster) -> None:
        monitor = cluster.monitor

        async def devices(name: str, pods: int) -> list[str]:
            up = await monitor.until(f"{name} runs", lambda: running(monitor, name, pods))
            return [(await log_of(cluster, one)).strip() for one in up]

        await cluster.priorities(low=1, high=2)
        await cluster.create(job("eight", "low", pods=8, gpus=1, program=shows))
        assert sorted(await devices("eight", 8)) == list("01234567")
        await cluster.create(job("two", "high", pods=2, gpus=4, program=shows))
        assert sorted(await devices("two", 2)) == ["0,1,2,3", "4,5,6,7"]

    shared.play([node("one", gpu="4"), node("two", gpu="4")], scenario)


MEETING = """
import os, pathlib, socket, sys, time
listen, call, port, own, *all_files = *sys.argv[1:3], 29500, *map(pathlib.Path, sys.argv[3:])
greeting = f"hello from {socket.gethostname()}".encode()
if os.environ["JOB_COMPLETION_INDEX"] == "0":
    with socket.create_server((listen, port)) as server:
        own.touch()
        peer, _ = server.accept()
else:
    while not all(file.exists() for file in all_files):
        time.sleep(0.02)
    peer = socket.create_connection((call, port))
with peer:
    peer.sendall(greeting)
    print("heard", peer.recv(100).decode(), flush=True)
"""


NO_COMPILER = not any(map(shutil.which, ("cc", "gcc", "clang")))


@pytest.mark.parametrize(
    "listens_on",
    [
        "its name",
        pytest.param("all addresses", marks=pytest.mark.skipif(NO_COMPILER, reason="this takes a C compiler")),
    ],
)
def test_pods_find_each_other_by_name_and_jobs_do_not_get_in_each_others_way(
    shared: SharedClusters, tmp_path: Path, listens_on: str
) -> None:
    """Two jobs side by side on one node. Both listen on the same port, and only then does any client connect."""
    listening = {name: tmp_path / f"{name} listens" for name in ("red", "blue")}

    async def scenario(cluster: RealCluster) -> None:
        monitor = cluster.monitor
        for name, file in listening.items():
            talks = job(name, pods=2)
            spec = talks["spec"]["template"]["spec"]
            spec["subdomain"] = f"{name}-pods"
            host = f"{name}-0.{name}-pods"
            arguments = [host if listens_on == "its name" else "", host, str(file), *map(str, listening.values())]
            spec["containers"][0]["command"] = [sys.executable, "-c", MEETING, *arguments]
            await cluster.create(headless_service(f"{name}-pods", name), talks)
        for name in listening:
            await monitor.until(f"{name} is done", partial(is_complete, monitor, name))
            heard = [await log_of(cluster, one) for one in monitor.pods_of(name)]
            assert heard == [f"heard hello from {name}-1\n", f"heard hello from {name}-0\n"]

    shared.play([node("one")], scenario)


# Nodes


@pytest.mark.parametrize("how", ["its power is cut", "it is deleted"])
def test_when_a_node_goes_a_spare_steps_in_and_the_others_run_on(tmp_path: Path, how: str) -> None:
    async def scenario(cluster: RealCluster) -> None:
        monitor = cluster.monitor
        await cluster.create(job("train", pods=3, gpus=8))
        before = await monitor.until("it runs", lambda: running(monitor, "train", 3))
        assert "spare" not in {one["spec"]["nodeName"] for one in before}
        lost = before[1]
        if how == "it is deleted":
            await cluster.delete(NODES, lost["spec"]["nodeName"])
        else:
            await cluster.fail(lost["spec"]["nodeName"])

        def whole_again() -> list[Document]:
            pods = running(monitor, "train", 3)
            return pods if any(one["spec"]["nodeName"] == "spare" for one in pods) else []

        after = await monitor.until("it runs again", whole_again)
        assert uids(before) - uids(after) == uids([lost])
        [words] = await monitor.until("it is told", lambda: monitor.told("HotSwapped", "Job", "train"))
        assert f"{lost['spec']['nodeName']} -> spare (spare)" in words
        status = (monitor.find(JOBS, "train") or {})["status"]
        assert status.get("failed", 0) == 0

    spare = node("spare", gpu="8", labels={"understudy.dev/spare": "keep"})
    expected = Setup(expected=("was deleted; it registers again",))
    play(tmp_path, [*(node(name, gpu="8") for name in ("one", "two", "three")), spare], scenario, expected)


def test_a_victim_that_does_not_listen_is_killed_when_its_grace_is_over_and_comes_back(shared: SharedClusters) -> None:
    deaf = job("deaf", "low", gpus=8, program="trap '' TERM; while true; do sleep 0.1; done")
    deaf["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = 1

    async def scenario(cluster: RealCluster) -> None:
        monitor = cluster.monitor
        await cluster.priorities(low=1, high=2)
        await cluster.create(job("hero", "high", gpus=8))
        [hero] = await monitor.until("hero runs", lambda: running(monitor, "hero"))
        await cluster.create(deaf)
        [victim] = await monitor.until("deaf runs", lambda: running(monitor, "deaf"))
        there = hero["spec"]["nodeName"]
        await cluster.fail(there)

        def moved() -> list[Document]:
            return [one for one in running(monitor, "hero") if one["spec"]["nodeName"] != there]

        [hero] = await monitor.until("hero has the seat", moved)
        assert hero["spec"]["nodeName"] == victim["spec"]["nodeName"]
        assert uids([victim]).isdisjoint(uids(monitor.all(PODS)))
        await cluster.recover(there)
        [back] = await monitor.until("deaf is back", lambda: running(monitor, "deaf"))
        assert back["spec"]["nodeName"] == there
        await cluster.delete(JOBS, "deaf", propagation="Background")
        await monitor.until("deaf is gone", lambda: uids([back]).isdisjoint(uids(monitor.all(PODS))))

    shared.play([node("one", gpu="8"), node("two", gpu="8")], scenario)
