"""Every scenario, with the scheduling loop on a cluster in memory. The number of plans may differ."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.scenarios.loop_world import LoopWorld
from tests.scenarios.scenario_file import FOLDER, Scenario, files, read
from tests.scenarios.scenario_runner import play


def without_counts(scenario: Scenario) -> Scenario:
    steps = tuple(replace(s, expect=replace(s.expect, plans=None) if s.expect else None) for s in scenario.steps)
    return replace(scenario, steps=steps)


@pytest.mark.parametrize("path", files(), ids=lambda path: str(path.relative_to(FOLDER).with_suffix("")))
def test_scenario(path: Path) -> None:
    scenario = without_counts(read(path))
    with LoopWorld(scenario) as world:
        assert play(scenario, world) == []
