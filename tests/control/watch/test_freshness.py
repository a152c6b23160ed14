"""The view shows the loop's own writes, and is young enough to be acted on."""

import logging
import math

import pytest

from tests.control.fake_cluster import FakeCluster
from tests.control.virtual_clock import VirtualClock
from tests.objects.documents import Document, pod
from understudy.control.watch.freshness import Expectations, Shows, ViewAge, shows_deletion, shows_seat, shows_version
from understudy.kinds.decoding import decode
from understudy.objects.meta import KubeObject

X = ("Pod", "default", "x")


def known(node: str = "", **meta: str) -> KubeObject:
    document: Document = pod("x", node, {"uid": "u", "resourceVersion": "7", **meta})
    return decode(document)


BEFORE = known()


@pytest.mark.parametrize(
    ("shows", "after"),
    [
        pytest.param(shows_seat("u"), known("a"), id="bound"),
        pytest.param(shows_deletion("u"), known("a", deletionTimestamp="2026-01-01T00:00:00Z"), id="told to go"),
        pytest.param(shows_version("u", "9"), known(resourceVersion="9"), id="this version"),
        pytest.param(shows_version("u", "9"), known(resourceVersion="10"), id="a later version"),
        pytest.param(shows_seat("u"), known(uid="another"), id="another of the same name"),
        pytest.param(shows_version("u", "9"), known(uid="another"), id="another version of the same name"),
        pytest.param(shows_seat("u"), None, id="gone instead of bound"),
        pytest.param(shows_deletion("u"), None, id="gone"),
        pytest.param(shows_version("u", "9"), None, id="gone instead of changed"),
    ],
)
def test_a_write_is_awaited_until_it_shows(shows: Shows, after: KubeObject | None) -> None:
    expectations = Expectations()
    expectations.expect(X, shows, BEFORE, until=10.0)
    assert expectations.open_until(0.0) == 10.0
    expectations.observed(("Pod", "default", "y"), after)
    expectations.observed(X, known(resourceVersion="8"))
    assert expectations.open_until(0.0) == 10.0
    expectations.observed(X, after)
    assert expectations.open_until(0.0) is None


def test_a_view_that_is_ahead_of_the_answer_is_not_waited_for() -> None:
    expectations = Expectations()
    expectations.expect(X, shows_seat("u"), known("a"), until=10.0)
    expectations.expect(X, shows_version("u", "7"), BEFORE, until=10.0)
    assert expectations.open_until(0.0) is None


def test_an_own_write_is_waited_for_without_a_limit() -> None:
    expectations = Expectations()
    expectations.expect(X, shows_seat("u"), BEFORE)
    assert expectations.open_until(1e9) == math.inf
    assert expectations.names == ["Pod default/x"]
    assert not expectations.observed(X, BEFORE)
    assert expectations.observed(X, known("a"))
    assert expectations.open_until(0.0) is None


def test_what_others_announced_is_waited_for_until_a_given_time() -> None:
    expectations = Expectations()
    expectations.expect(X, shows_seat("u"), BEFORE, until=10.0)
    expectations.expect(X, shows_version("u", "9"), BEFORE, until=5.0)
    expectations.observed(X, BEFORE)
    assert expectations.open_until(7.0) == 10.0
    assert expectations.open_until(10.0) is None


def test_versions_that_cannot_be_compared_are_not_waited_for() -> None:
    expectations = Expectations()
    expectations.expect(X, shows_version("u", "zebra"), BEFORE, until=10.0)
    assert expectations.open_until(0.0) is None


class Aging(FakeCluster):
    old = 0.0

    def age(self) -> float:
        return self.old


def test_it_is_said_when_it_begins_and_when_it_ends(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    cluster = Aging(VirtualClock())
    observed = ViewAge(cluster, 30.0)
    seen = []
    for cluster.old in (0.0, 30.0, 31.0, 90.0, 5.0, 6.0):
        seen.append(observed.is_clear())
    assert seen == [True, True, False, False, True, True]
    assert [record.getMessage() for record in caplog.records] == [
        "the view is 31 s old: nothing is decided until it is fresh again",
        "the view is fresh again; deciding goes on",
    ]


def test_without_a_limit_any_view_will_do() -> None:
    cluster = Aging(VirtualClock())
    cluster.old = 1e9
    assert ViewAge(cluster, None).is_clear()
