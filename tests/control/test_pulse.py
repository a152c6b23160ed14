"""Leases age only while anybody is heard of: silence of all is no death of one."""

from datetime import UTC, datetime

import pytest

from tests.objects.documents import MADE_AT, lease, node
from understudy.control.health import DEFAULT_LIMITS
from understudy.control.pulse import Pulse
from understudy.control.troubles import Troubles
from understudy.control.view import View
from understudy.model.nodes import Verdict
from understudy.objects import Lease, decode


def renewed(name: str, at: float) -> Lease:
    found = decode(lease(name, datetime.fromtimestamp(MADE_AT + at, UTC).isoformat()))
    assert isinstance(found, Lease)
    return found


class Cluster:
    """Nodes a, b and c, whose leases of 40 s are renewed when a test says so."""

    def __init__(self, troubles: Troubles | None) -> None:
        self.view = View(troubles=troubles)
        for name in ("a", "b", "c"):
            self.view.put(decode(node(name)))
            self.renew(0.0, name)

    def renew(self, at: float, *names: str) -> None:
        for name in names:
            self.view.put(renewed(name, at))

    def verdicts(self, at: float) -> dict[str, Verdict]:
        rooms = self.view.snapshot(MADE_AT + at).rooms
        return {name: rooms[name].node.health.verdict for name in sorted(rooms)}


ALL_WELL = dict.fromkeys(("a", "b", "c"), Verdict.HEALTHY)


def test_a_node_that_is_silent_while_others_speak_is_doubted_and_given_up() -> None:
    cluster = Cluster(Troubles())
    for at in (10.0, 20.0, 30.0):
        cluster.renew(at, "a", "b")
    assert cluster.verdicts(10.0) == ALL_WELL
    assert cluster.verdicts(16.0) == {**ALL_WELL, "c": Verdict.SUSPECT}
    assert cluster.verdicts(30.0) == {**ALL_WELL, "c": Verdict.LOST}


@pytest.mark.parametrize("later", [60.0, 3600.0])
def test_when_all_are_silent_it_is_not_the_nodes(later: float) -> None:
    cluster = Cluster(Troubles())
    assert cluster.verdicts(later) == ALL_WELL


def test_when_the_first_one_speaks_again_the_others_get_their_time() -> None:
    cluster = Cluster(Troubles())
    assert cluster.verdicts(3600.0) == ALL_WELL
    cluster.renew(3600.0, "a")
    assert cluster.verdicts(3601.0) == ALL_WELL
    cluster.renew(3605.0, "b")
    cluster.renew(3610.0, "a")
    cluster.renew(3620.0, "a", "b")
    assert cluster.verdicts(3620.0) == {**ALL_WELL, "c": Verdict.SUSPECT}
    cluster.renew(3630.0, "a", "b")
    assert cluster.verdicts(3630.0) == {**ALL_WELL, "c": Verdict.LOST}


def test_who_reads_a_dump_takes_it_as_it_is() -> None:
    assert Cluster(None).verdicts(60.0) == dict.fromkeys(("a", "b", "c"), Verdict.LOST)


def test_without_news_a_lease_is_what_it_says() -> None:
    pulse = Pulse(DEFAULT_LIMITS)
    found = renewed("a", 0.0)
    assert pulse.felt(found, MADE_AT + 100) is found
    pulse.hear(found)
    assert pulse.felt(found, MADE_AT + 5) is found
    assert pulse.felt(None, MADE_AT) is None
