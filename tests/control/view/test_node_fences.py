"""A node that comes back is held back until pods that were force-deleted there cannot run any more."""

from typing import Any

import pytest

from tests.control.fake_cluster import Killed
from tests.control.loop_harness import LoopHarness, run_scenario
from tests.control.record.test_incidents import READY, begin, lose
from tests.control.virtual_clock import BEGIN, VirtualClock
from tests.objects.documents import MADE_AT, lease, node, pod
from tests.scenarios.test_random_walks import torch
from understudy.control.loop import LoopSettings
from understudy.control.view.cluster_view import ClusterView, WatchedCluster
from understudy.control.view.invalid_objects import InvalidObjects
from understudy.control.view.node_health import HealthLimits
from understudy.control.view.node_leases import LeaseClock
from understudy.decide.describe import describe
from understudy.kinds.annotations import FENCED, format_fence, format_time, read_fence
from understudy.kinds.decoding import decode
from understudy.model.nodes import Fence, Health, Verdict
from understudy.objects.errors import BadObject
from understudy.objects.pods import Pod
from understudy.objects.resources import NODES, PODS
from understudy.ports import Refused

GRACE, MARGIN = 30, HealthLimits().return_margin or 0.0
HELD = GRACE + MARGIN


class Watched:
    """A node, as the view has it; it is lost, and comes back, when a test says so."""

    def __init__(self, **limits: Any) -> None:
        self.view = ClusterView(invalid_objects=InvalidObjects(), limits=HealthLimits(**limits))
        self.boot = "first"
        self.uid = "uid-1"
        self.fence: Fence | None = None
        self.show(lost=True)

    def show(self, lost: bool, at: float = 0.0) -> Health:
        status = "Unknown" if lost else "True"
        notes = {FENCED: format_fence(self.fence)} if self.fence is not None else {}
        document = node("n", {"uid": self.uid, "annotations": notes}, conditions=[{"type": "Ready", "status": status}])
        document["status"]["nodeInfo"] = {"bootID": self.boot}
        self.view.put(decode(document))
        return self.look(at)

    def look(self, at: float) -> Health:
        return self.view.snapshot(MADE_AT + at).nodes["n"].node.health

    @property
    def note(self) -> str | None:
        return self.view.fence_notes.get("n", "as it should be")


def fenced(at: float = 0.0, **fields: Any) -> Fence:
    return Fence(MADE_AT + at, **{"grace": GRACE, "boot": "first", **fields})


def test_a_fence_is_written_and_read_back() -> None:
    for fence in (fenced(), fenced(boot=""), fenced(returned=MADE_AT + 7.5)):
        document = node("n", {"annotations": {FENCED: format_fence(fence)}})
        read = decode(document)
        assert read_fence(read.metadata.annotations, read) == fence


@pytest.mark.parametrize("text", ["", "yes", "at=2026-01-01T00:00:00Z", "at=soon,grace=30", "grace=30", "at=,grace=-1"])
def test_a_fence_that_makes_no_sense_is_refused(text: str) -> None:
    read = decode(node("n", {"annotations": {FENCED: text}}))
    with pytest.raises(BadObject, match=r"understudy\.dev/fenced"):
        read_fence(read.metadata.annotations, read)


def test_a_node_with_a_fence_is_held_back_from_its_return_on_until_grace_and_margin_have_passed() -> None:
    watched = Watched()
    watched.fence = fenced()
    assert watched.show(lost=True, at=5).verdict is Verdict.LOST
    back = watched.show(lost=False, at=100)
    assert back.verdict is Verdict.SUSPECT
    assert back.cause == "held back until 2026-01-01T00:02:40Z: pods that were force-deleted there may still run"
    assert watched.view.next_look() == MADE_AT + 100 + HELD
    assert watched.look(100 + HELD - 0.1).verdict is Verdict.SUSPECT
    assert watched.look(100 + HELD) == Health()
    assert watched.note is None


def test_since_when_it_is_back_is_written_down_and_counts_for_who_comes_later() -> None:
    watched = Watched()
    watched.fence = fenced()
    watched.show(lost=False, at=100)
    assert watched.note == format_fence(fenced(returned=MADE_AT + 100))
    later = Watched()
    later.fence = fenced(returned=MADE_AT + 100)
    assert later.show(lost=False, at=100 + HELD - 1).verdict is Verdict.SUSPECT
    assert later.note == "as it should be"
    assert later.look(100 + HELD) == Health()


def test_who_does_not_know_since_when_it_is_back_counts_from_now() -> None:
    watched = Watched()
    watched.fence = fenced()
    assert watched.show(lost=False, at=1000).verdict is Verdict.SUSPECT
    assert watched.look(1000 + HELD) == Health()


def test_a_node_that_is_lost_again_is_held_back_from_its_next_return_on() -> None:
    watched = Watched()
    watched.fence = fenced()
    watched.show(lost=False, at=100)
    watched.fence = fenced(returned=MADE_AT + 100)
    assert watched.show(lost=True, at=110).verdict is Verdict.LOST
    assert watched.note == format_fence(fenced())
    assert watched.show(lost=False, at=155).verdict is Verdict.SUSPECT
    assert watched.look(155 + HELD - 1).verdict is Verdict.SUSPECT
    assert watched.look(155 + HELD) == Health()


def test_a_clock_that_is_set_back_does_not_hold_a_node_back_for_longer_than_its_time() -> None:
    watched = Watched()
    watched.fence = fenced(returned=MADE_AT + 10)
    assert watched.show(lost=False, at=-3600).verdict is Verdict.SUSPECT
    assert watched.look(-3600 + HELD - 1).verdict is Verdict.SUSPECT
    assert watched.look(-3600 + HELD) == Health()


def leased(clock: VirtualClock) -> ClusterView:
    """The view of a process that has just met a fenced node, whose return another process wrote down."""
    watched = WatchedCluster(LeaseClock(clock), complete=False)
    view = ClusterView(invalid_objects=InvalidObjects(), watched=watched)
    notes = {FENCED: format_fence(fenced(returned=BEGIN))}
    view.put(decode(node("n", {"annotations": notes}, conditions=[{"type": "Ready", "status": "True"}])))
    view.put(decode(lease("n", format_time(BEGIN))))
    return view


def test_a_clock_that_is_ahead_ends_no_fence_before_the_node_has_renewed_its_lease_for_that_long() -> None:
    clock = VirtualClock(BEGIN + 1.0)
    view = leased(clock)
    verdicts = [view.snapshot(clock.now()).nodes["n"].node.health.verdict]
    clock.jump(3600.0)  # the clock is set forward, or another process leads whose clock is ahead
    for renewal in range(1, 1 + int(HELD / 10)):
        clock.jump(10.0)
        view.put(decode(lease("n", format_time(BEGIN + 10.0 * renewal))))
        verdicts.append(view.snapshot(clock.now()).nodes["n"].node.health.verdict)
    assert verdicts[:-2] == [Verdict.SUSPECT] * (len(verdicts) - 2)
    assert verdicts[-1] is Verdict.HEALTHY


def test_a_boot_proves_that_the_pods_are_gone() -> None:
    watched = Watched()
    watched.fence = fenced()
    assert watched.show(lost=False, at=100).verdict is Verdict.SUSPECT  # its lease may be renewed before its status
    watched.boot = "second"
    assert watched.show(lost=False, at=101) == Health()
    assert watched.note is None


@pytest.mark.parametrize(("then", "now"), [("", "second"), ("first", "")])
def test_a_boot_that_is_not_known_proves_nothing(then: str, now: str) -> None:
    watched = Watched()
    watched.fence, watched.boot = fenced(boot=then), now
    assert watched.show(lost=False, at=100).verdict is Verdict.SUSPECT


def test_a_node_that_was_made_anew_has_no_fence() -> None:
    watched = Watched()
    gone = decode(pod("old", "n"))
    watched.view.put(gone)
    watched.view.remove(gone)
    watched.look(1)
    assert watched.note is not None
    watched.view.remove(decode(node("n")))
    watched.view.snapshot(MADE_AT + 2)
    watched.uid = "uid-2"
    assert watched.show(lost=False, at=3) == Health()
    assert watched.note == "as it should be"


def test_a_node_that_is_lost_but_heard_of_is_told_of_deletions_and_its_time_passes() -> None:
    """Its accelerators failed, say: its kubelet stops the pods while nothing is given to it anyway."""
    watched = Watched()
    broken = {"type": "GPUUnhealthy", "status": "True"}
    watched.view.put(decode(node("n", {"uid": watched.uid}, conditions=[READY, broken])))
    assert watched.look(0).verdict is Verdict.LOST
    for number, at in enumerate((10.0, 50.0)):
        gone = decode(pod(f"runs-{number}", "n"))
        watched.view.put(gone)
        watched.look(at)
        watched.view.remove(gone)
        assert watched.look(at).verdict is Verdict.LOST
    watched.view.put(decode(node("n", {"uid": watched.uid}, conditions=[READY])))
    assert watched.look(50 + HELD - 1).verdict is Verdict.SUSPECT
    assert watched.look(50 + HELD) == Health()


def test_what_is_worse_is_said_instead() -> None:
    watched = Watched()
    watched.fence = fenced()
    leaving = node("n", {"annotations": {FENCED: format_fence(watched.fence)}}, conditions=[READY])
    leaving["spec"]["taints"] = [{"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}]
    watched.view.put(decode(leaving))
    assert watched.look(10).verdict is Verdict.LEAVING


def test_any_pod_that_disappears_from_a_lost_node_fences_it() -> None:
    watched = Watched()
    for name, phase, grace in (("runs", "Running", 45), ("done", "Succeeded", 600)):
        gone = decode(pod(name, "n", status={"phase": phase}, terminationGracePeriodSeconds=grace))
        watched.view.put(gone)
        watched.look(1)
        watched.view.remove(gone)
    assert watched.look(2).verdict is Verdict.LOST
    assert watched.note == format_fence(fenced(at=1, grace=45))
    assert watched.show(lost=False, at=3).verdict is Verdict.SUSPECT  # before the node shows it


def test_a_pod_that_was_replaced_under_its_name_unseen_fences_its_node() -> None:
    watched = Watched()
    watched.view.put(decode(pod("worker", "n", {"uid": "old"})))
    watched.look(1)
    watched.view.put(decode(pod("worker", meta={"uid": "new"})))
    assert watched.show(lost=False, at=3).verdict is Verdict.SUSPECT


def test_a_pod_that_goes_from_a_healthy_node_fences_nothing() -> None:
    watched = Watched()
    watched.show(lost=False, at=0)
    gone = decode(pod("runs", "n"))
    watched.view.put(gone)
    watched.look(1)
    watched.view.remove(gone)
    assert (watched.look(2), watched.note) == (Health(), "as it should be")


def test_where_ends_are_proven_no_node_is_held_back() -> None:
    watched = Watched(return_margin=None)
    watched.fence = fenced()
    assert watched.show(lost=False, at=1) == Health()


def test_a_fence_that_makes_no_sense_closes_the_node_and_is_written_anew() -> None:
    watched = Watched()
    bad = node("n", {"annotations": {FENCED: "?"}}, conditions=[{"type": "Ready", "status": "Unknown"}])
    watched.view.put(decode(bad))
    assert watched.look(1).verdict is Verdict.LOST
    assert watched.view.snapshot(MADE_AT + 1).nodes["n"].node.unschedulable
    running = decode(pod("runs", "n"))
    assert isinstance(running, Pod)
    assert watched.view.fence_wanted("n", [running]) == Fence(MADE_AT + 1, GRACE)


# With a scheduling loop


def annotation(world: LoopHarness, name: str) -> str:
    note: str = world.cluster.find(NODES, name)["metadata"].get("annotations", {}).get(FENCED, "")
    return note


def come_back(world: LoopHarness, name: str) -> None:
    document = world.cluster.find(NODES, name)
    document["status"]["conditions"] = [READY]
    world.cluster.change(document)


def position(world: LoopHarness, beginning: str) -> int:
    return next(number for number, write in enumerate(world.cluster.writes) if write.startswith(beginning))


def test_the_node_says_so_before_its_pods_are_force_deleted() -> None:
    async def scenario(world: LoopHarness) -> None:
        await begin(world, "a b spare", torch("hero", 2, "high"))
        world.cluster.writes.clear()
        lose(world, "a")
        await world.settle()
        assert annotation(world, "a")
        assert position(world, "patch nodes a") < position(world, "delete pods hero-worker-0 at once")

    run_scenario(scenario)


def test_a_node_that_returns_gets_no_pod_before_its_time_and_waiting_jobs_are_told_why() -> None:
    async def scenario(world: LoopHarness) -> None:
        await begin(world, "a b", torch("hero", 2, "high"))
        lose(world, "a")
        await world.settle()
        come_back(world, "a")
        await world.settle()
        assert world.seats() == {}
        (waits,) = (describe(action) for action in world.cycles[-1].plan.actions)
        assert "held back until" in waits
        assert "pods that were force-deleted there may still run" in waits
        await world.clock.let_pass(HELD)
        await world.settle()
        assert len(world.seats()) == 2
        assert annotation(world, "a") == ""

    run_scenario(scenario)


def test_the_hold_survives_a_restart_between_the_deletion_and_the_return() -> None:
    async def scenario(world: LoopHarness) -> None:
        await begin(world, "a b", torch("hero", 2, "high"))
        lose(world, "a")
        await world.settle()
        await world.restart()
        await world.settle()
        come_back(world, "a")
        await world.settle()
        assert world.seats() == {}
        await world.restart()  # and one between the return and the end of the hold
        await world.clock.let_pass(HELD - 5)
        assert world.seats() == {}
        await world.clock.let_pass(10)
        await world.settle()
        assert len(world.seats()) == 2

    run_scenario(scenario)


def test_who_is_killed_right_after_the_deletion_has_left_the_fence() -> None:
    async def scenario(world: LoopHarness) -> None:
        await begin(world, "a b", torch("hero", 2, "high"))
        armed = [True]

        def kill(_write: str) -> None:
            if armed and any("at once" in done for done in world.cluster.writes):
                armed.clear()
                raise Killed

        world.cluster.writes.clear()
        world.cluster.before_write = kill
        lose(world, "a")
        await world.settle()
        assert not armed
        come_back(world, "a")
        await world.settle()
        assert world.seats() == {}

    run_scenario(scenario)


def test_while_the_fence_cannot_be_written_no_pod_is_force_deleted() -> None:
    async def scenario(world: LoopHarness) -> None:
        await begin(world, "a b spare", torch("hero", 2, "high"))

        def refuse(write: str) -> None:
            if write == "patch nodes a":
                raise Refused(403, "Forbidden", "no")

        world.cluster.before_write = refuse
        lose(world, "a")
        await world.clock.let_pass(5.0)
        assert world.seats()["hero-worker-0"] == "a"
        assert "WriteRefused" in [reason for reason, _ in world.events("hero")]
        world.cluster.before_write = lambda _: None
        await world.clock.let_pass(30.0)
        await world.settle()
        assert world.seats() == {"hero-worker-0": "spare", "hero-worker-1": "b"}

    run_scenario(scenario)


def test_a_node_that_is_gone_needs_no_fence() -> None:
    async def scenario(world: LoopHarness) -> None:
        await begin(world, "a b spare", torch("hero", 2, "high"))
        world.cluster.take_away(world.cluster.find(NODES, "a"))
        await world.settle()
        assert world.seats() == {"hero-worker-0": "spare", "hero-worker-1": "b"}

    run_scenario(scenario)


def test_where_ends_are_proven_nothing_is_written_and_seats_are_given_at_once() -> None:
    async def scenario(world: LoopHarness) -> None:
        await begin(world, "a b", torch("hero", 2, "high"))
        lose(world, "a")
        await world.settle()
        come_back(world, "a")
        await world.settle()
        assert len(world.seats()) == 2
        assert annotation(world, "a") == ""

    run_scenario(scenario, LoopSettings(limits=HealthLimits(return_margin=None)))


def test_a_pod_that_others_force_delete_fences_the_node_too() -> None:
    """kubectl delete --force, the garbage collector of pods, or the taint node.kubernetes.io/out-of-service."""

    async def scenario(world: LoopHarness) -> None:
        await begin(world, "a b", torch("hero", 1, "high"))
        (name,) = world.seats()
        seat = world.seats()[name]
        document = world.cluster.find(NODES, seat)
        document["spec"]["taints"] = [{"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}]
        world.cluster.change(document)
        world.cluster.take_away(world.cluster.find(PODS, name))
        await world.settle()
        assert annotation(world, seat)

    run_scenario(scenario)
