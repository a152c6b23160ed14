"""Autoscalers add machines for pods that wait: what the cluster autoscaler and Karpenter look for is on these pods.

Both go by what is documented of them, whichever scheduler a pod names: the condition PodScheduled with reason
Unschedulable. Both leave alone pods with a nominated node, since room is being made for these.
"""

from typing import Any

import pytest

from tests.control.loop_harness import LoopHarness, run_scenario
from tests.objects.documents import Document, node, priority_class
from tests.scenarios.test_random_walks import torch
from understudy.control.loop import LoopSettings
from understudy.decide.policy import Policy
from understudy.objects.resources import PODS

READY = {"type": "Ready", "status": "True"}


def autoscalers_would_act(pod: Document) -> bool:
    """Whether the pod counts as unschedulable for the cluster autoscaler, and as provisionable for Karpenter."""
    status: dict[str, Any] = pod.get("status", {})
    if pod["spec"].get("nodeName") or status.get("nominatedNodeName") or "deletionTimestamp" in pod["metadata"]:
        return False
    if status.get("phase") in ("Succeeded", "Failed"):
        return False
    found = [condition for condition in status.get("conditions", ()) if condition["type"] == "PodScheduled"]
    return any((condition["status"], condition["reason"]) == ("False", "Unschedulable") for condition in found)


def machine(name: str, **labels: str) -> Document:
    amounts = {"cpu": "8", "pods": "9", "nvidia.com/gpu": "8"}
    return node(name, {"labels": labels}, allocatable=amounts, conditions=[READY])


def acted_on(world: LoopHarness) -> list[str]:
    return sorted(pod["metadata"]["name"] for pod in world.cluster.all(PODS) if autoscalers_would_act(pod))


def prepared(world: LoopHarness) -> None:
    world.cluster.put(priority_class("high", 9))
    world.cluster.put(priority_class("low", 1))
    world.cluster.put(machine("a"))


def test_all_pods_of_a_gang_that_does_not_fit_whole_ask_for_machines() -> None:
    async def scenario(world: LoopHarness) -> None:
        prepared(world)
        world.cluster.put(torch("big", 2, "high"))
        await world.settle()
        assert world.seats() == {}
        assert len(acted_on(world)) == 2
        world.cluster.put(machine("b"))
        await world.settle()
        assert len(world.seats()) == 2
        assert acted_on(world) == []

    run_scenario(scenario)


def test_a_gang_that_asks_for_spot_capacity_asks_for_machines_where_only_others_are_free() -> None:
    async def scenario(world: LoopHarness) -> None:
        prepared(world)
        world.cluster.put(torch("cheap", 1, "low", capacity="spot"))
        await world.settle()
        assert len(acted_on(world)) == 1
        world.cluster.put(machine("s", **{"karpenter.sh/capacity-type": "spot"}))
        await world.settle()
        assert list(world.seats().values()) == ["s"]

    run_scenario(scenario)


def test_a_gang_asks_for_machines_as_long_as_it_may_not_preempt_and_then_preempts() -> None:
    async def scenario(world: LoopHarness) -> None:
        prepared(world)
        world.cluster.put(torch("low", 1, "low"))
        await world.settle()
        world.cluster.put(torch("high", 1, "high", preemption_delay="5m"))
        await world.settle()
        assert acted_on(world) == [name for name in acted_on(world) if name.startswith("high")] != []
        assert [name for name in world.seats() if name.startswith("low")]
        (pod,) = [pod for pod in world.cluster.all(PODS) if pod["metadata"]["name"].startswith("high")]
        message = world.condition(pod["metadata"]["name"], "PodScheduled")["message"]
        assert "it waits for new machines before it preempts, until " in message
        await world.restart()  # the time is known from the objects alone
        await world.clock.let_pass(290.0)
        assert not [name for name in world.seats() if name.startswith("high")]
        await world.clock.let_pass(20.0)
        await world.settle()
        assert [name for name in world.seats() if name.startswith("high")]

    run_scenario(scenario)


def test_machines_that_come_in_time_spare_the_less_important_gang() -> None:
    async def scenario(world: LoopHarness) -> None:
        prepared(world)
        world.cluster.put(torch("low", 1, "low"))
        await world.settle()
        world.cluster.put(torch("high", 1, "high"))
        await world.settle()
        await world.clock.let_pass(100.0)
        world.cluster.put(machine("b"))
        await world.settle()
        await world.clock.let_pass(300.0)
        await world.settle()
        assert sorted(world.seats().values()) == ["a", "b"]
        assert not [event for event in world.events("low") if event[0] == "Preempted"]

    run_scenario(scenario, LoopSettings(policy=Policy(preemption_delay=300.0)))


@pytest.mark.parametrize("status", [{"nominatedNodeName": "a"}, {"phase": "Failed"}])
def test_pods_that_get_a_seat_without_new_machines_do_not_ask(status: Document) -> None:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    waits = {"metadata": {}, "spec": {}, "status": {"phase": "Pending", "conditions": [condition]}}
    assert autoscalers_would_act(waits)
    assert not autoscalers_would_act({**waits, "status": {**waits["status"], **status}})
