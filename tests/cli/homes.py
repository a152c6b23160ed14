"""Clusters that were up once and are down now, for the verbs that look at them."""

import datetime
from pathlib import Path
from typing import Any

import msgspec

from tests.embedded.clusters.settings import settings
from understudy.embedded.cluster_folder import ClusterFolder, folder_of
from understudy.embedded.clusters.credentials import write_credentials

NOW = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


def make_cluster(name: str, **fields: Any) -> ClusterFolder:
    return _written(folder_of(name), name, **fields)


def make_cluster_in(home: Path, name: str) -> ClusterFolder:
    """For commands that are started with another UNDERSTUDY_HOME than this process has."""
    folder = _written(ClusterFolder(home / "clusters" / name), name, port=1)
    folder.logs.mkdir(exist_ok=True)
    for part in ("server", "control", "agent"):
        (folder.logs / f"{part}.log").touch()
    return folder


def _written(folder: ClusterFolder, name: str, **fields: Any) -> ClusterFolder:
    made = settings(name, **fields)
    write_credentials(folder, made, NOW)
    folder.settings.write_bytes(msgspec.json.encode(made))
    return folder
