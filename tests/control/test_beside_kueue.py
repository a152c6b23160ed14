"""The loop beside others: jobs that Kueue queues, scheduling gates of others, namespaces opted in by a policy."""

from typing import Any

import pytest

from tests.control.apply.test_seat_release import gpu_job, gpus, with_victim
from tests.control.loop_harness import LoopHarness, run_scenario
from tests.kinds.pod_groups.documents import BY_FIELD, pod_group
from tests.objects.documents import Document, node, pod
from understudy.control.loop import LoopSettings
from understudy.kinds.annotations import PREFIX
from understudy.objects.resources import JOBS, NODES, PODS

QUEUE = "kueue.x-k8s.io/queue-name"
GATE = {"name": "kueue.x-k8s.io/topology"}
REQUEUED = {f"{PREFIX}requeued-at": "2026-01-01T00:00:00Z"}


def queued(name: str, priority: str, annotations: Document | None = None, **spec: Any) -> Document:
    found = gpu_job(name, priority, annotations, **spec)
    found["metadata"]["labels"] = {QUEUE: "team-a"}
    return found


def test_a_job_of_kueue_gives_way_by_its_pods_alone_and_keeps_its_place_in_line() -> None:
    async def scenario(world: LoopHarness) -> None:
        await with_victim(world, queued("victim", "low"))
        created = world.cluster.find(JOBS, "victim")["metadata"]["creationTimestamp"]
        (before,) = world.seats()
        world.cluster.put(gpu_job("hero", "high"))
        await world.settle()
        victim = world.cluster.find(JOBS, "victim")
        assert "suspend" not in victim["spec"]
        assert f"{PREFIX}requeued-at" not in victim["metadata"]["annotations"]
        assert victim["metadata"]["annotations"][f"{PREFIX}queued-at"] == created
        (seated,) = world.seats()
        assert seated.startswith("hero")
        waiting = [name for p in world.cluster.all(PODS) if (name := p["metadata"]["name"]).startswith("victim")]
        assert len(waiting) == 1, "its controller made it again"
        assert before not in waiting
        assert world.condition(waiting[0], "PodScheduled")["reason"] == "Unschedulable"
        world.cluster.take_away(world.cluster.find(JOBS, "hero"))
        world.cluster.take_away(world.pod(seated))
        await world.settle()
        assert list(world.seats()) == waiting
        assert "suspend" not in world.cluster.find(JOBS, "victim")["spec"]

    run_scenario(scenario)


def test_a_job_that_was_preempted_and_then_given_to_kueue_is_kueues() -> None:
    async def scenario(world: LoopHarness) -> None:
        await with_victim(world, queued("train", "low", REQUEUED, suspend=True))
        assert world.cluster.find(JOBS, "train")["spec"]["suspend"] is True
        assert world.seats() == {}
        del world.cluster.find(JOBS, "train")["metadata"]["labels"][QUEUE]
        world.cluster.change(world.cluster.find(JOBS, "train"))
        await world.settle()
        assert world.cluster.find(JOBS, "train")["spec"]["suspend"] is False

    run_scenario(scenario)


def test_a_gated_member_is_not_bound_and_no_gang_is_preempted_for_it() -> None:
    async def scenario(world: LoopHarness) -> None:
        await with_victim(world, pod_group("g", 2), gpu_job("lesser", "low"))
        for name in ("b", "c"):
            world.cluster.put(node(name, allocatable=gpus(8), conditions=[{"type": "Ready", "status": "True"}]))
        spec = {**gpu_job("", "high")["spec"]["template"]["spec"], **BY_FIELD}
        world.cluster.put(pod("g-0", **spec))
        world.cluster.put(pod("g-1", schedulingGates=[GATE], **spec))
        await world.settle()
        assert [name for name in world.seats() if name.startswith("g-")] == []
        assert "scheduling gate kueue.x-k8s.io/topology" in world.condition("g-0", "PodScheduled")["message"]
        world.pod("g-1")["spec"].pop("schedulingGates")
        world.cluster.change(world.pod("g-1"))
        await world.settle()
        assert {name: seat for name, seat in world.seats().items() if name.startswith("g-")}.keys() == {"g-0", "g-1"}

    run_scenario(scenario)


def test_a_replacement_behind_a_gate_is_waited_for() -> None:
    """It runs, one of its nodes dies, and Kueue has to say first where the new pod may go."""

    async def scenario(world: LoopHarness) -> None:
        await with_victim(world, gpu_job("lesser", "low"))
        for name in ("b", "c"):
            world.cluster.put(node(name, allocatable=gpus(8), conditions=[{"type": "Ready", "status": "True"}]))
        world.cluster.put(queued("train", "high", parallelism=2, completions=2, completionMode="Indexed"))
        await world.settle()
        lost = {seat: name for name, seat in world.seats().items()}["c"]
        train = world.cluster.find(JOBS, "train")
        train["spec"]["template"]["spec"]["schedulingGates"] = [GATE]
        world.cluster.change(train)
        world.cluster.take_away(world.pod(lost))
        world.cluster.take_away(world.cluster.find(NODES, "c"))
        await world.settle()
        names = {name.partition("-")[0] for name in world.seats()}
        assert names == {"lesser", "train"}, "the lesser one was not disturbed for a pod behind a gate"
        (new,) = [p for p in world.cluster.all(PODS) if p["spec"].get("schedulingGates")]
        del new["spec"]["schedulingGates"]
        new["spec"]["nodeSelector"] = {"kubernetes.io/hostname": "a"}
        node_a = world.cluster.find(NODES, "a")
        node_a["metadata"]["labels"] = {"kubernetes.io/hostname": "a"}
        world.cluster.change(node_a)
        del train["spec"]["template"]["spec"]["schedulingGates"]
        world.cluster.change(train)
        world.cluster.change(new)
        await world.settle()
        assert world.seats()[new["metadata"]["name"]] == "a"

    run_scenario(scenario)


@pytest.mark.parametrize("named", ["default-scheduler", "understudy"])
def test_a_job_opted_in_by_a_policy_is_paused_and_comes_back_though_its_template_says_nothing(named: str) -> None:
    async def scenario(world: LoopHarness) -> None:
        _opt_in(world)
        victim, hero = gpu_job("victim", "low"), gpu_job("hero", "high")
        for job in (victim, hero):
            job["spec"]["template"]["spec"]["schedulerName"] = named
        await with_victim(world, victim)
        world.cluster.put(hero)
        await world.settle()
        assert world.cluster.find(JOBS, "victim")["spec"]["suspend"] is True
        (seated,) = world.seats()
        world.cluster.take_away(world.cluster.find(JOBS, "hero"))
        world.cluster.take_away(world.pod(seated))
        await world.settle()
        assert [name.partition("-")[0] for name in world.seats()] == ["victim"]

    run_scenario(scenario, LoopSettings(scheduler_name="understudy"))


def _opt_in(world: LoopHarness) -> None:
    """As an admission policy does it: every pod that is made gets the name of the scheduler."""
    put = world.cluster.put

    def mutated(document: Document) -> Document:
        if document["kind"] == "Pod":
            document["spec"]["schedulerName"] = "understudy"
        return put(document)

    world.cluster.put = mutated  # type: ignore[method-assign]
