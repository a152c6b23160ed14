"""Stops a cluster from outside, whoever started it and whatever is left of it."""

import asyncio

from understudy.cli.clusters import Cluster
from understudy.embedded.clusters import pods
from understudy.embedded.clusters.processes import PARTS, SUPERVISOR, holder
from understudy.embedded.clusters.supervisor import stop_cluster


def stop(cluster: Cluster, *, at_once: bool) -> bool:
    """False where there was nothing to stop."""
    processes = cluster.folder.processes
    if not any(holder(processes / part) for part in (SUPERVISOR, *PARTS)) and not pods.running(cluster.folder):
        return False
    asyncio.run(stop_cluster(cluster.folder, at_once=at_once))
    return True
