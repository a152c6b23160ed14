"""Which failures are a job's own: counted once, on healthy nodes, and not when a node is to blame."""

from collections.abc import Awaitable, Callable

import pytest

from tests.control.loop_harness import LoopHarness, run_scenario
from tests.objects.documents import Document, job, node, pod
from understudy.control.record.job_failures import JobFailures
from understudy.kinds.annotations import FAILED_AT, format_time
from understudy.objects.resources import JOBS, NODES, PODS
from understudy.ports import Unreachable

Change = Callable[[Document], None]


def failures(world: LoopHarness, name: str = "j") -> int:
    """How many are written on the job."""
    told = world.cluster.find(JOBS, name)["metadata"].get("annotations", {}).get(FAILED_AT, "")
    return len([moment for moment in told.split(",") if moment])


def fail(world: LoopHarness, *pods: Document, gone: bool = True) -> None:
    for one in pods:
        one["status"]["phase"] = "Failed"
        world.cluster.change(one)
        if gone:
            world.cluster.take_away(one)


def lose(world: LoopHarness, name: str, since: float = 0.0) -> None:
    lost = world.cluster.find(NODES, name)
    moment = world.clock.now() - since
    lost["status"]["conditions"] = [{"type": "Ready", "status": "Unknown", "lastTransitionTime": format_time(moment)}]
    world.cluster.change(lost)


def pods(world: LoopHarness) -> list[Document]:
    return sorted(world.cluster.all(PODS), key=lambda one: str(one["spec"].get("nodeName")))


def playing(scenario: Callable[[LoopHarness], Awaitable[None]], nodes: int = 2, members: int = 2) -> None:
    """On nodes for a pod each, with a Job that has run for a while."""

    async def told(world: LoopHarness) -> None:
        for number in range(nodes):
            world.cluster.put(node(f"n{number}", allocatable={"cpu": "1", "pods": "110"}))
        world.cluster.put(job("j", parallelism=members, completions=members, completionMode="Indexed", backoffLimit=9))
        await world.settle()
        assert len(world.seats()) == members
        await world.clock.let_pass(100.0)
        await scenario(world)

    run_scenario(told)


def test_a_failure_counts_once_however_many_pods_go_down_with_it() -> None:
    async def scenario(world: LoopHarness) -> None:
        first, second = pods(world)
        fail(world, first)
        await world.settle()
        assert failures(world) == 1
        fail(world, second)  # a moment later, since the first was gone
        await world.settle()
        assert failures(world) == 1
        await world.clock.let_pass(60.0)
        fail(world, *pods(world))
        await world.settle()
        assert failures(world) == 2

    playing(scenario)


def test_a_pod_that_replaced_a_failed_one_counts_when_it_fails_too() -> None:
    async def scenario(world: LoopHarness) -> None:
        (one,) = pods(world)
        fail(world, one)
        world.hands.act()  # the pod is made anew within the same moment
        assert len(pods(world)) == 1
        await world.settle()
        assert failures(world) == 1
        await world.clock.let_pass(20.0)
        fail(world, *pods(world))
        await world.settle()
        assert failures(world) == 2

    playing(scenario, members=1)


def test_what_fails_later_because_the_gang_was_mended_does_not_count() -> None:
    async def scenario(world: LoopHarness) -> None:
        first, second = pods(world)
        world.cluster.take_away(first)  # its node was, say
        await world.settle()
        await world.clock.let_pass(30.0)
        fail(world, second)
        await world.settle()
        assert failures(world) == 0

    playing(scenario)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda one: one["metadata"].update(deletionTimestamp="2026-01-01T00:00:00Z"), id="told to go"),
        pytest.param(lambda one: one["status"].update(reason="Evicted"), id="evicted"),
    ],
)
def test_a_pod_that_had_to_go_did_not_fail_by_itself(change: Change) -> None:
    async def scenario(world: LoopHarness) -> None:
        (one,) = pods(world)
        change(one)
        fail(world, one)
        await world.settle()
        assert failures(world) == 0

    playing(scenario, members=1)


def test_a_failure_beside_a_lost_node_does_not_count() -> None:
    async def scenario(world: LoopHarness) -> None:
        first, second = pods(world)
        lose(world, first["spec"]["nodeName"])
        fail(world, second)
        await world.settle()
        assert failures(world) == 0

    playing(scenario)


@pytest.mark.parametrize(("silent", "left"), [(5.0, 0), (-100.0, 1)], ids=["dead by then", "died much later"])
def test_a_failure_is_struck_out_when_a_node_turns_out_to_have_been_dead(silent: float, left: int) -> None:
    async def scenario(world: LoopHarness) -> None:
        first, second = pods(world)
        fail(world, second)
        await world.settle()
        assert failures(world) == 1
        lose(world, first["spec"]["nodeName"], since=silent)
        await world.settle()
        assert failures(world) == left

    playing(scenario, nodes=3)


def test_jobs_that_fail_again_and_again_do_not_keep_other_pods_from_being_seated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def always_something(*_: object) -> bool:
        return True

    async def scenario(world: LoopHarness) -> None:
        monkeypatch.setattr(JobFailures, "write", always_something)
        world.cluster.put(node("late", allocatable={"cpu": "1", "pods": "110"}))
        world.cluster.put(pod("x"))
        await world.clock.let_pass(0.1)
        assert world.seats()["x"] == "late"

    playing(scenario, nodes=1, members=1)


def test_what_could_not_be_written_is_written_later() -> None:
    async def scenario(world: LoopHarness) -> None:
        def no_answer(write: str) -> None:
            if write.startswith("patch jobs"):
                world.cluster.before_write = lambda _: None
                raise Unreachable("no answer")

        world.cluster.before_write = no_answer
        fail(world, *pods(world))
        await world.settle()
        await world.clock.let_pass(1.0)
        await world.settle()
        assert failures(world) == 1

    playing(scenario)


def test_pods_without_a_job_and_deleted_jobs_are_skipped() -> None:
    async def scenario(world: LoopHarness) -> None:
        lone = world.cluster.put(pod("lone"))
        await world.settle()
        fail(world, lone, gone=False)
        (one,) = [each for each in pods(world) if each is not lone]
        world.cluster.take_away(world.cluster.find(JOBS, "j"))
        fail(world, one)
        await world.settle()
        assert not [write for write in world.cluster.writes if write.startswith("patch jobs") and "lone" in write]
        assert world.loop.at_rest

    playing(scenario, members=1)
