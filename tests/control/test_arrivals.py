"""Leases by our own clock: what a node's clock says is a sign of life, and never a time."""

from datetime import UTC, datetime

import pytest

from tests.control.virtual_clock import VirtualClock
from tests.objects.documents import MADE_AT, lease, node
from understudy.control.arrivals import Arrivals
from understudy.control.troubles import Troubles
from understudy.control.view import View
from understudy.kinds.decoding import decode
from understudy.model.nodes import Verdict

DAY = 86_400.0


class Cluster:
    """Nodes a and b, whose clocks are wrong by `skew`."""

    def __init__(self, skew: float) -> None:
        self.clock = VirtualClock(MADE_AT)
        self.view = View(troubles=Troubles(), arrivals=Arrivals(self.clock))
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
    cluster = Cluster(skew)
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
    cluster = Cluster(0.0)
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
    cluster = Cluster(skew)
    assert cluster.verdicts() == (Verdict.SUSPECT, Verdict.SUSPECT)
    cluster.at(10.0)
    cluster.renew("a")
    assert cluster.verdicts() == (Verdict.HEALTHY, Verdict.SUSPECT)
    cluster.renew("b")
    assert cluster.verdicts() == (Verdict.HEALTHY, Verdict.HEALTHY)


@pytest.mark.parametrize("skew", [-14.0, 0.0, 14.0])
def test_a_lease_that_looks_fresh_when_it_is_met_first_counts_from_then(skew: float) -> None:
    assert Cluster(skew).verdicts() == (Verdict.HEALTHY, Verdict.HEALTHY)


def test_a_lease_that_was_removed_is_met_for_the_first_time_again() -> None:
    cluster = Cluster(0.0)
    told = decode(lease("b", datetime.fromtimestamp(MADE_AT, UTC).isoformat()))
    for moment in (10.0, 20.0):
        cluster.at(moment)
        cluster.renew("a")
    cluster.view.remove(told)
    cluster.view.put(told)
    cluster.at(30.0)
    cluster.renew("a")
    assert cluster.verdicts() == (Verdict.HEALTHY, Verdict.SUSPECT)
