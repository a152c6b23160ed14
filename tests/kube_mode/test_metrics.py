"""What is measured: decisions as they are carried out, and what the leader saw last; the reference names all of it."""

import asyncio
import re
from pathlib import Path

import pytest

from tests.control.fake_cluster import FakeCluster
from tests.control.virtual_clock import BEGIN, VirtualClock
from tests.objects.documents import node, pod
from understudy.client.request_metrics import NO_ANSWER, RequestMetrics
from understudy.control.loop import Cycle, LoopSettings, LoopStatus
from understudy.decide.policy import Policy, SpareRule
from understudy.kube.counting_client import CountingClient
from understudy.kube.fenced_client import FencedClient, WritePermit
from understudy.kube.liveness import LONGEST_SILENCE, LONGEST_TURN, Heartbeat
from understudy.kube.metrics import CycleMetrics, MetricSources, metrics_of
from understudy.kube.probe_server import endpoints_of
from understudy.kube.prometheus import exposition
from understudy.kube.replica import Replica, SoleLeadership
from understudy.model.plans import Plan, Wait, WaitCode, WaitReason
from understudy.model.snapshot import Snapshot

REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "metrics.md"


class Resigning(SoleLeadership):
    leads = True


class Bench:
    def __init__(self, policy: Policy = Policy()) -> None:  # noqa: B008
        self.clock = VirtualClock()
        self.cluster = FakeCluster(self.clock, absent=["jobsets.jobset.x-k8s.io"])
        self.observed, self.turns, self.metrics = (
            CountingClient(self.cluster),
            CycleMetrics(self.clock),
            RequestMetrics(),
        )
        self.leadership = Resigning()
        self.fence = FencedClient(self.observed, WritePermit(lambda: self.leadership.leads, self.observed.age, None))
        settings = LoopSettings(policy=policy)
        self.replica = Replica(self.fence, self.clock, self.leadership, settings, self.turns.observe)
        about = MetricSources(self.replica, self.observed, self.turns, self.metrics, policy, self.clock)
        self.heartbeat = Heartbeat(self.clock.now)
        self.figures = tuple(metrics_of(about, self.heartbeat))
        self.pages = endpoints_of(self.replica, self.figures, 30.0, self.heartbeat)

    def lines(self) -> list[str]:
        return [line for line in exposition(self.figures).splitlines() if not line.startswith("#")]


def test_a_seat_that_was_given_is_counted() -> None:
    async def scenario() -> None:
        bench = Bench(Policy(spares=(SpareRule(1),)))
        running = asyncio.create_task(bench.replica.run())
        for document in (
            node("a"),
            node("b"),
            pod("x"),
            pod("y", nodeName="a"),
            pod("far", nodeSelector={"no": "where"}),
        ):
            bench.cluster.put(document)
        assert bench.pages["/readyz"]().status == 503
        await bench.clock.let_pass(3.0)
        lines = bench.lines()
        assert bench.pages["/readyz"]() == (200, "leading\n", "text/plain; charset=utf-8")
        assert bench.pages["/metrics"]().body == exposition(bench.figures)
        for line in (
            "understudy_leader 1",
            "understudy_leader_transitions_total 1",
            "understudy_synced 1",
            'understudy_objects{resource="nodes"} 2',
            'understudy_objects{resource="pods"} 3',
            "understudy_pods_bound_total 1",
            'understudy_actions_total{action="start"} 1',
            'understudy_gangs{state="running"} 2',
            'understudy_gangs{state="waiting"} 1',
            'understudy_spares{state="free"} 1',
        ):
            assert line in lines
        assert not [line for line in lines if "jobsets" in line]
        assert BEGIN <= bench.turns.decided_at <= bench.clock.now()
        bench.cluster.take_away(bench.cluster.documents["nodes", "", "b"])
        await bench.clock.let_pass(1.0)
        assert 'understudy_objects{resource="nodes"} 1' in bench.lines()
        bench.leadership.leads = False
        assert not [line for line in bench.lines() if line.startswith(("understudy_gangs", "understudy_spares"))]
        assert bench.pages["/readyz"]().body == "standing by\n"
        await bench.replica.end(running)

    asyncio.run(scenario())


def test_who_hangs_is_not_healthy(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench()
    assert bench.pages["/healthz"]()[:2] == (200, "ok\n")
    bench.clock.jump(LONGEST_SILENCE + 1.0)
    assert bench.pages["/healthz"]()[:2] == (500, "the main loop has shown no sign of life for 61 s\n")
    assert "understudy_loop_silence_seconds 61" in bench.lines()
    bench.heartbeat.beat()
    assert bench.pages["/healthz"]().status == 200
    monkeypatch.setattr(Replica, "status", LoopStatus(turn_lasts=LONGEST_TURN + 1.0))
    assert bench.pages["/healthz"]()[:2] == (500, "the scheduling loop has been at one turn for 601 s\n")


def test_what_cannot_be_seen_is_named() -> None:
    async def scenario() -> None:
        bench = Bench()
        bench.cluster.absent.add("nodes")
        running = asyncio.create_task(bench.replica.run())
        await bench.clock.let_pass(5.0)
        assert bench.pages["/readyz"]()[:2] == (503, "not seen yet: nodes\n")
        bench.cluster.absent.clear()
        await bench.clock.let_pass(5.0)
        assert bench.pages["/readyz"]().status == 200
        await bench.replica.end(running)

    asyncio.run(scenario())


def test_an_old_view_is_not_ready() -> None:
    async def scenario() -> None:
        bench = Bench()
        running = asyncio.create_task(bench.replica.run())
        await bench.clock.let_pass(1.0)
        bench.cluster.age = lambda: 31.0  # type: ignore[method-assign]
        assert bench.pages["/readyz"]()[:2] == (503, "the view is 31 s old\n")
        assert "understudy_view_age_seconds 31" in bench.lines()
        assert bench.pages["/healthz"]().status == 200
        await bench.replica.end(running)

    asyncio.run(scenario())


def test_a_guard_counts_once_for_as_long_as_it_holds_a_gang_back() -> None:
    turns = CycleMetrics(VirtualClock())
    held = Plan((Wait("Job/default/j", WaitReason(WaitCode.GUARDED, "2 x 1 cpu", guard="back-off")),))
    for plan in (held, held, Plan(), held):
        turns.observe(Cycle(Snapshot(), plan, took=0.002))
    assert list(turns.guards.lines())[2:] == ['understudy_guard_activations_total{guard="back-off"} 2']
    assert list(turns.plan_seconds.lines())[-1] == "understudy_plan_seconds_count 4"


def test_requests_are_told_by_their_answers() -> None:
    async def lines() -> list[str]:
        bench = Bench()
        bench.metrics.count("POST", "/api/v1/namespaces/default/pods/x/binding", 201, 0.01)
        bench.metrics.count("GET", "/api/v1/nodes", NO_ANSWER, 30.0)
        bench.metrics.repeats = 3
        return bench.lines()

    found = asyncio.run(lines())
    assert 'understudy_requests_total{method="POST",resource="pods/binding",code="201"} 1' in found
    assert 'understudy_requests_total{method="GET",resource="nodes",code="none"} 1' in found
    assert "understudy_request_repeats_total 3" in found


def test_the_reference_names_every_figure() -> None:
    async def names() -> set[str]:
        return set(re.findall(r"^# TYPE (\S+) ", exposition(Bench().figures), re.MULTILINE))

    written = set(re.findall(r"^\| `(understudy_\w+)", REFERENCE.read_text(), re.MULTILINE))
    assert written == asyncio.run(names())
