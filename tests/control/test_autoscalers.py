"""Autoscalers add machines for pods that wait: what the cluster autoscaler and Karpenter look for is on these pods.

Both go by the condition PodScheduled with reason Unschedulable, whichever scheduler a pod names. Both leave alone pods
with a nominated node, since room is being made for these. The rest differs, as their sources say.
"""

from typing import Any

import pytest

from tests.control.loop_harness import LoopHarness, run_scenario
from tests.objects.documents import Document, node, priority_class
from tests.scenarios.test_random_walks import torch
from understudy.control.apply.provisioning_documents import CONSUMES, AutoscalerSettings
from understudy.control.loop import LoopSettings
from understudy.control.record.event_recorder import REPEAT_AFTER
from understudy.decide.policy import Policy
from understudy.objects.resources import NODES, PODS, PROVISIONING_REQUESTS

EXPENDABLE_BELOW = -10  # the default of --expendable-pods-priority-cutoff
READY = {"type": "Ready", "status": "True"}


def cluster_autoscaler_would_act(pod: Document) -> bool:
    """Whether it counts the pod as unschedulable and does not leave it out, with its default flags.

    A pod with a nominated node counts as sitting there. One below the cutoff of priority is expendable, and one that
    consumes a ProvisioningRequest is left to that."""
    if pod["spec"].get("nodeName") or pod["metadata"].get("deletionTimestamp"):
        return False
    status: dict[str, Any] = pod.get("status", {})
    if status.get("phase") in ("Succeeded", "Failed") or status.get("nominatedNodeName"):
        return False
    if pod["spec"].get("priority", 0) < EXPENDABLE_BELOW or CONSUMES in pod["metadata"].get("annotations", {}):
        return False
    found = [condition for condition in status.get("conditions", ()) if condition["type"] == "PodScheduled"]
    return any((condition["status"], condition["reason"]) == ("False", "Unschedulable") for condition in found)


def karpenter_would_act(pod: Document) -> bool:
    """Whether the pod is provisionable. It looks at the reason of the condition, not at its status."""
    status: dict[str, Any] = pod.get("status", {})
    if pod["spec"].get("nodeName") or status.get("nominatedNodeName"):
        return False
    owners = [owner["kind"] for owner in pod["metadata"].get("ownerReferences", ())]
    if "DaemonSet" in owners or "Node" in owners:
        return False
    conditions = status.get("conditions", ())
    return any((one["type"], one.get("reason")) == ("PodScheduled", "Unschedulable") for one in conditions)


def autoscalers_would_act(pod: Document) -> bool:
    return cluster_autoscaler_would_act(pod) and karpenter_would_act(pod)


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


def test_while_others_leave_for_a_gang_nothing_asks_and_if_that_fails_its_pods_ask_again() -> None:
    async def scenario(world: LoopHarness) -> None:
        prepared(world)
        world.cluster.put(torch("low", 1, "low"))
        await world.settle()
        world.hands.clinging.add("PyTorchJob/default/low")
        world.cluster.put(torch("high", 1, "high"))
        await world.settle()
        (waits,) = [pod for pod in world.cluster.all(PODS) if pod["metadata"]["name"].startswith("high")]
        assert (waits["status"]["nominatedNodeName"], acted_on(world)) == ("a", [])
        world.cluster.take_away(world.cluster.find(NODES, "a"))
        await world.settle()
        await world.clock.let_pass(REPEAT_AFTER)
        await world.settle()
        assert acted_on(world) == [waits["metadata"]["name"]]

    run_scenario(scenario)


def test_pods_for_which_a_request_was_made_are_left_to_the_request_by_the_cluster_autoscaler() -> None:
    async def scenario(world: LoopHarness) -> None:
        prepared(world)
        world.cluster.put(torch("big", 2, "high"))
        await world.settle()
        assert [cluster_autoscaler_would_act(pod) for pod in world.cluster.all(PODS)] == [False, False]
        assert len(world.cluster.all(PROVISIONING_REQUESTS)) == 1

    run_scenario(scenario, LoopSettings(autoscaler=AutoscalerSettings("a-class.example.com")))


WAITS: Document = {
    "metadata": {},
    "spec": {},
    "status": {
        "phase": "Pending",
        "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}],
    },
}


GATED = {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}


def merge(pod: Document, changes: Document) -> Document:
    return {part: {**pod[part], **changes.get(part, {})} for part in pod}


@pytest.mark.parametrize(
    ("changes", "cluster_autoscaler", "karpenter"),
    [
        ({}, True, True),
        ({"status": {"nominatedNodeName": "a"}}, False, False),
        ({"spec": {"nodeName": "a"}}, False, False),
        ({"status": {"conditions": [GATED]}}, False, False),
        ({"status": {"phase": "Failed"}}, False, True),
        ({"spec": {"priority": -11}}, False, True),
        ({"metadata": {"annotations": {CONSUMES: "x"}}}, False, True),
        ({"metadata": {"ownerReferences": [{"kind": "DaemonSet"}]}}, True, False),
    ],
)  # fmt: skip
def test_what_the_sources_of_both_say(changes: Document, cluster_autoscaler: bool, karpenter: bool) -> None:
    pod = merge(WAITS, changes)
    assert (cluster_autoscaler_would_act(pod), karpenter_would_act(pod)) == (cluster_autoscaler, karpenter)
