"""The record of nodes that failed: every loss once, with any number of schedulers, and no entry for a mass failure."""

import pytest

from tests.control.loop_harness import LoopHarness, run_scenario
from tests.control.record.test_incidents import READY, begin, lose
from tests.objects.documents import lease
from tests.scenarios.test_random_walks import torch
from understudy.control.loop import LoopSettings
from understudy.decide.policy import Policy
from understudy.kinds.annotations import PREFIX, format_time
from understudy.objects.resources import NODES
from understudy.ports import Refused

FAILED_AT = f"{PREFIX}failed-at"


def failures(world: LoopHarness, name: str) -> list[str]:
    noted = world.cluster.find(NODES, name)["metadata"].get("annotations", {}).get(FAILED_AT, "")
    return [text for text in noted.split(",") if text]


def recover(world: LoopHarness, name: str) -> None:
    document = world.cluster.find(NODES, name)
    document["status"]["conditions"] = [READY]
    world.cluster.change(document)


def test_every_loss_is_noted_once_also_by_a_loop_that_comes_later() -> None:
    async def scenario(world: LoopHarness) -> None:
        await begin(world, "a b")
        lose(world, "a")
        await world.settle()
        assert len(failures(world, "a")) == 1
        await world.restart()
        await world.settle()
        assert len(failures(world, "a")) == 1
        for times in (2, 3):
            recover(world, "a")
            await world.settle()
            world.clock.jump(30.0)
            lose(world, "a")
            await world.settle()
            assert len(failures(world, "a")) == times
        assert failures(world, "b") == []

    run_scenario(scenario)


def test_a_loss_that_a_server_in_trouble_refused_is_noted_later() -> None:
    async def scenario(world: LoopHarness) -> None:
        await begin(world, "a b")

        def refuse(what: str) -> None:
            if what.startswith("patch nodes"):
                raise Refused(500, "InternalError", "not now")

        world.cluster.before_write = refuse
        lose(world, "a")
        await world.clock.let_pass(5.0)
        assert failures(world, "a") == []
        world.cluster.before_write = lambda _: None
        await world.clock.let_pass(5.0)
        assert len(failures(world, "a")) == 1

    run_scenario(scenario)


def test_a_node_that_keeps_flapping_is_written_about_while_it_does() -> None:
    """Failures within moments of each other are one, and the next does not put off the writing of the last."""

    async def scenario(world: LoopHarness) -> None:
        await begin(world, "a b")
        for _ in range(10):
            lose(world, "a")
            await world.clock.let_pass(0.25)
            recover(world, "a")
            await world.clock.let_pass(0.25)
        assert len(failures(world, "a")) == 2

    run_scenario(scenario)


def test_what_is_long_ago_is_forgotten() -> None:
    async def scenario(world: LoopHarness) -> None:
        await begin(world, "a b")
        for _ in range(2):
            lose(world, "a")
            await world.settle()
            recover(world, "a")
            await world.settle()
            world.clock.jump(2000.0)
        assert len(failures(world, "a")) == 1

    run_scenario(scenario, LoopSettings(Policy(lemon_window=1000.0)))


def test_a_node_whose_silence_is_marked_later_has_failed_once() -> None:
    async def scenario(world: LoopHarness) -> None:
        await begin(world, "a b")
        for name in ("a", "b"):
            world.cluster.put(lease(name, format_time(world.clock.now())))
        for _ in range(8):
            await world.clock.let_pass(5.0)
            world.cluster.put(lease("b", format_time(world.clock.now())))
            await world.settle()
        assert len(failures(world, "a")) == 1
        lose(world, "a", "NodeStatusUnknown")
        await world.settle()
        await world.restart()
        await world.settle()
        assert len(failures(world, "a")) == 1

    run_scenario(scenario)


def test_where_many_nodes_fail_at_once_no_failure_is_recorded() -> None:
    async def scenario(world: LoopHarness) -> None:
        await begin(world, "a b c")
        for name in ("a", "b"):
            lose(world, name)
        await world.settle()
        assert failures(world, "a") == failures(world, "b") == []

    run_scenario(scenario, LoopSettings(Policy(mass_failure_nodes=2)))


@pytest.mark.parametrize("forgiven", [False, True])
def test_a_node_that_failed_often_gets_no_pods_until_its_record_is_removed(forgiven: bool) -> None:
    async def scenario(world: LoopHarness) -> None:
        await begin(world, "a")
        for _ in range(3):
            lose(world, "a")
            await world.settle()
            recover(world, "a")
            await world.settle()
            world.clock.jump(30.0)
        if forgiven:
            document = world.cluster.find(NODES, "a")
            del document["metadata"]["annotations"][FAILED_AT]
            world.cluster.change(document)
        world.cluster.put(torch("hero", 1, "high"))
        await world.settle()
        assert world.seats() == ({"hero-worker-0": "a"} if forgiven else {})
        if not forgiven:
            assert "failed 3 times lately" in world.condition("hero-worker-0", "PodScheduled")["message"]

    run_scenario(scenario)
