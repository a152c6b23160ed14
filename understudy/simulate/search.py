"""Runs many seeds on all cores and gathers what they found; what failed is shrunk and kept as a file."""

import gc
import logging
import multiprocessing
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import msgspec

from understudy.simulate.generate import generate
from understudy.simulate.scenario import Scenario
from understudy.simulate.shrink import Shrinker
from understudy.simulate.world import Violation, simulate

CHUNK = 20  # seeds a worker takes at a time
COLLECT_EVERY = 50  # seeds after which a worker looks for garbage: worlds are circles, and small


class Result(msgspec.Struct, frozen=True):
    seed: int
    steps: int
    violation: Violation | None = None


class Found(msgspec.Struct, frozen=True):
    """A scenario that failed, made small. The file of it is a test."""

    invariant: str
    words: str
    scenario: Scenario


def prepare() -> None:
    """In every process that runs seeds."""
    logging.disable(logging.CRITICAL)
    gc.disable()


def run_seed(seed: int) -> Result:
    if seed % COLLECT_EVERY == 0:
        gc.collect()
    outcome = simulate(generate(seed))
    return Result(seed, outcome.steps, outcome.violation)


def search(seeds: Iterable[int], workers: int) -> Iterator[Result]:
    """In the order in which they end."""
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


def read(path: Path) -> Found:
    return msgspec.json.decode(path.read_bytes(), type=Found)


Progress = Callable[[int, int, int], None]  # seeds done, steps, failures
