"""What `understudy up` says about a cluster."""

from pathlib import Path

from tests.embedded.clusters.settings import settings
from understudy.cli.reaching import how_to_reach
from understudy.embedded.cluster_folder import ClusterFolder


def test_pods_with_all_rights_are_warned_of(tmp_path: Path) -> None:
    folder = ClusterFolder(tmp_path)
    assert not any(line.startswith("warning") for line in how_to_reach(folder, settings()))
    warned = [line for line in how_to_reach(folder, settings(pod_access="admin")) if line.startswith("warning")]
    assert len(warned) == 1
    assert "--pod-access service-account" in warned[0]
