"""`python -m understudy.simulate.faults`: searches seeds for violated invariants, or shows one seed step by step."""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from understudy.simulate.scenario import Scenario, written
from understudy.simulate.scenario_generator import generate
from understudy.simulate.search import Result, keep, prepare, read_found, search, shrunk
from understudy.simulate.simulation import simulate

FOUND = Path("tests/simulate/found")
MAX_FAILURES = 10  # failing seeds after which the search ends
MAX_SHRUNK = 3  # of these, how many are shrunk and printed: one per invariant
TRACE_LINES = 120  # printed of a trace, from its end
PROGRESS_EVERY = 5.0  # seconds


def main(arguments: Sequence[str] | None = None) -> int:
    parser = _parser()
    given = parser.parse_args(arguments)
    if given.seeds < 1 or given.workers < 1:
        parser.error("--seeds and --workers have to be 1 or more: a search of nothing finds nothing")
    prepare()
    if given.replay is not None:
        try:
            found = read_found(given.replay)
        except (OSError, msgspec.DecodeError) as error:
            parser.error(f"--replay {given.replay}: {error}; it takes a file that the search has kept")
        return _shown(found.scenario, True)
    if given.seed is not None:
        return _shown(generate(given.seed), given.trace)
    failures = _searched(range(given.first, given.first + given.seeds), given.workers, given.enough)
    _explained(failures, given.found)
    return 1 if failures else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m understudy.simulate.faults", description=__doc__)
    parser.add_argument("--seeds", type=int, default=1000, help="how many seeds to run")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes that run them")
    parser.add_argument("--enough", type=int, default=MAX_FAILURES, help="failing seeds after which the search ends")
    parser.add_argument("--found", type=Path, default=FOUND, help="the folder in which shrunk scenarios are kept")
    parser.add_argument("--seed", type=int, help="run this seed alone")
    parser.add_argument("--trace", action="store_true", help="with --seed: print what happens")
    parser.add_argument("--replay", type=Path, help="run a kept scenario and print what happens")
    return parser


def _shown(scenario: Scenario, trace: bool) -> int:
    outcome = simulate(scenario, tracing=trace)
    if trace:
        print(written(scenario).decode(), *outcome.trace, sep="\n")
    print(f"seed {scenario.seed}: {outcome.steps} steps, {outcome.ended_at:.0f} s, digest {outcome.digest:08x}")
    if outcome.violation is not None:
        print(f"violated: {outcome.violation.invariant}: {outcome.violation.words}")
    return 1 if outcome.violation is not None else 0


def _searched(seeds: range, workers: int, enough: int) -> list[Result]:
    began = reported = time.monotonic()
    done = steps = 0
    failures: list[Result] = []
    for result in search(seeds, workers):
        done, steps = done + 1, steps + result.steps
        if result.violation is not None:
            failures.append(result)
            print(f"seed {result.seed}: {result.violation.invariant}: {result.violation.words}", flush=True)
        if time.monotonic() - reported > PROGRESS_EVERY:
            reported = time.monotonic()
            print(f"{done} of {len(seeds)} seeds, {steps} steps, {len(failures)} failed", file=sys.stderr, flush=True)
        if len(failures) >= enough:
            break
    took = time.monotonic() - began
    print(f"{done} seeds, {steps} steps, {len(failures)} failed, in {took:.0f} s", flush=True)
    return failures


def _explained(failures: Sequence[Result], folder: Path) -> None:
    """Shrinks, prints and keeps the first failure of each invariant."""
    first: dict[str, Result] = {}
    for result in sorted(failures, key=lambda one: one.seed):
        if result.violation is not None:
            first.setdefault(result.violation.invariant, result)
    for invariant, result in list(first.items())[:MAX_SHRUNK]:
        found = shrunk(result.seed, invariant)
        outcome = simulate(found.scenario, tracing=True)
        path = keep(found, folder)
        print(f"\nseed {result.seed} made small: {found.invariant}: {found.words}")
        print(written(found.scenario).decode(), *outcome.trace[-TRACE_LINES:], sep="\n")
        print(f"kept as {path}")


if __name__ == "__main__":
    sys.exit(main())
