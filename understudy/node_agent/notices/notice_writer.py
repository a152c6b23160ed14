"""Keeps the notice of one node as its source announces it. A notice that another source wrote is not removed."""

import asyncio
import logging
from functools import partial
from http import HTTPStatus

from understudy.model.nodes import Notice
from understudy.node_agent.node_api import NodeApi
from understudy.node_agent.notices.notice_annotation import change_notice
from understudy.node_agent.notices.source_watch import OwnNotice
from understudy.ports import Refused, Unreachable

FIRST_PAUSE, LONGEST_PAUSE = 0.2, 5.0  # seconds between attempts to write
CHECK = 10.0  # seconds after which an open notice is looked at again: another one may have covered it

_log = logging.getLogger(__name__)


def settled_notice(source: str, own: OwnNotice | None, present: Notice | None) -> Notice | None:
    """What the annotation should say: of the notices of several sources, the one with the earliest deadline."""
    if own is None:
        return None if present is not None and present.source == source else present
    if present is None:
        return own.notice
    if present.source != source:
        return own.notice if own.notice.deadline < present.deadline else present
    # The deadline was estimated before, by an agent that has ended since: the earlier estimate is the better one.
    kept = own.estimated and present.cause == own.notice.cause and present.deadline <= own.notice.deadline
    return present if kept else own.notice


class NoticeWriter:
    def __init__(self, cluster: NodeApi, node: str, source: str) -> None:
        self._cluster = cluster
        self._node = node
        self._source = source
        self._own: OwnNotice | None = None
        self._changed = asyncio.Event()
        self._complaint = ""

    def tell(self, own: OwnNotice | None) -> None:
        self._own = own
        self._changed.set()

    async def run(self) -> None:
        """Runs until it is cancelled."""
        while True:
            await self._wait(CHECK if self._own is not None else None)
            self._changed.clear()
            await self._settle()

    async def _settle(self) -> None:
        """Returns when the annotation is as it should be, or that has changed meanwhile."""
        pause = FIRST_PAUSE
        while not await self._written():
            await self._wait(pause)
            if self._changed.is_set():
                return
            pause = min(pause * 2, LONGEST_PAUSE)

    async def _written(self) -> bool:
        own = self._own
        try:
            before, after = await change_notice(self._cluster, self._node, partial(settled_notice, self._source, own))
        except (Refused, Unreachable) as error:
            if own is None and isinstance(error, Refused) and error.code == HTTPStatus.NOT_FOUND:
                return True  # a node that is not there has no notice to withdraw
            self._complain(str(error))
            return False
        self._complain("")
        if before != after:
            _log.info("node %s: %s", self._node, "the notice is withdrawn" if after is None else _description(after))
        return True

    def _complain(self, problem: str) -> None:
        """Each problem once: it is tried again until it is over."""
        if problem and problem != self._complaint:
            _log.warning("the notice of node %s cannot be written: %s", self._node, problem)
        self._complaint = problem

    async def _wait(self, seconds: float | None) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            pass


def _description(notice: Notice) -> str:
    return f"{notice.source} announces {notice.cause}, deadline {notice.deadline:.0f} (seconds since 1970)"
