"""When nothing changes any more: what waits although it fits, or although something below it runs, is told."""

from msgspec.structs import replace

from tests.chaos.convergence import could_run
from tests.decide.builders import NOW, cluster, jobset, lost, nodes, queued, running, shape, slices
from tests.decide.exhaustive_search import Setting
from understudy.decide.policy import Policy
from understudy.model.gangs import Gang
from understudy.model.nodes import Node


def told(there: list[Node], *gangs: Gang) -> dict[str, str]:
    found = could_run(Setting(cluster(there, *gangs), Policy(), NOW))
    return {name: kind for name, (kind, _) in found.items()}


def test_a_gang_that_has_room_must_not_wait() -> None:
    assert told(nodes("a b"), queued("waits", members=2)) == {"waits": "waits_though_it_fits"}
    assert told(nodes("a"), queued("waits", members=2)) == {}
    assert told([*nodes("a"), lost(nodes("b")[0])], queued("waits", members=2)) == {}


def test_nothing_lower_runs_where_something_higher_would_fit_without_it() -> None:
    low = running("low", on="a b", priority=100)
    assert told(nodes("a b"), low, queued("high", members=2, priority=1000)) == {"high": "lower_runs"}
    assert told(nodes("a b"), low, queued("equal", members=2, priority=100)) == {}
    assert told(nodes("a b"), low, queued("high", members=3, priority=1000)) == {}, "it would not fit either"
    mixed = (running("low", on="a", priority=100), running("other", on="b", priority=1000))
    assert told(nodes("a b"), *mixed, queued("high", members=2, priority=1000)) == {}
    assert told(nodes("a b"), *mixed, queued("high", members=2, priority=10_000)) == {"high": "lower_runs"}


def test_free_and_taken_room_count_together() -> None:
    low = running("low", on="a", priority=100)
    assert told(nodes("a b"), low, queued("high", members=2, priority=1000)) == {"high": "lower_runs"}


def test_a_domain_is_free_when_all_in_it_may_be_taken() -> None:
    there = slices(s0="a b", s1="c d")
    low = (running("one", on="a", priority=100), running("two", on="c d", priority=2000))
    assert told(there, *low, jobset("high", priority=1000)) == {"high": "lower_runs"}
    assert told(there, *low, jobset("high", islands=2, priority=1000)) == {}


def test_a_gang_that_may_not_preempt_or_cannot_run_waits_rightly() -> None:
    low = running("low", on="a b", priority=100)
    assert told(nodes("a b"), low, queued("high", members=2, priority=1000, preempts=False)) == {}
    claimless = shape(unsupported="claim data does not exist")
    assert told(nodes("a b"), low, queued("high", members=2, priority=1000, asks=claimless)) == {}


def test_seats_held_for_a_gang_above_are_not_free() -> None:
    holder = replace(queued("top", members=2, priority=10_000), holds=(("top-0", "a"), ("top-1", "b")))
    assert told(nodes("a b"), holder, queued("high", members=1, priority=1000)) == {"top": "waits_though_it_fits"}
