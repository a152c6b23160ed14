"""Simulated worlds: the same seed gives the same scenario in every process, and the parts do what they are made for."""

import os
import subprocess
import sys

import pytest

from understudy.simulate.cluster import SimulatedCluster
from understudy.simulate.connection import NO_FAULT, RequestFaults
from understudy.simulate.context import SimulationContext
from understudy.simulate.event_loop import VirtualTimeLoop
from understudy.simulate.invariants.step import StepInvariants
from understudy.simulate.processes import ProcessClock, ReplicaProcess
from understudy.simulate.scenario import Event, JobPlan, Lateness, NodePlan, Scenario, read, written
from understudy.simulate.scenario_generator import generate
from understudy.simulate.simulation import SimulationOutcome, simulate

TWO_NODES = (NodePlan("n0", "s0"), NodePlan("n1", "s1"))
SCRIPT = """
from understudy.simulate.scenario_generator import generate
from understudy.simulate.simulation import simulate
import logging
logging.disable(logging.CRITICAL)
print(*[simulate(generate(seed)).digest for seed in range(8)])
"""


def traced(mode: str, *events: Event, jobs: tuple[JobPlan, ...], late: tuple[Lateness, ...] = ()) -> SimulationOutcome:
    return simulate(Scenario(1, mode, 7, 30.0, TWO_NODES, jobs, events, late), tracing=True)


def times_of(outcome: SimulationOutcome, words: str) -> list[float]:
    return [float(line.split()[0]) for line in outcome.trace if words in line]


def test_a_seed_is_the_same_story_twice() -> None:
    for seed in range(4):
        first, second = simulate(generate(seed), tracing=True), simulate(generate(seed), tracing=True)
        assert first == second


def test_a_seed_is_the_same_story_in_a_process_with_other_hashes() -> None:
    told = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "4242")
    ]
    assert told[0] == told[1]
    assert len(told[0].split()) == 8


def test_a_scenario_survives_being_written_down() -> None:
    for seed in range(50):
        assert read(written(generate(seed))) == generate(seed)


@pytest.mark.parametrize("mode", ["embedded", "kube"])
@pytest.mark.parametrize("kind", ["Job", "JobSet", "PyTorchJob", "MPIJob", "TrainJob"])
def test_a_job_of_every_kind_runs_to_its_end(mode: str, kind: str) -> None:
    job = JobPlan("j", kind, size=2, duration=5.0)
    outcome = traced(mode, Event(0.5, "submit", "j"), jobs=(job,))
    assert outcome.violation is None
    members = 3 if kind == "MPIJob" else 2
    assert len(times_of(outcome, " run n")) == members
    assert len(times_of(outcome, " end n")) == members


@pytest.mark.parametrize("mode", ["embedded", "kube"])
def test_a_gang_is_preempted_and_comes_back(mode: str) -> None:
    jobs = (JobPlan("low", "Job", 2, accelerators=4), JobPlan("high", "Job", 2, 1, 4, priority=20, duration=10.0))
    outcome = traced(mode, Event(0.5, "submit", "low"), Event(10.0, "submit", "high"), jobs=jobs)
    assert outcome.violation is None
    assert len(times_of(outcome, "run n")) == 6


@pytest.mark.parametrize("mode", ["embedded", "kube"])
def test_the_gang_of_a_dead_node_moves(mode: str) -> None:
    job = JobPlan("j", "PyTorchJob", 1, accelerators=4)
    outcome = traced(mode, Event(0.5, "submit", "j"), Event(10.0, "power-off", "n0"), jobs=(job,))
    assert outcome.violation is None
    assert len(times_of(outcome, "run n0")) == 1
    assert len(times_of(outcome, "run n1")) == 1


@pytest.mark.parametrize(("killed", "other"), [("replica-1", "replica-2"), ("replica-2", "replica-1")])
def test_one_replica_does_the_work_of_the_other(killed: str, other: str) -> None:
    events = (Event(5.0, "kill", killed, 100.0), Event(6.0, "submit", "j"))
    scenario = Scenario(1, "kube", 7, 80.0, TWO_NODES, (JobPlan("j", "Job"),), events)
    outcome = simulate(scenario, tracing=True)
    assert outcome.violation is None
    bound = [line for line in outcome.trace if " bind j-0" in line]
    assert len(bound) == 1
    assert f"write {other} " in bound[0]


def test_a_paused_process_does_nothing_until_it_goes_on() -> None:
    job = JobPlan("j", "Job")
    outcome = traced("embedded", Event(5.0, "pause", "control", 20.0), Event(6.0, "submit", "j"), jobs=(job,))
    assert times_of(outcome, "write control") > [25.0]


def test_a_lost_answer_is_not_written_twice() -> None:
    job = JobPlan("j", "Job")
    outcome = traced("embedded", Event(0.5, "lose-answers", "control", 0.0, 4), Event(1.0, "submit", "j"), jobs=(job,))
    assert outcome.violation is None
    assert len([line for line in outcome.trace if "run n" in line]) == 1


def test_a_late_watch_delays_what_depends_on_it() -> None:
    job = JobPlan("j", "Job")
    prompt = traced("embedded", Event(0.5, "submit", "j"), jobs=(job,))
    late = traced("embedded", Event(0.5, "submit", "j"), jobs=(job,), late=(Lateness("control", "jobs.batch", 25.0),))
    assert times_of(late, "bind j-0")[0] > times_of(prompt, "bind j-0")[0] + 0.5


def test_an_mpijob_of_the_first_version_starts_its_launcher_when_its_workers_run() -> None:
    job = JobPlan("j", "MPIJob", 2, stages="v1alpha1", duration=5.0)
    outcome = traced("kube", Event(0.5, "submit", "j"), jobs=(job,))
    assert outcome.violation is None
    [launched] = [line for line in outcome.trace if " run n" in line and "launcher" in line]
    assert float(launched.split()[0]) > max(times_of(outcome, " run n")[:2])


def test_the_clocks_of_replicas_differ_and_are_set_while_the_work_goes_on() -> None:
    clocks = (
        Event(0.0, "set-clock", "replica-1", 25.0),
        Event(0.0, "set-clock", "replica-2", -25.0),
        Event(8.0, "set-clock", "replica-1", -40.0),
    )
    outcome = traced("kube", *clocks, Event(9.0, "submit", "j"), jobs=(JobPlan("j", "Job", 2),))
    assert outcome.violation is None
    assert len(times_of(outcome, "run n")) == 2


def test_a_process_reads_its_own_clock() -> None:
    context = SimulationContext(Scenario(1, "kube"), VirtualTimeLoop())
    cluster = SimulatedCluster(context)
    process = ReplicaProcess(context, cluster.server, StepInvariants(cluster), "replica-1")
    clock = ProcessClock(process._client("replica-1", whole_gangs=False), process)
    process.set_clock(-30.0)
    assert clock.now() == context.now() - 30.0
    context.loop.close()


def test_faults_hit_reads_and_writes_apart_and_a_crash_comes_with_any_write() -> None:
    faults = RequestFaults()
    faults.refused_reads, faults.lost_reads, faults.refusals, faults.kill_in = [429], 1, [409], 3
    assert faults.next(write=True, swaps=True).refusal == 409
    assert faults.next(write=False, swaps=False).refusal == 429
    assert faults.next(write=False, swaps=False).loses_request
    assert faults.next(write=False, swaps=False) is NO_FAULT
    assert [faults.kills() for _ in range(4)] == [False, False, True, False]


def test_a_read_that_is_refused_or_lost_is_made_again() -> None:
    events = (Event(0.1, "refuse-reads", "replica-1", 3, 503), Event(0.1, "lose-reads", "replica-2", number=3))
    outcome = traced("kube", *events, Event(9.0, "submit", "j"), jobs=(JobPlan("j", "Job"),))
    assert outcome.violation is None
    assert len(times_of(outcome, "run n")) == 1
