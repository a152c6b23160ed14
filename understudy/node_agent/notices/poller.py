"""Asks one endpoint of a metadata server again and again, and reports what it announces.

An answer that says nothing (slow, hanging, an error, garbage) changes nothing: what was known still holds."""

import asyncio
import logging
from collections.abc import Callable
from http import HTTPStatus

from understudy.node_agent.notices.announcements import Announcements, Endpoint
from understudy.node_agent.notices.metadata_server import Answer, Ask, NoAnswer

LIMIT = 5.0  # seconds for a request
LONGEST_PAUSE = 5.0  # seconds between failing requests: a notice may be only 30 s long

_log = logging.getLogger(__name__)


class Poller:
    def __init__(
        self, ask: Ask, endpoint: Endpoint, report: Callable[[Announcements], None], limit: float = LIMIT
    ) -> None:
        self._ask = ask
        self._endpoint = endpoint
        self._report = report
        self._limit = limit
        self._etag = ""
        self._complaint = ""
        self._failures = 0

    async def run(self) -> None:
        """Runs until it is cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            begun = loop.time()
            await self._turn()
            await asyncio.sleep(max(0.0, begun + self._pause() - loop.time()))

    async def _turn(self) -> None:
        try:
            found = await self._found()
        except NoAnswer as problem:
            self._etag = ""  # the next request does not wait for a change
            self._failures += 1
            self._complain(str(problem))
            return
        self._failures = 0
        self._complain("")
        self._report(found)

    async def _found(self) -> Announcements:
        answer = await self._answer()
        self._etag = answer.etag
        if answer.status == HTTPStatus.NOT_FOUND:
            return ()
        if answer.status != HTTPStatus.OK:
            raise NoAnswer(f"status {answer.status}")
        try:
            return self._endpoint.parse(answer.body)
        except ValueError as error:
            raise NoAnswer(f"an answer that makes no sense: {error}") from None

    async def _answer(self) -> Answer:
        path, limit = self._endpoint.path, self._limit
        if self._etag and self._endpoint.waiting is not None:
            path = self._endpoint.waiting(self._etag, self._endpoint.wait)
            limit += self._endpoint.wait
        try:
            async with asyncio.timeout(limit):
                return await self._ask(path, self._endpoint.headers)
        except TimeoutError:
            raise NoAnswer(f"no answer within {limit:g} s") from None

    def _pause(self) -> float:
        if not self._failures:
            return self._endpoint.interval
        return min(self._endpoint.interval * 2.0 ** min(self._failures - 1, 10), LONGEST_PAUSE)

    def _complain(self, problem: str) -> None:
        """Each problem once; and once that it is over."""
        if problem == self._complaint:
            return
        path = self._endpoint.path.partition("?")[0]
        if problem:
            _log.warning("%s: %s; what it announced before still holds", path, problem)
        else:
            _log.info("%s answers again", path)
        self._complaint = problem
