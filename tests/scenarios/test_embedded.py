"""Every scenario that can be played there, on a cluster that really runs.

`make test` plays some of each folder here, since each needs seconds of CPU for a cluster of its own. All of them are
played on the snapshot and by the loop (test_snapshot.py, test_loop.py), and all of them here by `make test-thorough`.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from tests.scenarios.embedded_world import EmbeddedWorld, why_not
from tests.scenarios.scenario_file import FOLDER, files, read
from tests.scenarios.scenario_runner import play
from tests.scenarios.test_loop import without_counts

IN_MAKE_TEST = {
    "guards/back-off",
    "guards/lemon-node",
    "placing/elastic-starts-small",
    "preempting/surplus-before-whole-gangs",
    "preempting/victim-that-asked-to-end",
    "seeds/000-spare-slice-steps-in",
    "seeds/001-critical-preempts-medium",
    "seeds/003-leader-does-not-deadlock",
    "seeds/004-one-gpu-is-enough-to-preempt-three-nodes",
    "swaps/exclusive-domain-moves-whole",
    "swaps/leaving-node-is-left-in-time",
    "swaps/spare-by-rule-on-loan-is-recalled",
    "swaps/spare-dies-while-stepping-in",
}


def name(path: Path) -> str:
    return str(path.relative_to(FOLDER).with_suffix(""))


def scenarios() -> Iterator[ParameterSet]:
    for path in files():
        quick = name(path) in IN_MAKE_TEST
        yield pytest.param(path, id=name(path), marks=() if quick else pytest.mark.thorough)


def test_the_scenarios_of_make_test_exist() -> None:
    assert set(map(name, files())) >= IN_MAKE_TEST


@pytest.mark.parametrize("path", list(scenarios()))
def test_scenario(path: Path, tmp_path: Path) -> None:
    scenario = without_counts(read(path))
    if reason := why_not(scenario):
        pytest.skip(reason)
    with EmbeddedWorld(scenario, tmp_path) as world:
        assert play(scenario, world) == []
