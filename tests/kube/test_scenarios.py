"""All scenarios on a real control plane with the real operators, except a few that are not possible there."""

from pathlib import Path

import pytest

from tests.kube.cluster.running import Cluster
from tests.kube.kube_world import KubeWorld
from tests.kube.scenario_manifests import why_not
from tests.scenarios.scenario_file import FOLDER, files, read
from tests.scenarios.scenario_runner import play
from tests.scenarios.test_loop import without_counts


def name_of(path: Path) -> str:
    return str(path.relative_to(FOLDER).with_suffix(""))


@pytest.mark.parametrize("path", files(), ids=name_of)
def test_scenario(path: Path, kube: Cluster, tmp_path: Path) -> None:
    scenario = without_counts(read(path))
    if reason := why_not(scenario, kube.api):
        pytest.skip(reason)
    with KubeWorld(scenario, kube, tmp_path) as world:
        assert play(scenario, world) == []
