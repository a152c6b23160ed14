"""Follows the metadata servers that pools of the cluster file name, and writes notices on the virtual nodes."""

import logging
import socket
from collections.abc import Coroutine, Iterable, Mapping
from typing import Any

from understudy.embedded.cluster_folder import NOTICES_FROM
from understudy.node_agent.notices.notice_writer import NoticeWriter
from understudy.node_agent.notices.source_watch import SourceWatch, WatchedNodes
from understudy.node_agent.notices.sources import IGNORED, names_of_machine, source_named
from understudy.ports import Cluster

_log = logging.getLogger(__name__)


def notice_parts(cluster: Cluster, nodes: Iterable[Mapping[str, Any]]) -> list[Coroutine[Any, Any, None]]:
    """What runs beside the agent: one watch for each metadata server, and a writer for each node of its pools."""
    parts: list[Coroutine[Any, Any, None]] = []
    for origin, names in _by_origin(nodes).items():
        source, _, address = origin.partition(" ")
        writers = {name: NoticeWriter(cluster, name, source) for name in names}
        watched = WatchedNodes(
            # Announcements name a virtual node, or the machine that all of them are on.
            names={name: names_of_machine(name, "") | {socket.gethostname().lower()} for name in names},
            tell=lambda name, own, writers=writers: writers[name].tell(own),  # type: ignore[misc]
            ignored=frozenset(IGNORED),
        )
        _log.info("notices of %s are followed for %d nodes", origin, len(names))
        parts += [SourceWatch(source_named(source), watched, address).run(), *(one.run() for one in writers.values())]
    return parts


def _by_origin(nodes: Iterable[Mapping[str, Any]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for node in nodes:
        if origin := node["metadata"].get("annotations", {}).get(NOTICES_FROM):
            found.setdefault(origin, []).append(node["metadata"]["name"])
    return found
