"""Which cluster a command is about: the one named, else the only one there is, else the one called default."""

import re

import msgspec

from understudy.cli.complaint import BadInput, listed, suggestion
from understudy.client.config import Config
from understudy.embedded.cluster_folder import DEFAULT_NAME, ClusterFolder, ClusterSettings, folder_of
from understudy.embedded.clusters.credentials import url
from understudy.embedded.clusters.settings import all_clusters

_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?")


class Cluster(msgspec.Struct, frozen=True):
    folder: ClusterFolder
    settings: ClusterSettings


def checked_name(name: str, place: str = "--name") -> str:
    if not _NAME.fullmatch(name):
        raise BadInput(f"{place} {name}: no name for a cluster; use lower-case letters, digits and dashes, 40 at most")
    return name


def every() -> list[Cluster]:
    return [Cluster(folder_of(name), settings) for name, settings in all_clusters().items()]


def at_server(config: Config) -> Cluster | None:
    """The embedded cluster of this machine that a kubeconfig leads to; None: it leads elsewhere."""
    for cluster in every() if config.gang_binding else ():
        if url(cluster.settings) == config.server:
            return cluster
    return None


def chosen(name: str | None, place: str = "--name") -> Cluster:
    clusters = {cluster.settings.name: cluster for cluster in every()}
    if name is not None:
        wanted = checked_name(name, place)
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
    raise BadInput(f"there are several clusters; say which with {place}: {listed(clusters)}")
