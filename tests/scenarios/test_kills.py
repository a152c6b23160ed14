"""kill -9 of the scheduling loop between any two of its writes: started again, it comes to the same end."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.control.fake_cluster import Killed
from tests.scenarios.loop_world import LoopWorld
from tests.scenarios.scenario_file import FOLDER, Scenario, files, read
from tests.scenarios.scenario_runner import play

# Scenarios with the most writes: the writer is killed before each of their writes in turn.
THOROUGHLY = (
    "guards/preemption-budget",
    "placing/lone-pod",
    "placing/plain-job",
    "preempting/surplus-before-whole-gangs",
    "preempting/victim-keeps-its-place-in-line",
    "preempting/victim-that-asked-to-end",
    "preempting/exclusive-domain-of-a-lesser",
    "seeds/000-no-spare-low-goes-whole",
    "seeds/001-critical-preempts-medium",
    "swaps/elastic-drops-whole-islands",
    "swaps/elastic-shrinks-and-grows-back",
    "swaps/exclusive-domain-moves-whole",
    "swaps/required-topology-takes-the-domain-of-a-lesser",
    "swaps/sticky-seats-after-a-requeue",
)


MOST_KILLS = 60


def end_only(scenario: Scenario) -> Scenario:
    """Only the loop that decided knows its victims and number of plans; a new loop sees the result."""
    steps = [
        replace(step, expect=replace(step.expect, plans=None, victims=None, swaps=None) if step.expect else None)
        for step in scenario.steps
    ]
    return replace(scenario, steps=tuple(steps))


def killing(when: Callable[[int], bool]) -> Callable[[str], None]:
    """Kills the writer before the writes, counted from one, that `when` names; after some kills it stops."""
    writes = kills = 0

    def before_write(_: str) -> None:
        nonlocal writes, kills
        writes += 1
        if kills < MOST_KILLS and when(writes):
            kills += 1
            raise Killed

    return before_write


def played(scenario: Scenario, when: Callable[[int], bool]) -> Iterator[str]:
    with LoopWorld(scenario) as world:
        world.cluster.before_write = killing(when)
        yield from play(scenario, world)


@pytest.mark.thorough
@pytest.mark.parametrize("name", THOROUGHLY)
def test_killed_before_any_one_write(name: str) -> None:
    scenario = end_only(read(FOLDER / f"{name}.yaml"))
    with LoopWorld(scenario) as world:
        assert play(scenario, world) == []
        writes = len(world.cluster.writes)
    for number in range(1, writes + 1):
        assert list(played(scenario, number.__eq__)) == [], f"killed before write {number}"


@pytest.mark.parametrize("path", files(), ids=lambda path: str(path.relative_to(FOLDER).with_suffix("")))
def test_killed_before_every_second_write(path: Path) -> None:
    scenario = end_only(read(path))
    assert list(played(scenario, lambda n: n % 2 == 0)) == []
