"""Requests that are asked again where that can do no harm: of a server too busy, in trouble, or out of reach a while.

Whoever plans by what he sees is better served by a quick no than by a late yes: the number of attempts and the time
they may take are bounded, and what was refused then is left to the next plan.
"""

import asyncio
import random

import msgspec

from understudy.client.pool import ConnectionPool, NotSent, Response
from understudy.client.request_metrics import NO_ANSWER, RequestMetrics
from understudy.ports import Unreachable

ATTEMPTS = 5
RETRY_WINDOW = 10.0  # seconds after which nothing is asked again
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 2.0
LONGEST_RETRY_AFTER = 5.0  # seconds that a server may ask us to stay away
OK, NOT_FOUND, TOO_MANY = 200, 404, 429
SERVER_ERRORS = frozenset((500, 502, 503, 504))


class Request(msgspec.Struct, frozen=True, gc=False):
    method: str
    path: str
    body: bytes = b""
    content_type: str = ""
    repeatable: bool = False  # asked twice, it leaves the cluster as if asked once

    def may_be_repeated_after(self, answer: Response) -> bool:
        if answer.status == TOO_MANY:  # nothing was done; but an eviction is told so by a budget, and for longer
            return not (self.path.endswith("/eviction") and answer.body.lstrip()[:1] == b"{")
        return self.repeatable and answer.status in SERVER_ERRORS


class Retrier:
    def __init__(self, pool: ConnectionPool, chance: random.Random, attempts: int = 0) -> None:
        self._pool = pool
        self._chance = chance
        self._attempts = attempts
        self.tally = RequestMetrics()

    async def fetch(self, request: Request) -> Response:
        """The first answer that asking again would not better; raises Unreachable where there is none."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + RETRY_WINDOW
        attempt = 1
        while True:
            asked = 0.0
            try:
                answer = await self._ask(request)
                if attempt > 1 and request.method == "DELETE" and answer.status == NOT_FOUND:
                    return answer._replace(status=OK)  # by an attempt before, whose answer was lost
                if not request.may_be_repeated_after(answer):
                    return answer
                asked = answer.retry_after
                last: Response | Unreachable = answer
            except NotSent:
                raise  # the pool has knocked for as long as its owner wants
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
            self.tally.repeats += 1
            await asyncio.sleep(pause)

    async def _ask(self, request: Request) -> Response:
        loop = asyncio.get_running_loop()
        begun, code = loop.time(), NO_ANSWER
        try:
            answer = await self._pool.fetch(request.method, request.path, request.body, request.content_type)
            code = answer.status
            return answer
        finally:
            self.tally.count(request.method, request.path, code, loop.time() - begun)

    def _pause(self, attempt: int, asked: float) -> float:
        """At least what the server asks for, within reason; longer every time, and never in step with others."""
        longest = min(FIRST_PAUSE * 2.0 ** (attempt - 1), LONGEST_PAUSE)
        return float(min(asked, LONGEST_RETRY_AFTER) + longest * self._chance.uniform(0.5, 1.0))
