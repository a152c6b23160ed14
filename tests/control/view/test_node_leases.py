"""Leases into signs of life, and how long a node was silent while others were heard of."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.control.virtual_clock import VirtualClock
from tests.objects.documents import MADE_AT, lease, node
from understudy.control.view.cluster_view import ClusterView, WatchedCluster
from understudy.control.view.invalid_objects import InvalidObjects
from understudy.control.view.node_health import HealthLimits, heartbeat
from understudy.control.view.node_leases import LeaseClock
from understudy.kinds.decoding import decode
from understudy.model.nodes import Verdict
from understudy.objects.nodes import Lease

DAY = 86_400.0


class SkewedCluster:
    """Nodes a and b, whose clocks are wrong by `skew`."""

    def __init__(self, skew: float) -> None:
        self.clock = VirtualClock(MADE_AT)
        self.view = ClusterView(
            invalid_objects=InvalidObjects(), watched=WatchedCluster(LeaseClock(self.clock), complete=False)
        )
        self._skew = skew
        for name in ("a", "b"):
            self.view.put(decode(node(name)))
            self.renew(name)

    def renew(self, *names: str) -> None:
        for name in names:
            said = datetime.fromtimestamp(self.clock.now() + self._skew, UTC)
            self.view.put(decode(lease(name, said.isoformat())))

    def at(self, moment: float) -> None:
        self.clock.jump(MADE_AT + moment - self.clock.now())

    def verdicts(self) -> tuple[Verdict, Verdict]:
        rooms = self.view.snapshot(self.clock.now()).nodes
        return rooms["a"].node.health.verdict, rooms["b"].node.health.verdict


@pytest.mark.parametrize("skew", [0.0, DAY, -DAY])
def test_a_node_is_lost_when_we_saw_no_renewal_for_too_long(skew: float) -> None:
    cluster = SkewedCluster(skew)
    cluster.at(10.0)
    cluster.renew("a", "b")
    cluster.at(20.0)
    cluster.renew("a")
    assert cluster.verdicts() == (Verdict.HEALTHY, Verdict.HEALTHY)
    cluster.at(30.0)
    cluster.renew("a")
    cluster.at(32.9)
    assert cluster.verdicts() == (Verdict.HEALTHY, Verdict.SUSPECT)
    cluster.at(33.0)
    assert cluster.verdicts() == (Verdict.HEALTHY, Verdict.LOST)
    cluster.renew("b")
    assert cluster.verdicts() == (Verdict.HEALTHY, Verdict.HEALTHY)


def test_a_lease_that_is_told_again_is_not_renewed() -> None:
    """As after a list, when a watch lost its place."""
    cluster = SkewedCluster(0.0)
    told = decode(lease("b", datetime.fromtimestamp(MADE_AT, UTC).isoformat()))
    for moment in (10.0, 20.0):
        cluster.at(moment)
        cluster.renew("a")
        cluster.view.put(told)
    cluster.at(23.0)
    assert cluster.verdicts() == (Verdict.HEALTHY, Verdict.LOST)


@pytest.mark.parametrize("skew", [-DAY, -20.0, 20.0, DAY])
def test_a_lease_that_looks_old_when_it_is_met_first_is_in_doubt_until_it_is_renewed(skew: float) -> None:
    """Either its node is dead, or its clock is wrong."""
    cluster = SkewedCluster(skew)
    assert cluster.verdicts() == (Verdict.SUSPECT, Verdict.SUSPECT)
    cluster.at(10.0)
    cluster.renew("a")
    assert cluster.verdicts() == (Verdict.HEALTHY, Verdict.SUSPECT)
    cluster.renew("b")
    assert cluster.verdicts() == (Verdict.HEALTHY, Verdict.HEALTHY)


@pytest.mark.parametrize("skew", [-14.0, 0.0, 14.0])
def test_a_lease_that_looks_fresh_when_it_is_met_first_counts_from_then(skew: float) -> None:
    assert SkewedCluster(skew).verdicts() == (Verdict.HEALTHY, Verdict.HEALTHY)


def test_a_lease_that_was_removed_is_met_for_the_first_time_again() -> None:
    cluster = SkewedCluster(0.0)
    told = decode(lease("b", datetime.fromtimestamp(MADE_AT, UTC).isoformat()))
    for moment in (10.0, 20.0):
        cluster.at(moment)
        cluster.renew("a")
    cluster.view.remove(told)
    cluster.view.put(told)
    cluster.at(30.0)
    cluster.renew("a")
    assert cluster.verdicts() == (Verdict.HEALTHY, Verdict.SUSPECT)


NAMES = ("a", "b", "c")
ALL_WELL = dict.fromkeys(NAMES, Verdict.HEALTHY)
LIMITS = HealthLimits()
HOUR = 3600.0


def document_of(name: str, at: float) -> Lease:
    found = decode(lease(name, datetime.fromtimestamp(MADE_AT + at, UTC).isoformat()))
    assert isinstance(found, Lease)
    return found


class Cluster:
    """Nodes a, b and c, whose leases of 40 s are renewed when a test says so. It outlives who watches it."""

    def __init__(self, one_clock: bool = True) -> None:
        self.clock = VirtualClock(MADE_AT)
        self.one_clock = one_clock
        self.leases: dict[str, Lease] = {}
        self.looks = 0
        self.view = self._new_view()
        self.renew(0.0, *NAMES)

    def _new_view(self) -> ClusterView:
        leases = LeaseClock(self.clock, one_clock=self.one_clock)
        view = ClusterView(invalid_objects=InvalidObjects(), watched=WatchedCluster(leases, complete=False))
        for name in NAMES:
            view.put(decode(node(name)))
        return view

    def at(self, moment: float) -> None:
        self.clock.jump(MADE_AT + moment - self.clock.now())

    def renew(self, at: float, *names: str) -> None:
        self.at(at)
        for name in names:
            self.say(name, at)

    def say(self, name: str, at: float) -> None:
        """The lease is told now, and says that it was renewed at another time."""
        self.leases[name] = document_of(name, at)
        self.view.put(self.leases[name])

    def renew_every_ten(self, begin: float, end: float, *names: str) -> None:
        for step in range(int((end - begin) / 10) + 1):
            self.renew(begin + step * 10.0, *names)

    def restart(self, at: float) -> None:
        """As after kill -9: the leases are told anew, in the order of their names, and nothing else is known."""
        self.at(at)
        self.view = self._new_view()
        for name in sorted(self.leases):
            self.view.put(self.leases[name])

    def verdicts(self, at: float) -> dict[str, Verdict]:
        """Something else about the nodes has changed meanwhile, so each is judged anew."""
        self.at(at)
        self.looks += 1
        for name in NAMES:
            self.view.put(decode(node(name, {"labels": {"look": str(self.looks)}})))
        rooms = self.view.snapshot(MADE_AT + at).nodes
        return {name: rooms[name].node.health.verdict for name in sorted(rooms)}


Made = Callable[[], Cluster]
BOTH = pytest.mark.parametrize("made", [Cluster, lambda: Cluster(one_clock=False)], ids=["one clock", "clocks differ"])


@BOTH
def test_a_node_that_is_silent_while_others_speak_is_doubted_and_given_up(made: Made) -> None:
    cluster = made()
    cluster.renew(10.0, "a", "b")
    assert cluster.verdicts(10.0) == ALL_WELL
    assert cluster.verdicts(16.0) == {**ALL_WELL, "c": Verdict.SUSPECT}
    cluster.renew_every_ten(20.0, 30.0, "a", "b")
    assert cluster.verdicts(30.0) == {**ALL_WELL, "c": Verdict.LOST}


@BOTH
@pytest.mark.parametrize("later", [60.0, HOUR])
def test_when_all_are_silent_it_is_not_the_nodes(made: Made, later: float) -> None:
    assert made().verdicts(later) == ALL_WELL


@BOTH
def test_when_the_first_one_speaks_again_the_others_get_their_time(made: Made) -> None:
    cluster = made()
    assert cluster.verdicts(HOUR) == ALL_WELL
    cluster.renew(HOUR, "a")
    assert cluster.verdicts(HOUR + 1) == ALL_WELL
    cluster.renew(HOUR + 5, "b")
    cluster.renew(HOUR + 10, "a")
    cluster.renew(HOUR + 20, "a", "b")
    assert cluster.verdicts(HOUR + 20) == {**ALL_WELL, "c": Verdict.SUSPECT}
    cluster.renew(HOUR + 30, "a", "b")
    assert cluster.verdicts(HOUR + 30) == {**ALL_WELL, "c": Verdict.LOST}


@BOTH
def test_a_node_that_was_given_up_before_a_pause_is_alive_again_only_by_a_renewal(made: Made) -> None:
    cluster = made()
    cluster.renew_every_ten(10.0, 40.0, "a", "b")
    assert cluster.verdicts(40.0) == {**ALL_WELL, "c": Verdict.LOST}
    cluster.renew(HOUR, "a")
    assert cluster.verdicts(HOUR) == {**ALL_WELL, "c": Verdict.LOST}
    assert cluster.verdicts(HOUR + 5) == {**ALL_WELL, "c": Verdict.LOST}
    cluster.renew(HOUR + 6, "c")
    assert cluster.verdicts(HOUR + 6) == ALL_WELL


@BOTH
def test_a_node_that_was_given_up_before_a_pause_need_not_have_been_looked_at(made: Made) -> None:
    cluster = made()
    cluster.renew_every_ten(10.0, 40.0, "a", "b")
    cluster.renew(HOUR, "a", "b")
    assert cluster.verdicts(HOUR) == {**ALL_WELL, "c": Verdict.LOST}


@BOTH
def test_silence_before_a_pause_counts_after_it(made: Made) -> None:
    """Else a node would never be given up on a machine that stands still for moments again and again."""
    cluster = made()
    cluster.renew(10.0, "a", "b")
    cluster.renew(18.0, "a", "b")
    cluster.renew(50.0, "a", "b")  # a pause of 32 s; c missed 18 s before it
    cluster.renew_every_ten(60.0, 70.0, "a", "b")
    assert cluster.verdicts(70.0) == {**ALL_WELL, "c": Verdict.LOST}


@BOTH
def test_a_clock_that_is_set_back_brings_no_node_back(made: Made) -> None:
    cluster = made()
    cluster.renew_every_ten(HOUR, HOUR + 40.0, "a", "b")
    assert cluster.verdicts(HOUR + 40.0) == {**ALL_WELL, "c": Verdict.LOST}
    assert cluster.verdicts(-HOUR) == {**ALL_WELL, "c": Verdict.LOST}
    cluster.renew_every_ten(-HOUR + 1, -HOUR + 31, "a", "b")
    assert cluster.verdicts(-HOUR + 31) == {**ALL_WELL, "c": Verdict.LOST}
    cluster.renew_every_ten(-HOUR + 41, -HOUR + 71, "a", "c")
    assert cluster.verdicts(-HOUR + 71) == {**ALL_WELL, "b": Verdict.LOST}


@BOTH
def test_who_comes_later_does_not_take_a_dead_node_for_alive(made: Made) -> None:
    """It may have been given up by who was here before. It is not lost at once either: others may be as late."""
    cluster = made()
    cluster.renew_every_ten(10.0, HOUR, "b", "c")
    cluster.restart(HOUR + 5)
    assert cluster.verdicts(HOUR + 5) == {**ALL_WELL, "a": Verdict.SUSPECT}
    cluster.renew_every_ten(HOUR + 10, HOUR + 40, "b", "c")
    assert cluster.verdicts(HOUR + 40) == {**ALL_WELL, "a": Verdict.LOST}
    cluster.renew(HOUR + 41, "a")
    assert cluster.verdicts(HOUR + 41) == ALL_WELL


@BOTH
def test_after_a_long_pause_of_everything_nodes_are_neither_alive_nor_lost_until_they_are_heard_of(made: Made) -> None:
    cluster = made()
    cluster.restart(HOUR)
    in_doubt = dict.fromkeys(NAMES, Verdict.SUSPECT)
    assert cluster.verdicts(HOUR) == in_doubt
    assert cluster.verdicts(2 * HOUR) == in_doubt
    cluster.renew(2 * HOUR, "b")
    assert cluster.verdicts(2 * HOUR) == {**in_doubt, "b": Verdict.HEALTHY}
    cluster.renew(2 * HOUR + 9, "c")
    assert cluster.verdicts(2 * HOUR + 9) == {**ALL_WELL, "a": Verdict.SUSPECT}
    cluster.renew_every_ten(2 * HOUR + 10, 2 * HOUR + 40, "b", "c")
    assert cluster.verdicts(2 * HOUR + 40) == {**ALL_WELL, "a": Verdict.LOST}


def test_news_that_is_told_late_proves_no_life() -> None:
    """An agent that stood still tells of beats from before; the node may have died since."""
    cluster = Cluster()
    cluster.renew_every_ten(10.0, 40.0, "a", "b")
    assert cluster.verdicts(40.0) == {**ALL_WELL, "c": Verdict.LOST}
    cluster.renew(HOUR, "a", "b")
    cluster.say("c", 50.0)
    assert cluster.verdicts(HOUR) == {**ALL_WELL, "c": Verdict.LOST}
    cluster.say("b", 60.0)
    assert cluster.verdicts(HOUR) == {"a": Verdict.HEALTHY, "b": Verdict.SUSPECT, "c": Verdict.LOST}


def test_who_reads_a_dump_takes_it_as_it_is() -> None:
    view = ClusterView()
    for name in NAMES:
        view.put(decode(node(name)))
        view.put(document_of(name, 0.0))
    rooms = view.snapshot(MADE_AT + 60.0).nodes
    assert {room.node.health.verdict for room in rooms.values()} == {Verdict.LOST}
    assert heartbeat(None) is None


def test_who_looks_once_compares_leases_with_the_newest() -> None:
    """The client's clock may differ from the cluster's, and a pause of all leases is no node's fault."""
    view = ClusterView(invalid_objects=InvalidObjects())
    for name, at in (("a", 0.0), ("b", HOUR + 1), ("c", HOUR + 5)):
        view.put(decode(node(name)))
        view.put(document_of(name, at))
    for look in (HOUR + 6, 2 * HOUR):
        rooms = view.snapshot(MADE_AT + look).nodes
        verdicts = {name: room.node.health.verdict for name, room in rooms.items()}
        assert verdicts == {"a": Verdict.LOST, "b": Verdict.HEALTHY, "c": Verdict.HEALTHY}


Step = tuple[str, float]
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("others live on"), st.sampled_from([1.0, 2.0, 4.0])),  # so many renewals
        st.tuples(st.just("one is renewed"), st.just(0.0)),
        st.tuples(st.just("nothing is heard"), st.sampled_from([0.5, 4.0, 9.0, 16.0, 24.0, 100.0, HOUR])),
        st.tuples(st.just("who watches is killed"), st.just(0.0)),
        st.tuples(st.just("it returns"), st.just(0.0)),
    ),
    max_size=20,
)


def happens(cluster: Cluster, step: Step, now: float) -> float:
    """The time after it."""
    match step:
        case ("others live on", times):
            cluster.renew_every_ten(now + 10.0, now + times * 10.0, "a", "b")
            return now + times * 10.0
        case ("one is renewed", _):
            cluster.renew(now, "a")
        case ("nothing is heard", seconds):
            return now + seconds
        case ("who watches is killed", _):
            cluster.restart(now)
        case ("it returns", _):
            cluster.renew(now, "c")
    return now


@BOTH
@given(steps=STEPS)
def test_a_node_that_was_given_up_is_not_healthy_before_it_is_renewed(made: Made, steps: list[Step]) -> None:
    """For any order of renewals, pauses, restarts and looks; c is the node that stops renewing its lease."""
    cluster, now, given_up = made(), 0.0, False
    for step in steps:
        now = happens(cluster, step, now)
        verdict = cluster.verdicts(now)["c"]
        if step[0] == "it returns":
            assert verdict is Verdict.HEALTHY
            given_up = False
        assert not (given_up and verdict is Verdict.HEALTHY), f"healthy again at {now}"
        given_up |= verdict is Verdict.LOST
