"""Every scenario that can be played there, on a cluster that really runs."""

from pathlib import Path

import pytest

from tests.scenarios.embedded_world import EmbeddedWorld, why_not
from tests.scenarios.scenario_file import FOLDER, files, read
from tests.scenarios.scenario_runner import play
from tests.scenarios.test_loop import without_counts


@pytest.mark.parametrize("path", files(), ids=lambda path: str(path.relative_to(FOLDER).with_suffix("")))
def test_scenario(path: Path, tmp_path: Path) -> None:
    scenario = without_counts(read(path))
    if reason := why_not(scenario):
        pytest.skip(reason)
    with EmbeddedWorld(scenario, tmp_path) as world:
        assert play(scenario, world) == []
