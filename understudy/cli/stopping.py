"""Stops a cluster from outside, whoever started it and whatever is left of it."""

import asyncio

from understudy.cli.clusters import Cluster
from understudy.embedded.clusters import pod_processes
from understudy.embedded.clusters.process_lock import PARTS, SUPERVISOR, lock_holder
from understudy.embedded.clusters.supervisor import stop_cluster


def stop(cluster: Cluster, *, at_once: bool) -> bool:
    """False where there was nothing to stop."""
    processes = cluster.folder.processes
    if not any(lock_holder(processes / part) for part in (SUPERVISOR, *PARTS)) and not pod_processes.running_containers(
        cluster.folder
    ):
        return False
    asyncio.run(stop_cluster(cluster.folder, at_once=at_once))
    return True
