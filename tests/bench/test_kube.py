"""The benchmark beside kube-scheduler: its rounds share no names, leave nothing behind, and its tables add up."""

import asyncio
import os
import select
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bench.kube import report, workload
from bench.kube.__main__ import _options, _rounds
from bench.kube.binding_watch import BindingWatch
from bench.kube.cleanup import KINDS, NotRemoved, remove_traces
from bench.kube.load import busy_loops
from bench.kube.measures import FIRST_GANGS
from bench.kube.schedulers import GATED, OURS, STOCK
from tests.kube.cluster.processes import Ended
from understudy.objects.resources import JOBS, PODS, Resource
from understudy.ports import Change, ChangeType, Ref, Refused

ROOT = Path(__file__).parents[2]


class FakeApi:
    """Objects that leave some requests after they were told to, as finalizers make them, or never."""

    def __init__(self, lingers: int = 0, served: tuple[Resource, ...] = KINDS) -> None:
        self.lingers = lingers
        self.objects: dict[str, dict[str, int | None]] = {one.path(workload.NAMESPACE): {} for one in served}
        self.deletions: list[tuple[str, Any]] = []

    def add(self, resource: Resource, *names: str) -> None:
        self.objects[resource.path(workload.NAMESPACE)].update(dict.fromkeys(names))

    def names(self) -> set[str]:
        return {name for objects in self.objects.values() for name in objects}

    async def request(self, method: str, path: str, body: Any = None) -> bytes:
        path = path.partition("?")[0]
        if path not in self.objects:
            raise Refused(404, "NotFound", "the server could not find the requested resource")
        if method == "DELETE":
            self.deletions.append((path, body))
            self.delete(path)
        return self.listed(path)

    def delete(self, path: str) -> None:
        for name in self.objects[path]:
            self.objects[path][name] = self.lingers

    def listed(self, path: str) -> bytes:
        left = {name: looks for name, looks in self.objects[path].items() if looks is None or looks > 0}
        self.objects[path] = {name: None if looks is None else looks - 1 for name, looks in left.items()}
        leaving = {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["example.com/protection"]}
        items = [{"metadata": {"name": name, **({} if looks is None else leaving)}} for name, looks in left.items()]
        return msgspec.json.encode({"items": items})


def test_traces_are_waited_for_until_all_of_them_are_gone() -> None:
    api = FakeApi(lingers=5)
    api.add(PODS, "pod-0", "pod-1")
    api.add(workload.POD_GROUPS, "group")
    api.add(JOBS, "job")
    asyncio.run(remove_traces(api, seconds=30, look_again=0))
    assert api.names() == set()
    assert len(api.deletions) == 3, "what is on its way out is not deleted again"


def test_pods_on_dead_nodes_are_deleted_without_grace() -> None:
    api = FakeApi()
    api.add(PODS, "pod")
    asyncio.run(remove_traces(api, seconds=30, look_again=0))
    assert [options["gracePeriodSeconds"] for _, options in api.deletions] == [0]


def test_a_pod_made_while_traces_are_removed_is_removed_too() -> None:
    class Late(FakeApi):
        def delete(self, path: str) -> None:
            super().delete(path)
            if "late" not in self.names() and len(self.deletions) == 1:
                self.add(PODS, "late")

    api = Late()
    api.add(PODS, "pod")
    asyncio.run(remove_traces(api, seconds=30, look_again=0))
    assert api.names() == set()
    assert len(api.deletions) == 2


def test_a_cluster_without_pod_groups_has_no_traces_of_them() -> None:
    api = FakeApi(served=(PODS, JOBS))
    api.add(JOBS, "job")
    asyncio.run(remove_traces(api, seconds=30, look_again=0))
    assert api.names() == set()


def test_traces_that_stay_are_named_with_what_holds_them() -> None:
    api = FakeApi(lingers=10**9)
    api.add(workload.POD_GROUPS, *(f"group-{number}" for number in range(13)))
    with pytest.raises(NotRemoved, match=r"13 podgroups \(group-0 held by example.com/protection, .*, \.\.\.\)"):
        asyncio.run(remove_traces(api, seconds=0.05, look_again=0.01))


def test_an_object_of_the_same_name_is_not_taken_for_the_new_one() -> None:
    class Client:
        async def create(self, ref: Ref, body: Any) -> bytes:
            name = f"{ref.resource.plural} {body['metadata']['name']}"
            raise Refused(409, "AlreadyExists", f"{name} already exists: object is being deleted")

    gang = workload.Gang("gang", workload.LOW, "understudy", grouped=True)
    with pytest.raises(Refused, match="is being deleted"):
        asyncio.run(workload.submit(Client(), gang))  # type: ignore[arg-type]


def test_no_two_rounds_share_a_name() -> None:
    rounds = _rounds(_options(["--load", "2", "--rounds", "2"]))
    names = [gang.name for turn in rounds for gang in (*turn.low(FIRST_GANGS), *turn.high())]
    assert len(names) == len(set(names))
    assert [(turn.contender, turn.busy_loops) for turn in rounds[:6]] == [
        (contender, loops) for contender in (STOCK, GATED, OURS) for loops in (0, 2)
    ]
    assert [(turn.contender, turn.busy_loops) for turn in rounds[6:]] == [
        (turn.contender, turn.busy_loops) for turn in rounds[:6]
    ]


def test_without_a_load_every_contender_has_one_idle_round() -> None:
    assert [(turn.contender, turn.busy_loops) for turn in _rounds(_options([]))] == [(STOCK, 0), (GATED, 0), (OURS, 0)]
    assert {turn.busy_loops for turn in _rounds(_options(["--load"]))} == {0, 4}


@pytest.mark.parametrize("wrong", [["--load", "0"], ["--rounds", "0"], ["--load", "many"]])
def test_loads_and_rounds_are_counted_from_one(wrong: list[str]) -> None:
    with pytest.raises(SystemExit):
        _options(wrong)


# The tables


def row(scheduler: str, rate: float, seconds: float, busy: int = 0, disturbed: int = 4) -> dict[str, Any]:
    return {
        "case": "side by side",
        "nodes": 256,
        "scheduler": scheduler,
        "busy_loops": busy,
        "filled": {"pods": 1024, "seconds": 1024 / rate, "rate": rate, "split": 0},
        "preempted": {"seconds": seconds, "disturbed": disturbed, "broken": 0, "split": 0},
    }


def test_medians_of_what_is_measured_and_the_worst_of_what_is_counted() -> None:
    rows = [row("understudy", rate, seconds, disturbed=d) for rate, seconds, d in ((10, 3, 4), (30, 1, 5), (20, 2, 4))]
    (one,) = report.medians([*rows])
    assert (one["filled"]["rate"], one["preempted"]["seconds"], one["preempted"]["disturbed"]) == (20, 2, 5)
    assert one["rounds"] == 3


def test_a_slowdown_says_how_many_times_as_long_the_same_work_takes() -> None:
    assert report.slowdown(row("understudy", 200, 0.5), row("understudy", 100, 2.0)) == (2.0, 4.0)


def test_idle_and_loaded_figures_stand_side_by_side() -> None:
    found = [row(one.name, 100, 3.0) for one in (GATED, OURS)] + [
        row(one.name, 50, 6.0, busy=4) for one in (GATED, OURS)
    ]
    text = list(report.lines(found))
    assert "256 nodes, idle and beside 4 busy loops" in text
    loaded = text[text.index("256 nodes, idle and beside 4 busy loops") + 2 :]
    assert loaded[1].split() == ["understudy", "100", "50", "2.0", "x", "3.00", "s", "6.00", "s", "2.0", "x", "4", "0"]
    assert any("bound 1.0 times as fast" in line for line in text), "the verdicts are about the idle machine"


def test_without_a_load_nothing_is_said_of_one() -> None:
    assert not any("busy" in line for line in report.lines([row(OURS.name, 100, 3.0)]))


# The monitor


def pod(name: str, gang: str, node: str = "", leaving: bool = False) -> bytes:
    gone = {"deletionTimestamp": "2026-01-01T00:00:00Z"} if leaving else {}
    meta = {"name": name, "uid": f"uid-{name}", "labels": {"gang": gang}, **gone}
    return msgspec.json.encode({"metadata": meta, "spec": {"nodeName": node}})


def test_the_monitor_counts_the_pods_of_each_gang_apart() -> None:
    class Client:
        async def follow(self, resource: Resource, namespace: str = "") -> Any:
            assert (resource, namespace) == (PODS, workload.NAMESPACE)
            told = [pod("a-0", "a", "n0"), pod("a-1", "a"), pod("b-0", "b", "n1"), pod("b-0", "b", "n1", leaving=True)]
            for raw in told:
                yield Change(ChangeType.MODIFIED, raw)
            yield Change(ChangeType.DELETED, told[-1])

    async def watched() -> BindingWatch:
        seen = BindingWatch()
        await seen.watch(Client())  # type: ignore[arg-type]
        return seen

    seen = asyncio.run(watched())
    assert [one.name for one in seen.bound("a")] == ["a-0"]
    assert seen.bound("b") == []
    assert seen.disturbed({"a", "b", "c"}) == {"b": 1}


# The load


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A pipe that every loop holds open for as long as it runs."""
    path = tmp_path / "loops"
    os.mkfifo(path)
    return path


def ends_within(pipe: int, seconds: float) -> bool:
    ready, _, _ = select.select([pipe], [], [], seconds)
    return bool(ready) and os.read(pipe, 1) == b""


_HOLDER = """
import sys, time
from pathlib import Path
from bench.kube.load import busy_loops
with busy_loops(2, Path(sys.argv[1])):
    print("busy", flush=True)
    time.sleep(600)
"""


def test_busy_loops_end_with_a_benchmark_that_is_killed(log: Path) -> None:
    pipe = os.open(log, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with subprocess.Popen([sys.executable, "-c", _HOLDER, str(log)], cwd=ROOT, stdout=subprocess.PIPE) as holder:
            assert holder.stdout is not None
            assert holder.stdout.readline() == b"busy\n"
            assert not ends_within(pipe, 0)
            holder.kill()
        assert ends_within(pipe, 60)
    finally:
        os.close(pipe)


def test_busy_loops_end_with_their_block(tmp_path: Path) -> None:
    with busy_loops(1, tmp_path / "log") as loops:
        assert loops[0].popen.poll() is None
    assert loops[0].popen.poll() is not None


def test_a_load_that_ended_too_soon_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(Ended, match="busy loop 0"), busy_loops(1, tmp_path / "log", seconds=0) as loops:
        loops[0].popen.wait(60)
