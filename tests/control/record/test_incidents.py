"""Incidents as they are written: one for each disruption, with every step, whichever process is killed on the way."""

import pytest

from tests.control.fake_cluster import Killed
from tests.control.loop_harness import LoopHarness, run_scenario
from tests.objects.documents import Document, node, priority_class
from tests.scenarios.test_random_walks import torch
from understudy.control.loop import LoopSettings, SchedulingLoop
from understudy.control.record.incident_records import ABSENT_RETRY, WRITE_DELAY
from understudy.kinds.annotations import NOTICE, PREFIX, format_notice, format_time
from understudy.kinds.training_operator.pytorchjob import PYTORCH_JOBS
from understudy.model.nodes import Notice
from understudy.objects.resources import INCIDENTS, NODES, PODS
from understudy.ports import Refused

READY = {"type": "Ready", "status": "True"}
AMOUNTS = {"cpu": "64", "pods": "110", "nvidia.com/gpu": "8"}


async def begin(world: LoopHarness, nodes: str, *jobs: Document) -> None:
    for name, value in (("low", 1), ("high", 3)):
        world.cluster.put(priority_class(name, value))
    for name in nodes.split():
        spare = {"labels": {f"{PREFIX}spare": "keep"}} if name.startswith("spare") else {}
        world.cluster.put(node(name, spare, allocatable=AMOUNTS, conditions=[READY]))
    for document in jobs:
        world.cluster.put(document)
        await world.settle()
    world.clock.jump(600.0)


def lose(world: LoopHarness, name: str, reason: str = "AgentGone") -> None:
    document = world.cluster.find(NODES, name)
    when = format_time(world.clock.now() - 0.25)
    ready = {"type": "Ready", "status": "Unknown", "reason": reason, "lastTransitionTime": when}
    document["status"]["conditions"] = [ready]
    world.cluster.change(document)


def incidents(world: LoopHarness) -> list[Document]:
    return world.cluster.all(INCIDENTS)


def reasons(world: LoopHarness, job: str) -> list[str]:
    return [reason for reason, _ in world.events(job)]


def test_a_hot_swap_is_one_record_and_one_story() -> None:
    async def scenario(world: LoopHarness) -> None:
        await begin(world, "a b spare", torch("hero", 2, "high"))
        lose(world, "a")
        await world.settle()
        (kept,) = incidents(world)
        assert kept["spec"]["job"]["name"] == "hero"
        assert kept["spec"]["cause"] == "node a lost: not ready: AgentGone"
        assert (kept["spec"]["nodes"], kept["spec"]["members"]) == (["a"], ["hero-worker-0"])
        status = kept["status"]
        assert (status["outcome"], status["victims"]) == ("swapped", [])
        assert [(move["to"], move["source"]) for move in status["moves"]] == [("spare", "spare")]
        assert "victimsOutAt" not in status
        steps = [status[f"{step}At"] for step in ("failed", "detected", "decided", "seated", "running")]
        assert steps == sorted(steps)
        assert status["seconds"]["total"] >= status["seconds"]["detected"] >= 0.25
        assert reasons(world, "hero") == ["NodeLost", "HotSwapped", "Recovered"]
        told = dict(world.events("hero"))
        assert told["NodeLost"] == "node a lost: not ready: AgentGone"
        assert told["Recovered"].startswith("all 2 members run again ")
        assert "s after the failure (detected 0.2" in told["Recovered"]

    run_scenario(scenario)


@pytest.mark.parametrize("code", [409, 503])
def test_what_a_server_in_trouble_refused_is_written_later(code: int) -> None:
    async def scenario(world: LoopHarness) -> None:
        await begin(world, "a b spare", torch("hero", 2, "high"))

        def refuse(what: str) -> None:
            if INCIDENTS.key in what:
                raise Refused(code, "Trouble", "not now")

        world.cluster.before_write = refuse
        lose(world, "a")
        await world.settle()
        assert incidents(world) == []
        world.cluster.before_write = lambda _: None
        await world.clock.let_pass(3.0)
        (kept,) = incidents(world)
        assert kept["status"]["outcome"] == "swapped"

    run_scenario(scenario)


def test_it_is_written_after_the_binds_and_in_few_writes() -> None:
    async def scenario(world: LoopHarness) -> None:
        await begin(world, "a b spare", torch("hero", 2, "high"))
        before = len(world.cluster.writes)
        lose(world, "a")
        for _ in range(20):  # controllers and kubelets are quick
            await world.clock.let_pass(0.01)
            world.hands.act()
        await world.settle()
        wanted = ("delete pods", "bind", "incidents", "patch nodes")
        writes = [write for write in world.cluster.writes[before:] if any(word in write for word in wanted)]
        assert [write.split()[0] for write in writes] == ["patch", "delete", "bind", "create", "patch", "patch"]
        assert (writes[0], writes[-1]) == ("patch nodes a", "patch nodes a"), "the fence first, the failure last"

    run_scenario(scenario)


def test_victims_are_named_and_their_leaving_has_its_time() -> None:
    async def scenario(world: LoopHarness) -> None:
        await begin(world, "a b", torch("victim", 1, "low"), torch("hero", 1, "high"))
        lost = world.seats()["hero-worker-0"]
        world.hands.clinging.add("PyTorchJob/default/victim")
        lose(world, lost)
        await world.settle()
        await world.clock.let_pass(WRITE_DELAY)
        await world.settle()
        (kept,) = incidents(world)
        assert kept["status"]["outcome"] == "open"
        assert "victimsOutAt" not in kept["status"]
        world.hands.clinging.clear()
        await world.settle()
        (kept,) = incidents(world)
        status = kept["status"]
        assert (status["outcome"], status["victims"]) == ("swapped", ["PyTorchJob/default/victim"])
        assert status["victimCount"] == 1
        assert status["decidedAt"] < status["victimsOutAt"] <= status["seatedAt"] <= status["runningAt"]

    run_scenario(scenario)


def test_several_nodes_lost_together_are_one_incident_and_a_later_one_extends_it() -> None:
    async def scenario(world: LoopHarness) -> None:
        await begin(world, "a b c", torch("hero", 3, "high"))
        lose(world, "a")
        lose(world, "b")
        await world.settle()
        (kept,) = incidents(world)
        assert kept["spec"]["cause"] == "nodes a, b lost: not ready: AgentGone"
        assert (kept["status"]["decision"], kept["status"]["outcome"]) == ("requeued", "open")
        for name in ("a", "b"):
            document = world.cluster.find(NODES, name)
            document["status"]["conditions"] = [READY]
            world.cluster.change(document)
        await world.clock.let_pass(60.0)  # for which they are held back
        await world.settle()
        (kept,) = incidents(world)
        assert kept["status"]["outcome"] == "requeued"
        told = list(dict.fromkeys(reasons(world, "hero")))
        assert told == ["NodeLost", "Requeued", "Waiting", "Resumed", "Recovered"]

    run_scenario(scenario)


def test_a_spare_that_dies_while_stepping_in_belongs_to_the_same_incident() -> None:
    async def scenario(world: LoopHarness) -> None:
        await begin(world, "a b spare-1 spare-2", torch("hero", 2, "high"))
        lose(world, "a")
        for _ in range(20):  # until the successor is bound; it does not run yet
            await world.clock.let_pass(0.01)
            if "spare-1" in world.seats().values():
                break
            world.hands.act()
        lose(world, "spare-1")
        await world.settle()
        assert set(world.seats().values()) == {"b", "spare-2"}
        (kept,) = incidents(world)
        assert kept["spec"]["nodes"] == ["a", "spare-1"]
        assert [move["to"] for move in kept["status"]["moves"]] == ["spare-2"]
        assert kept["status"]["outcome"] == "swapped"

    run_scenario(scenario)


def test_a_node_that_leaves_is_an_incident_when_its_members_move_ahead_of_time() -> None:
    async def scenario(world: LoopHarness) -> None:
        await begin(world, "a b spare", torch("hero", 2, "high"))
        document = world.cluster.find(NODES, "a")
        document["metadata"].setdefault("annotations", {})[f"{PREFIX}drain-deadline"] = format_time(
            world.clock.now() + 60
        )
        world.cluster.change(document)
        await world.settle()
        (kept,) = incidents(world)
        assert kept["spec"]["cause"] == "node a leaving: it is being drained"
        assert "failedAt" not in kept["status"]
        assert kept["status"]["outcome"] == "swapped"
        assert "after it was detected" in dict(world.events("hero"))["Recovered"]
        assert f"{PREFIX}failed-at" not in document["metadata"]["annotations"]

    run_scenario(scenario)


def notice(world: LoopHarness, name: str, seconds: float) -> None:
    document, now = world.cluster.find(NODES, name), world.clock.now()
    text = format_notice(Notice(now + seconds, "azure", "Preempt", now))
    document["metadata"].setdefault("annotations", {})[NOTICE] = text
    world.cluster.change(document)


def test_a_notice_that_was_beaten_is_an_incident_from_the_moment_it_came() -> None:
    async def scenario(world: LoopHarness) -> None:
        saved = {f"{PREFIX}last-checkpoint": format_time(world.clock.now())}
        await begin(world, "a b spare", torch("hero", 2, "high"))
        job = world.cluster.find(PYTORCH_JOBS, "hero")
        job["metadata"].setdefault("annotations", {}).update(saved)
        world.cluster.change(job)
        told_at = world.clock.now()
        notice(world, "a", 120.0)
        await world.settle()
        assert incidents(world) == []
        await world.clock.let_pass(86.0)
        await world.settle()
        (kept,) = incidents(world)
        assert kept["spec"]["cause"] == "node a leaving: notice (azure Preempt)"
        status = kept["status"]
        assert (status["outcome"], status["beaten"]) == ("swapped", True)
        assert status["detectedAt"].startswith(format_time(told_at).rstrip("Z"))
        assert status["deadline"].startswith(format_time(told_at + 120.0).rstrip("Z"))
        assert (world.loop.status.notices, world.loop.status.notices_beaten) == (1, 1)

    run_scenario(scenario)


def test_a_node_that_goes_before_its_members_could_move_has_beaten_them() -> None:
    async def scenario(world: LoopHarness) -> None:
        await begin(world, "a b", torch("hero", 2, "high"))
        notice(world, "a", 120.0)
        await world.settle()
        world.clock.jump(30.0)
        lose(world, "a")
        await world.settle()
        world.cluster.put(node("c", allocatable=AMOUNTS, conditions=[READY]))
        await world.settle()
        (kept,) = incidents(world)
        assert kept["status"]["beaten"] is False
        assert (world.loop.status.notices, world.loop.status.notices_beaten) == (1, 0)

    run_scenario(scenario)


def test_an_elastic_gang_that_goes_on_with_fewer() -> None:
    async def scenario(world: LoopHarness) -> None:
        await begin(world, "a b c", torch("hero", 3, "high", min_members="2"))
        lose(world, "c")
        await world.settle()
        (kept,) = incidents(world)
        assert kept["status"]["outcome"] == "shrunk"
        assert dict(world.events("hero"))["Recovered"].startswith("it goes on with 2 members ")

    run_scenario(scenario)


def test_a_job_that_is_deleted_ends_its_incident() -> None:
    async def scenario(world: LoopHarness) -> None:
        await begin(world, "a", torch("hero", 1, "high"))
        lose(world, "a")
        await world.settle()
        world.cluster.take_away(world.cluster.find(PYTORCH_JOBS, "hero"))
        await world.settle()
        (kept,) = incidents(world)
        assert kept["status"]["outcome"] == "ended"
        assert "runningAt" not in kept["status"]

    run_scenario(scenario)


@pytest.mark.parametrize("members", [1, 2])
@pytest.mark.parametrize("before", ["patch pytorchjobs", "delete pods", "create incidents", "bind", "patch incidents"])
def test_a_loop_that_is_killed_in_mid_swap_neither_loses_nor_doubles_the_incident(before: str, members: int) -> None:
    """One that has lost all its seats only waits like any other, if the reason was not recorded."""

    async def scenario(world: LoopHarness) -> None:
        await begin(world, "a b spare", torch("hero", members, "high"))
        killed: list[SchedulingLoop] = []  # it writes nothing more, whatever was under way

        def kill(write: str) -> None:
            if not killed and write.startswith(before):
                killed.append(world.loop)
            if world.loop in killed:
                raise Killed

        world.cluster.before_write = kill
        lose(world, "a")
        await world.settle()
        assert killed
        (kept,) = incidents(world)
        assert kept["status"]["outcome"] == "swapped"
        assert kept["spec"]["nodes"] == ["a"]
        assert len(world.seats()) == members
        assert "a" not in world.seats().values()

    run_scenario(scenario)


def test_each_incident_of_a_job_is_its_own_and_the_oldest_are_forgotten() -> None:
    async def scenario(world: LoopHarness) -> None:
        await begin(world, "a b c d", torch("hero", 1, "high"))
        seats = []
        for _ in range(3):
            seats.append(world.seats()["hero-worker-0"])
            lose(world, seats[-1])
            await world.settle()
            world.clock.jump(60.0)
        assert [kept["spec"]["nodes"] for kept in sorted(incidents(world), key=_detected)] == [[s] for s in seats[1:]]

    run_scenario(scenario, LoopSettings(keep_incidents=2))


def _detected(kept: Document) -> str:
    return str(kept["status"]["detectedAt"])


def test_a_cluster_that_does_not_know_the_kind_heals_all_the_same_and_is_looked_at_again() -> None:
    async def scenario(world: LoopHarness) -> None:
        world.cluster.break_off(INCIDENTS.key)
        await begin(world, "a b c", torch("hero", 1, "high"))
        lose(world, world.seats()["hero-worker-0"])
        await world.settle()
        assert reasons(world, "hero") == ["NodeLost", "HotSwapped", "Recovered"]
        assert incidents(world) == []
        world.cluster.absent.clear()
        await world.clock.let_pass(2 * ABSENT_RETRY)
        assert len(incidents(world)) == 1
        lose(world, world.seats()["hero-worker-0"])
        await world.settle()
        assert len(incidents(world)) == 2

    run_scenario(scenario)


def test_a_pod_that_fails_on_a_healthy_node_is_no_incident() -> None:
    async def scenario(world: LoopHarness) -> None:
        await begin(world, "a b", torch("hero", 2, "high"))
        world.cluster.take_away(world.cluster.find(PODS, "hero-worker-0"))
        await world.settle()
        assert len(world.seats()) == 2
        assert incidents(world) == []

    run_scenario(scenario)


def test_an_elastic_gang_whose_replacement_is_lost_as_well_goes_on_and_its_incident_closes() -> None:
    async def scenario(world: LoopHarness) -> None:
        await begin(world, "a b c spare", torch("hero", 3, "high", min_members="2"))
        world.hands.idle.add("PyTorchJob/default/hero")
        lose(world, "a")
        await world.clock.let_pass(1.0)
        lose(world, "spare")
        await world.settle()
        (kept,) = incidents(world)
        assert kept["status"]["outcome"] == "shrunk"

    run_scenario(scenario)
