"""Clusters that were up once and are down now, for the verbs that look at them."""

import datetime
from typing import Any

import msgspec

from tests.embedded.clusters.settings import settings
from understudy.embedded.cluster_folder import ClusterFolder, folder_of
from understudy.embedded.clusters.credentials import write_credentials

NOW = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


def make_cluster(name: str, **fields: Any) -> ClusterFolder:
    folder, made = folder_of(name), settings(name, **fields)
    write_credentials(folder, made, NOW)
    folder.settings.write_bytes(msgspec.json.encode(made))
    return folder
