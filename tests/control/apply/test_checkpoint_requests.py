"""Requests to save, as pods see them: written once a pod when a notice comes, gone when it is over or withdrawn."""

from collections.abc import Mapping

from tests.control.fake_cluster import Document
from tests.control.loop_harness import LoopHarness, run_scenario
from tests.control.virtual_clock import BEGIN
from tests.objects.documents import job, node, pod_spec
from understudy.kinds.annotations import CHECKPOINT_BY, HOLDS, NOTICE, PREFIX, format_notice, format_time
from understudy.model.nodes import Notice
from understudy.objects.resources import JOBS, NODES, PODS

DEADLINE = BEGIN + 600.0
BY = format_time(DEADLINE - 35.0)  # the default grace period, and the margin
LAST_CHECKPOINT = f"{PREFIX}last-checkpoint"


def gpu_node(name: str) -> Document:
    return node(name, allocatable={"cpu": "8", "pods": "110", "nvidia.com/gpu": "1"})


def annotate(world: LoopHarness, document: Document, notes: Mapping[str, str | None]) -> None:
    kept: dict[str, str | None] = {**document["metadata"].get("annotations", {}), **notes}
    document["metadata"]["annotations"] = {name: note for name, note in kept.items() if note is not None}
    world.cluster.change(document)


def give_notice(world: LoopHarness, name: str, deadline: float = DEADLINE) -> None:
    notice = format_notice(Notice(deadline, "azure", "Preempt", world.clock.now()))
    annotate(world, world.cluster.find(NODES, name), {NOTICE: notice})


def withdraw_notice(world: LoopHarness, name: str) -> None:
    annotate(world, world.cluster.find(NODES, name), {NOTICE: None})


def save(world: LoopHarness) -> None:
    annotate(world, world.cluster.find(JOBS, "j"), {LAST_CHECKPOINT: format_time(world.clock.now())})


async def two_members_run(world: LoopHarness, spare_nodes: str = "c") -> None:
    template = {"metadata": {}, "spec": pod_spec({"nvidia.com/gpu": "1"})}
    notes = {"annotations": {LAST_CHECKPOINT: format_time(BEGIN)}}
    for name in ("a", "b", *spare_nodes):
        world.cluster.put(gpu_node(name))
    world.cluster.put(job("j", notes, completionMode="Indexed", parallelism=2, completions=2, template=template))
    await world.settle()
    assert sorted(world.seats().values()) == ["a", "b"]
    world.clock.jump(10.0)


def requests(world: LoopHarness) -> list[str | None]:
    return [pod["metadata"].get("annotations", {}).get(CHECKPOINT_BY) for pod in world.cluster.all(PODS)]


def holds(world: LoopHarness) -> str:
    found: str = world.cluster.find(JOBS, "j")["metadata"]["annotations"].get(HOLDS, "")
    return found


def pod_patches(world: LoopHarness) -> list[str]:
    return [write for write in world.cluster.writes if write.startswith("patch pods j-")]


def test_every_pod_of_the_gang_is_asked_once_and_the_job_says_why() -> None:
    async def scenario(world: LoopHarness) -> None:
        await two_members_run(world)
        give_notice(world, "a")
        await world.settle()
        assert requests(world) == [BY, BY]
        assert len(pod_patches(world)) == 2
        assert holds(world).endswith("=c")
        assert sorted(world.seats().values()) == ["a", "b"]
        [words] = [message for reason, message in world.events("j") if reason == "CheckpointRequested"]
        assert words == (
            "Save a checkpoint by 2026-01-01T00:09:25Z: a leaving: notice (azure Preempt), it goes by "
            "2026-01-01T00:10:00Z"
        )

    run_scenario(scenario)


def test_once_it_has_saved_the_gang_moves_and_its_pods_carry_no_request() -> None:
    async def scenario(world: LoopHarness) -> None:
        await two_members_run(world)
        give_notice(world, "a")
        await world.settle()
        world.clock.jump(5.0)
        save(world)
        await world.settle()
        assert sorted(world.seats().values()) == ["b", "c"]
        assert requests(world) == [None, None]
        assert holds(world) == ""

    run_scenario(scenario)


def test_without_a_checkpoint_it_moves_when_the_time_has_come() -> None:
    async def scenario(world: LoopHarness) -> None:
        await two_members_run(world)
        give_notice(world, "a")
        await world.settle()
        await world.clock.let_pass(DEADLINE - 36.0 - world.clock.now())
        assert sorted(world.seats().values()) == ["a", "b"]
        await world.clock.let_pass(1.0)
        await world.settle()
        assert sorted(world.seats().values()) == ["b", "c"]
        assert requests(world) == [None, None]

    run_scenario(scenario)


def test_a_notice_that_is_withdrawn_leaves_no_request_and_no_hold() -> None:
    async def scenario(world: LoopHarness) -> None:
        await two_members_run(world)
        give_notice(world, "a")
        await world.settle()
        withdraw_notice(world, "a")
        await world.settle()
        assert requests(world) == [None, None]
        assert holds(world) == ""
        assert sorted(world.seats().values()) == ["a", "b"]
        assert not any("HotSwapped" in reason for reason, _ in world.events("j"))

    run_scenario(scenario)


def test_a_shortened_deadline_is_written_on_the_pods() -> None:
    async def scenario(world: LoopHarness) -> None:
        await two_members_run(world)
        give_notice(world, "a")
        await world.settle()
        give_notice(world, "a", DEADLINE - 100.0)
        await world.settle()
        assert requests(world) == [format_time(DEADLINE - 135.0)] * 2

    run_scenario(scenario)


def test_a_request_that_another_writer_spoiled_is_written_again() -> None:
    async def scenario(world: LoopHarness) -> None:
        await two_members_run(world)
        give_notice(world, "a")
        await world.settle()
        for number, pod in enumerate(world.cluster.all(PODS)):
            annotate(world, pod, {CHECKPOINT_BY: ["soon", None][number]})
        await world.settle()
        assert requests(world) == [BY, BY]

    run_scenario(scenario)


def test_a_scheduler_that_is_killed_between_two_pods_asks_the_rest_after_its_restart() -> None:
    async def scenario(world: LoopHarness) -> None:
        await two_members_run(world)
        give_notice(world, "a")
        await world.settle()
        annotate(world, world.cluster.all(PODS)[0], {CHECKPOINT_BY: None})
        before = len(pod_patches(world))
        await world.restart()
        await world.settle()
        assert requests(world) == [BY, BY]
        assert len(pod_patches(world)) == before + 1

    run_scenario(scenario)


def test_a_scheduler_that_was_away_while_the_notice_was_withdrawn_clears_up() -> None:
    async def scenario(world: LoopHarness) -> None:
        await two_members_run(world)
        give_notice(world, "a")
        await world.settle()
        await world.stop()
        withdraw_notice(world, "a")
        await world.restart()
        await world.settle()
        assert requests(world) == [None, None]
        assert holds(world) == ""

    run_scenario(scenario)


def test_a_job_without_a_replacement_is_asked_too_and_stays() -> None:
    async def scenario(world: LoopHarness) -> None:
        await two_members_run(world, spare_nodes="")
        give_notice(world, "a")
        await world.settle()
        assert requests(world) == [BY, BY]
        assert sorted(world.seats().values()) == ["a", "b"]

    run_scenario(scenario)


def test_notices_on_all_nodes_at_once_cost_one_write_a_pod() -> None:
    async def scenario(world: LoopHarness) -> None:
        await two_members_run(world)
        give_notice(world, "a")
        give_notice(world, "b")
        give_notice(world, "c")
        await world.settle()
        assert requests(world) == [BY, BY]
        assert len(pod_patches(world)) == 2

    run_scenario(scenario)
