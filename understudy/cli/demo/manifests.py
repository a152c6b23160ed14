"""The cluster file and the Kubernetes objects of the demo, which come with this package and are read like users' files.

`examples/clusters/slices.yaml` and `examples/hot-swap` show the same files.
"""

from pathlib import Path
from typing import Any

from understudy.cli.clusters import cluster_file
from understudy.cli.input import documents
from understudy.cli.input.documents import Document
from understudy.embedded.clusters.machine import this_machine
from understudy.embedded.clusters.nodes import pool_nodes

FOLDER = Path(__file__).parent / "objects"
TOPOLOGY = "cloud.google.com/gke-nodepool"
HIGH_PRIORITY_JOB, LOW_PRIORITY_JOB = "JobSet/default/high-priority", "JobSet/default/low-priority"


def objects(*names: str) -> list[Document]:
    """Those in the files of these names."""
    return documents.read([str(FOLDER / f"{name}.yaml") for name in names])


def nodes() -> list[dict[str, Any]]:
    return pool_nodes(cluster_file.read(str(FOLDER / "cluster.yaml")).pools, this_machine())
