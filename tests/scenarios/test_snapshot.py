"""Every scenario, on the snapshot alone."""

from pathlib import Path

import pytest

from tests.scenarios.scenario_file import FOLDER, files, read
from tests.scenarios.scenario_runner import play
from tests.scenarios.snapshot_world import SnapshotWorld


@pytest.mark.parametrize("path", files(), ids=lambda path: str(path.relative_to(FOLDER).with_suffix("")))
def test_scenario(path: Path) -> None:
    scenario = read(path)
    assert play(scenario, SnapshotWorld(scenario)) == []
