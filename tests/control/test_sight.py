"""A view that is too old is not acted upon, and that is said once."""

import logging

import pytest

from tests.control.fake_cluster import FakeCluster
from tests.control.virtual_clock import VirtualClock
from understudy.control.sight import Sight


class Aging(FakeCluster):
    old = 0.0

    def age(self) -> float:
        return self.old


def test_it_is_said_when_it_begins_and_when_it_ends(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    cluster = Aging(VirtualClock())
    sight = Sight(cluster, 30.0)
    seen = []
    for cluster.old in (0.0, 30.0, 31.0, 90.0, 5.0, 6.0):
        seen.append(sight.is_clear())
    assert seen == [True, True, False, False, True, True]
    assert [record.getMessage() for record in caplog.records] == [
        "the view is 31 s old: nothing is decided until it is fresh again",
        "the view is fresh again; deciding goes on",
    ]


def test_without_a_limit_any_view_will_do() -> None:
    cluster = Aging(VirtualClock())
    cluster.old = 1e9
    assert Sight(cluster, None).is_clear()
