"""Own writes are waited for until the view shows them; the deletions that others announced, for a limited time."""

import math

import pytest

from tests.objects.documents import Document, pod
from understudy.control.expecting import Expectations, Shows, at_version, leaving, seated
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
        pytest.param(seated("u"), known("a"), id="bound"),
        pytest.param(leaving("u"), known("a", deletionTimestamp="2026-01-01T00:00:00Z"), id="told to go"),
        pytest.param(at_version("u", "9"), known(resourceVersion="9"), id="this version"),
        pytest.param(at_version("u", "9"), known(resourceVersion="10"), id="a later version"),
        pytest.param(seated("u"), known(uid="another"), id="another of the same name"),
        pytest.param(at_version("u", "9"), known(uid="another"), id="another version of the same name"),
        pytest.param(seated("u"), None, id="gone instead of bound"),
        pytest.param(leaving("u"), None, id="gone"),
        pytest.param(at_version("u", "9"), None, id="gone instead of changed"),
    ],
)
def test_a_write_is_awaited_until_it_shows(shows: Shows, after: KubeObject | None) -> None:
    expectations = Expectations()
    expectations.expect(X, shows, BEFORE, until=10.0)
    assert expectations.open_until(0.0) == 10.0
    expectations.saw(("Pod", "default", "y"), after)
    expectations.saw(X, known(resourceVersion="8"))
    assert expectations.open_until(0.0) == 10.0
    expectations.saw(X, after)
    assert expectations.open_until(0.0) is None


def test_a_view_that_is_ahead_of_the_answer_is_not_waited_for() -> None:
    expectations = Expectations()
    expectations.expect(X, seated("u"), known("a"), until=10.0)
    expectations.expect(X, at_version("u", "7"), BEFORE, until=10.0)
    assert expectations.open_until(0.0) is None


def test_an_own_write_is_waited_for_without_a_limit() -> None:
    expectations = Expectations()
    expectations.expect(X, seated("u"), BEFORE)
    assert expectations.open_until(1e9) == math.inf
    assert expectations.names == ["Pod default/x"]
    assert not expectations.saw(X, BEFORE)
    assert expectations.saw(X, known("a"))
    assert expectations.open_until(0.0) is None


def test_what_others_announced_is_waited_for_until_a_given_time() -> None:
    expectations = Expectations()
    expectations.expect(X, seated("u"), BEFORE, until=10.0)
    expectations.expect(X, at_version("u", "9"), BEFORE, until=5.0)
    expectations.saw(X, BEFORE)
    assert expectations.open_until(7.0) == 10.0
    assert expectations.open_until(10.0) is None


def test_versions_that_cannot_be_compared_are_not_waited_for() -> None:
    expectations = Expectations()
    expectations.expect(X, at_version("u", "zebra"), BEFORE, until=10.0)
    assert expectations.open_until(0.0) is None
