"""The cluster file and the Kubernetes objects of the demo: examples, which are read like users' files."""

from typing import Any

from understudy.cli.clusters import cluster_file
from understudy.cli.example_files import examples_folder
from understudy.cli.input import documents
from understudy.cli.input.documents import Document
from understudy.embedded.clusters.machine import this_machine
from understudy.embedded.clusters.nodes import pool_nodes

TOPOLOGY = "cloud.google.com/gke-nodepool"
HIGH_PRIORITY_JOB, LOW_PRIORITY_JOB = "JobSet/default/high-priority", "JobSet/default/low-priority"


def objects(*names: str) -> list[Document]:
    """The objects in the files of these names."""
    return documents.read([str(examples_folder() / "hot-swap" / f"{name}.yaml") for name in names])


def nodes() -> list[dict[str, Any]]:
    return pool_nodes(cluster_file.read(str(examples_folder() / "clusters" / "slices.yaml")).pools, this_machine())
