"""Runs many seeds on all cores, gathers what they find, and shrinks what fails to a small scenario kept as a file."""

import gc
import logging
import multiprocessing
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from understudy.simulate.context import Violation
from understudy.simulate.scenario import Event, JobPlan, Scenario, written
from understudy.simulate.scenario_generator import generate
from understudy.simulate.simulation import simulate

MOST_RUNS = 400


# What makes a job simpler, one field at a time
_SIMPLER: tuple[tuple[str, Any], ...] = (
    ("claim", ""), ("duration", 0.0), ("minimum", 0), ("topology", ""), ("stages", ""), ("parts", 1), ("size", 1),
    ("size", 2), ("parts", 2), ("accelerators", 1), ("preempts", True), ("tolerates", True),
    ("priority", 0), ("grace", 5), ("capacity", ""), ("max_spot", -1), ("one_kind", False),
)  # fmt: skip


class Shrinker:
    """Has a limit of runs: small enough soon is better than smallest later."""

    def __init__(self, invariant: str, most_runs: int = MOST_RUNS) -> None:
        self._invariant = invariant
        self._left = most_runs
        self.runs = 0

    def shrunk(self, scenario: Scenario) -> Scenario:
        """The smallest scenario found that violates the same invariant."""
        before = None
        while before != scenario and self._left > 0:
            before = scenario
            scenario = self._without_jobs(scenario)
            scenario = self._without_entries(scenario, "events")
            scenario = self._without_entries(scenario, "late")
            scenario = self._without_nodes(scenario)
            for candidate_of in (_simpler_jobs, _simpler_nodes, _simpler_rest):
                scenario = self._simplified(scenario, candidate_of)
        return scenario

    def _fails(self, scenario: Scenario) -> bool:
        if self._left <= 0:
            return False
        self._left -= 1
        self.runs += 1
        violation = simulate(scenario).violation
        return violation is not None and violation.invariant == self._invariant

    def _without_entries(self, scenario: Scenario, field: str) -> Scenario:
        """Leaves out halves, then quarters, in the end single entries."""
        entries = list(getattr(scenario, field))
        portion = max(1, len(entries) // 2)
        while entries:
            start = 0
            while start < len(entries):
                kept = entries[:start] + entries[start + portion :]
                candidate = replace(scenario, **{field: tuple(kept)})
                if self._fails(candidate):
                    scenario, entries = candidate, kept
                else:
                    start += portion
            if portion == 1:
                break
            portion = max(1, portion // 2)
        return scenario

    def _without_jobs(self, scenario: Scenario) -> Scenario:
        for job in scenario.jobs:
            candidate = replace(
                scenario,
                jobs=tuple(one for one in scenario.jobs if one is not job),
                events=tuple(event for event in scenario.events if event.target != job.name),
            )
            if self._fails(candidate):
                scenario = candidate
        return scenario

    def _without_nodes(self, scenario: Scenario) -> Scenario:
        for node in scenario.nodes:
            candidate = replace(
                scenario,
                nodes=tuple(one for one in scenario.nodes if one is not node),
                events=tuple(event for event in scenario.events if event.target != node.name),
            )
            if candidate.nodes and self._fails(candidate):
                scenario = candidate
        return scenario

    def _simplified(self, scenario: Scenario, candidates: Callable[[Scenario], Iterator[Scenario]]) -> Scenario:
        """Each success starts new candidates; a candidate that failed is not tried again."""
        tried: set[bytes] = set()
        while True:
            for candidate in candidates(scenario):
                text = written(candidate)
                if candidate != scenario and text not in tried:
                    tried.add(text)
                    if self._fails(candidate):
                        scenario = candidate
                        break
            else:
                return scenario


def _simpler_jobs(scenario: Scenario) -> Iterator[Scenario]:
    for number, job in enumerate(scenario.jobs):
        for field, value in _SIMPLER:
            if getattr(job, field) != value and not (field in ("size", "parts") and getattr(job, field) < value):
                yield _with_job(scenario, number, replace(job, **{field: value}))


def _with_job(scenario: Scenario, number: int, job: JobPlan) -> Scenario:
    jobs = list(scenario.jobs)
    jobs[number] = job
    return replace(scenario, jobs=tuple(jobs))


def _simpler_nodes(scenario: Scenario) -> Iterator[Scenario]:
    yield replace(scenario, nodes=tuple(replace(node, skew=0.0, spare=False) for node in scenario.nodes))


def _simpler_rest(scenario: Scenario) -> Iterator[Scenario]:
    yield replace(scenario, noise=0)
    yield replace(scenario, operator_pace=0.05)
    yield replace(scenario, outside=False)
    yield replace(scenario, shuffled=False)
    last = max((event.at for event in scenario.events), default=0.0)
    yield replace(scenario, faults_until=float(int(last) + 2))
    for number, event in enumerate(scenario.events):
        if event.at != int(event.at):
            yield _with_event(scenario, number, replace(event, at=float(int(event.at) + 1)))


def _with_event(scenario: Scenario, number: int, event: Event) -> Scenario:
    events = list(scenario.events)
    events[number] = event
    return replace(scenario, events=tuple(sorted(events, key=lambda one: one.at)))


CHUNK = 20  # seeds a worker takes at a time
COLLECT_EVERY = 50  # seeds after which a worker collects garbage: simulations have reference cycles


class Result(msgspec.Struct, frozen=True):
    seed: int
    steps: int
    violation: Violation | None = None


class Found(msgspec.Struct, frozen=True):
    """A scenario that failed, shrunk. Its file is a test."""

    invariant: str
    words: str
    scenario: Scenario


def prepare() -> None:
    """Called in every process that runs seeds."""
    logging.disable(logging.CRITICAL)
    gc.disable()


def run_seed(seed: int) -> Result:
    if seed % COLLECT_EVERY == 0:
        gc.collect()
    outcome = simulate(generate(seed))
    return Result(seed, outcome.steps, outcome.violation)


def search(seeds: Iterable[int], workers: int) -> Iterator[Result]:
    """Results in the order in which they end."""
    if workers <= 1:
        yield from map(run_seed, seeds)
        return
    with multiprocessing.get_context("fork").Pool(workers, prepare) as pool:
        yield from pool.imap_unordered(run_seed, seeds, CHUNK)


def shrunk(seed: int, invariant: str) -> Found:
    scenario = Shrinker(invariant).shrunk(generate(seed))
    violation = simulate(scenario).violation
    assert violation is not None
    return Found(violation.invariant, violation.words, scenario)


def keep(found: Found, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    slug = re.sub(r"[^a-z]+", "-", found.invariant.lower()).strip("-")
    path = folder / f"{slug}-{found.scenario.seed}.json"
    path.write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n")
    return path


def read_found(path: Path) -> Found:
    return msgspec.json.decode(path.read_bytes(), type=Found)


Progress = Callable[[int, int, int], None]  # seeds done, steps, failures
