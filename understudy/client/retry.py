"""Retries requests where a retry is safe: the server is too busy, fails, or cannot be reached for a while.

The planner is better served by a quick failure than by a late success. So the attempts and their total time are
bounded, and a request that still fails is left to the next plan.
"""

import asyncio
import random
from http import HTTPStatus

import msgspec

from understudy.client.pool import ConnectionPool, NotSent, Response
from understudy.client.request_metrics import NO_ANSWER, RequestMetrics
from understudy.ports import Unreachable

ATTEMPTS = 5
RETRY_WINDOW = 10.0  # seconds after the first attempt in which retries may start
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 2.0
LONGEST_RETRY_AFTER = 5.0  # seconds of a Retry-After that are honoured
SERVER_ERRORS = frozenset((500, 502, 503, 504))


class Request(msgspec.Struct, frozen=True, gc=False):
    method: str
    path: str
    body: bytes = b""
    content_type: str = ""
    repeatable: bool = False  # sending it twice has the same effect as once

    def may_be_repeated_after(self, answer: Response) -> bool:
        """After 429 nothing was done. For an eviction it comes from a disruption budget, and a retry would come too
        soon."""
        if answer.status == HTTPStatus.TOO_MANY_REQUESTS:
            return not (self.path.endswith("/eviction") and answer.body.lstrip()[:1] == b"{")
        return self.repeatable and answer.status in SERVER_ERRORS


class Retrier:
    def __init__(self, pool: ConnectionPool, chance: random.Random, attempts: int = 0) -> None:
        self._pool = pool
        self._chance = chance
        self._attempts = attempts
        self.metrics = RequestMetrics()

    async def fetch(self, request: Request) -> Response:
        """The first response that a retry would not improve. Raises Unreachable if there is none."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + RETRY_WINDOW
        attempt = 1
        while True:
            asked = 0.0
            try:
                answer = await self._ask(request)
                if attempt > 1 and request.method == "DELETE" and answer.status == HTTPStatus.NOT_FOUND:
                    return answer._replace(
                        status=HTTPStatus.OK
                    )  # an earlier attempt deleted it, and its response was lost
                if not request.may_be_repeated_after(answer):
                    return answer
                asked = answer.retry_after
                last: Response | Unreachable = answer
            except NotSent:
                raise  # the pool has retried the connection already
            except Unreachable as error:
                if not request.repeatable:
                    raise
                last = error
            pause = self._pause(attempt, asked)
            if attempt >= (self._attempts or ATTEMPTS) or loop.time() + pause > deadline:
                if isinstance(last, Response):
                    return last
                raise last
            attempt += 1
            self.metrics.repeats += 1
            await asyncio.sleep(pause)

    async def _ask(self, request: Request) -> Response:
        loop = asyncio.get_running_loop()
        begun, code = loop.time(), NO_ANSWER
        try:
            answer = await self._pool.fetch(request.method, request.path, request.body, request.content_type)
            code = answer.status
            return answer
        finally:
            self.metrics.count(request.method, request.path, code, loop.time() - begun)

    def _pause(self, attempt: int, asked: float) -> float:
        """At least what the server asks for, up to a limit; longer with every attempt, and randomized."""
        longest = min(FIRST_PAUSE * 2.0 ** (attempt - 1), LONGEST_PAUSE)
        return float(min(asked, LONGEST_RETRY_AFTER) + longest * self._chance.uniform(0.5, 1.0))
