"""Follows all endpoints of one source, and tells for each node which notice holds for it now."""

import asyncio
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

import msgspec

from understudy.model.nodes import Notice
from understudy.node_agent.notices.announcements import Announcement, Announcements, Source
from understudy.node_agent.notices.metadata_server import MetadataServer
from understudy.node_agent.notices.poller import LIMIT, Poller


class OwnNotice(msgspec.Struct, frozen=True):
    """The notice of a source for a node."""

    notice: Notice
    estimated: bool = False  # the source names no deadline: it is counted from when the notice was first seen


class WatchedNodes(NamedTuple):
    """`names`: by node, what announcements may call its machine, in lower case. `tell`: gets every change."""

    names: Mapping[str, frozenset[str]]
    tell: Callable[[str, OwnNotice | None], None]
    ignored: frozenset[str] = frozenset()  # causes that are no notice


class SourceWatch:
    def __init__(
        self,
        source: Source,
        nodes: WatchedNodes,
        address: str = "",
        limit: float = LIMIT,
        now: Callable[[], float] = time.time,
    ) -> None:
        """`address`: of another server than the cloud's own, such as a stand-in."""
        self._source = source
        self._nodes = nodes
        self._server = MetadataServer(address or source.address)
        self._limit = limit
        self._now = now
        self._known: dict[int, Announcements] = {}  # by endpoint; missing: it never answered
        self._first_seen: dict[Announcement, float] = {}

    @property
    def complete(self) -> bool:
        """Whether every endpoint has answered. Before, silence of one does not mean that it announces nothing."""
        return len(self._known) == len(self._source.endpoints)

    async def run(self) -> None:
        """Runs until it is cancelled."""
        ask = self._source.ask(self._server)
        async with asyncio.TaskGroup() as group:
            for number, endpoint in enumerate(self._source.endpoints):
                report = partial(self._reported, number)
                group.create_task(Poller(ask, endpoint, report, self._limit).run())

    def _reported(self, number: int, found: Announcements) -> None:
        if self._known.get(number) == found:
            return
        self._known[number] = found
        heeded = [one for known in self._known.values() for one in known if one.cause not in self._nodes.ignored]
        now = self._now()
        self._first_seen = {one: self._first_seen.get(one, now) for one in heeded}
        for node, names in self._nodes.names.items():
            notice = self._notice([one for one in heeded if not one.machines or one.machines & names])
            if notice is not None or self.complete:
                self._nodes.tell(node, notice)

    def _notice(self, heeded: list[Announcement]) -> OwnNotice | None:
        """The first to come true."""
        found = sorted(map(self._own, heeded), key=lambda own: (own.notice.deadline, own.notice.cause))
        return found[0] if found else None

    def _own(self, one: Announcement) -> OwnNotice:
        seen = self._first_seen[one]
        deadline = one.deadline if one.deadline is not None else seen + one.within
        at = one.at if one.at is not None else seen
        return OwnNotice(Notice(round(deadline, 3), self._source.name, one.cause, round(at, 3)), one.deadline is None)
