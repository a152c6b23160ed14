"""Which embedded cluster a command means: the named one, else the only one, else the one called default."""

import asyncio
import re

import msgspec

from understudy.cli.errors import BadInput, short_list, suggestion
from understudy.client.config import Config
from understudy.embedded.cluster_folder import DEFAULT_NAME, ClusterFolder, ClusterSettings, folder_of
from understudy.embedded.clusters import pod_processes
from understudy.embedded.clusters.credentials import url
from understudy.embedded.clusters.process_lock import PARTS, SUPERVISOR, lock_holder
from understudy.embedded.clusters.settings import all_clusters
from understudy.embedded.clusters.supervisor import stop_cluster

_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?")


class LocalCluster(msgspec.Struct, frozen=True):
    folder: ClusterFolder
    settings: ClusterSettings


def check_cluster_name(name: str, place: str = "--name") -> str:
    if not _NAME.fullmatch(name):
        raise BadInput(f"{place} {name}: no name for a cluster; use lower-case letters, digits and dashes, 40 at most")
    return name


def local_clusters() -> list[LocalCluster]:
    return [LocalCluster(folder_of(name), settings) for name, settings in all_clusters().items()]


def local_cluster_at(config: Config) -> LocalCluster | None:
    """The embedded cluster of this machine that a kubeconfig leads to; None: it leads elsewhere."""
    for cluster in local_clusters() if config.embedded else ():
        if url(cluster.settings) == config.server:
            return cluster
    return None


def choose_cluster(name: str | None, place: str = "--name") -> LocalCluster:
    clusters = {cluster.settings.name: cluster for cluster in local_clusters()}
    if name is not None:
        wanted = check_cluster_name(name, place)
        if wanted not in clusters:
            hint = suggestion(wanted, clusters, "there are") if clusters else "there is none; `understudy up` makes one"
            raise BadInput(f"{place} {wanted}: no such cluster; {hint}")
        return clusters[wanted]
    if not clusters:
        raise BadInput("there is no cluster; `understudy up` makes one")
    if len(clusters) == 1:
        return next(iter(clusters.values()))
    if DEFAULT_NAME in clusters:
        return clusters[DEFAULT_NAME]
    raise BadInput(f"there are several clusters; say which with {place}: {short_list(clusters)}")


def stop_local_cluster(cluster: LocalCluster, *, at_once: bool) -> bool:
    """False where there was nothing to stop."""
    processes = cluster.folder.processes
    if not any(lock_holder(processes / part) for part in (SUPERVISOR, *PARTS)) and not pod_processes.running_containers(
        cluster.folder
    ):
        return False
    asyncio.run(stop_cluster(cluster.folder, at_once=at_once))
    return True
