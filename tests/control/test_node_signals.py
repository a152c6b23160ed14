"""Signals of nodes through the whole loop: who moves, who stays, and what is reported."""

import pytest

from tests.control.loop_harness import LoopHarness, run_scenario
from tests.control.record.test_incidents import begin, incidents
from tests.objects.documents import Document
from tests.scenarios.test_random_walks import torch
from understudy.control.loop import LoopSettings
from understudy.control.view.node_health import CordonPolicy, HealthLimits
from understudy.control.view.signal_rules import SignalRule
from understudy.kinds.annotations import PREFIX, format_time
from understudy.model.nodes import Verdict
from understudy.objects.resources import EVENTS, NODES

LEAVE = LoopSettings(limits=HealthLimits(cordon=CordonPolicy.LEAVE))


def change(world: LoopHarness, name: str, **parts: Document) -> None:
    """Merges into the parts of a node."""
    document = world.cluster.find(NODES, name)
    for part, fields in parts.items():
        document[part] |= fields
    world.cluster.change(document)


@pytest.mark.parametrize(("settings", "seats"), [(LoopSettings(), ["a", "b"]), (LEAVE, ["b", "spare"])])
def test_a_cordon_under_running_pods(settings: LoopSettings, seats: list[str]) -> None:
    async def scenario(world: LoopHarness) -> None:
        await begin(world, "a b spare", torch("hero", 2, "high"))
        change(world, "a", spec={"unschedulable": True})
        await world.settle()
        assert sorted(world.seats().values()) == seats

    run_scenario(scenario, settings)


def test_a_cordon_that_is_taken_back_ends_the_notice() -> None:
    async def scenario(world: LoopHarness) -> None:
        await begin(world, "a b", torch("hero", 1, "high"))
        [before] = world.seats().values()
        change(world, before, spec={"unschedulable": True})
        await world.settle()
        [after] = world.seats().values()
        assert after != before
        change(world, before, spec={"unschedulable": False})
        world.cluster.put(torch("next", 1, "high"))
        await world.settle()
        assert sorted(world.seats().values()) == ["a", "b"]

    run_scenario(scenario, LEAVE)


def test_a_signal_of_the_settings_moves_a_gang() -> None:
    rule = SignalRule(Verdict.LEAVING, label="mine/retire", value="yes")

    async def scenario(world: LoopHarness) -> None:
        await begin(world, "a b spare", torch("hero", 2, "high"))
        change(world, "a", metadata={"labels": {"mine/retire": "yes"}})
        await world.settle()
        assert sorted(world.seats().values()) == ["b", "spare"]

    run_scenario(scenario, LoopSettings(limits=HealthLimits(signals=(rule,))))


def test_a_time_that_cannot_be_read_is_reported_once_and_moves_no_pod() -> None:
    async def scenario(world: LoopHarness) -> None:
        await begin(world, "a b", torch("hero", 2, "high"))
        for number in range(3):
            labels = {"cloud.google.com/scheduled-maintenance-time": "soon", "other": str(number)}
            change(world, "a", metadata={"labels": labels})
            await world.settle()
        assert sorted(world.seats().values()) == ["a", "b"]
        [(reason, message)] = world.events("a")
        assert reason == "InvalidObject"
        assert "metadata.labels[cloud.google.com/scheduled-maintenance-time]: 'soon' is not a time" in message
        assert all(event["count"] == 1 for event in world.cluster.all(EVENTS) if event["reason"] == "InvalidObject")

    run_scenario(scenario)


def test_two_notices_that_contradict_each_other_are_one_move() -> None:
    """A deadline in the past, a later one, and a condition that was withdrawn."""

    async def scenario(world: LoopHarness) -> None:
        await begin(world, "a b spare", torch("hero", 2, "high"))
        past, later = (format_time(world.clock.now() + ahead) for ahead in (-60.0, 600.0))
        over = {"type": "MaintenanceInProgress", "status": "False", "lastTransitionTime": past}
        taint = {"key": "aws-node-termination-handler/spot-itn", "effect": "NoSchedule"}
        change(
            world,
            "a",
            status={"conditions": [{"type": "Ready", "status": "True"}, over]},
            metadata={
                "labels": {"aws-node-termination-handler/action-time": str(world.clock.now() - 60.0)},
                "annotations": {f"{PREFIX}notice": f"deadline={later},source=aws"},
            },
            spec={"taints": [taint]},
        )
        await world.settle()
        assert sorted(world.seats().values()) == ["b", "spare"]
        assert len(incidents(world)) == 1
        assert world.events("a") == []

    run_scenario(scenario)
