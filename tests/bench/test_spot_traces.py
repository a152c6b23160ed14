"""Traces of spot machines: all forms are read into one, sped up, cut and clipped to the machines there are."""

from itertools import pairwise

import pytest

from bench.spot import traces
from bench.spot.traces import BadTrace, Churn

BAMBOO = "0,add,node1\n0,add,node2\n60000,remove,node1\n60000,add,node3\n120000,remove,node2\n".splitlines()
PROBES = """\
scheduled_at_pdt,zone,requested,created,capacity_exhausted
2025-10-03T17:10:00,a,16,2,0
2025-10-03T17:10:00,b,16,16,0
2025-10-03T17:20:00,a,16,0,1
2025-10-03T17:30:00,a,16,1,1
""".splitlines()
RUNS = """\
zone_instance,start_utc,ticks_195s,available
east_1,2023-02-15 22:08:16,246,0
west_1,2023-02-15 22:08:16,3,1
east_1,2023-02-16 11:28:17,3,1
west_1,2023-02-15 22:18:01,3,0
""".splitlines()


def told(events: list[Churn]) -> list[str]:
    return [f"{event.at:g} {'+' if event.appears else '-'}{event.machine}" for event in events]


def test_a_list_of_additions_and_removals_is_read() -> None:
    assert told(traces.read_bamboo(BAMBOO)) == ["0 +node1", "0 +node2", "60 -node1", "60 +node3", "120 -node2"]


@pytest.mark.parametrize("line", ["soon,add,node1", "0,adds,node1", "0,add"])
def test_a_line_that_is_none_is_named(line: str) -> None:
    with pytest.raises(BadTrace, match=r"line 2: .*expected MILLISECONDS,add"):
        traces.read_bamboo(["0,add,node1", line])


def test_counts_of_a_zone_become_machines() -> None:
    assert told(traces.read_counts(PROBES, "a")) == ["0 +a-0", "0 +a-1", "600 -a-0", "600 -a-1", "1200 +a-0"]
    with pytest.raises(BadTrace, match="no probe of the zone 'c'"):
        traces.read_counts(PROBES, "c")


def test_runs_of_availability_become_machines() -> None:
    assert told(traces.read_availability(RUNS)) == ["0 +west_1", "585 -west_1", "48001 +east_1"]


def test_time_runs_faster() -> None:
    assert told(traces.sped_up(traces.read_bamboo(BAMBOO), 60))[2:] == ["1 -node1", "1 +node3", "2 -node2"]


def test_a_trace_is_clipped_to_the_machines_there_are() -> None:
    events = traces.read_bamboo(BAMBOO)
    assert told(traces.clipped(events, ["a", "b"])) == ["0 +a", "0 +b", "60 -a", "60 +a", "120 -b"]
    assert told(traces.clipped(events, ["a"])) == ["0 +a", "60 -a", "60 +a"]


def test_a_window_begins_with_the_machines_that_are_there() -> None:
    assert told(traces.window(traces.read_bamboo(BAMBOO), 60, 60)) == ["0 +node2", "0 +node3", "60 -node2"]


def test_the_busiest_window_has_the_most_disappearances() -> None:
    events = [Churn(float(at), False, f"m{at}") for at in (10, 500, 510, 520, 900, 2000)]
    begin = traces.busiest(events, 100)
    assert len(traces.window(events, begin, 100)) == 3


@pytest.mark.parametrize("name", traces.TRACES)
def test_in_every_trace_machines_disappear_only_after_they_appeared(name: str) -> None:
    if name != "synthetic" and not traces.DATA.is_dir():
        pytest.skip(f"the data is not here: no {traces.DATA}")
    events = traces.read(name)
    assert any(not event.appears for event in events)
    for kept in (events, traces.clipped(events, ["a", "b", "c"]), traces.window(events, events[-1].at / 2, 7200)):
        _alternate(kept)


def _alternate(events: list[Churn]) -> None:
    assert all(first.at <= second.at for first, second in pairwise(events))
    up: dict[str, bool] = {}
    for event in events:
        assert event.appears is not up.get(event.machine, False), event
        up[event.machine] = event.appears


def test_the_made_up_trace_is_the_same_every_time() -> None:
    assert traces.synthetic(seed=3) == traces.synthetic(seed=3)
    assert traces.synthetic(seed=3) != traces.synthetic(seed=4)
