"""A gang is seated pod by pod: at once, each to its end, and what went wrong says who sits all the same."""

import asyncio
import json
from collections.abc import Awaitable, Callable

import pytest

from tests.client.scripted_server import Reply, Request, serving
from understudy.client import connect
from understudy.ports import PodBinding, Refused, Unreachable

SEATINGS = [PodBinding(f"worker-{n}", f"u-{n}", f"node-{n}") for n in range(4)]
DONE = {"kind": "Status", "status": "Success"}
Answer = Callable[[Request, Reply], Awaitable[None]]


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("understudy.client.retry.FIRST_PAUSE", 0.001)


class Seats:
    """The part of an API server that seats pods. `strange` says how it treats the first binding of a pod."""

    def __init__(self, **strange: Answer) -> None:
        self.nodes: dict[str, str] = {}
        self.strange = strange

    async def __call__(self, request: Request, reply: Reply) -> None:
        name = request.path.split("/")[6]
        if request.method == "GET":
            uid = name.replace("worker-", "u-")
            await reply.json({"metadata": {"uid": uid}, "spec": {"nodeName": self.nodes.get(name, "")}})
        elif (strange := self.strange.pop(name.replace("-", "_"), None)) is not None:
            await strange(request, reply)
        elif name in self.nodes:
            await reply.refuse(409, "Conflict", f"pod {name} is already assigned to node {self.nodes[name]}")
        else:
            self.seat(request)
            await reply.json(DONE, 201)

    def seat(self, request: Request) -> None:
        body = json.loads(request.body)
        self.nodes[body["metadata"]["name"]] = body["target"]["name"]


def bound(seats: Seats) -> list[Request]:
    async def run() -> list[Request]:
        async with serving(seats) as server, connect(server.config(timeout=5.0)) as client:
            await client.bind("team", SEATINGS)
            return server.requests

    return asyncio.run(run())


def refuse(code: int, reason: str) -> Answer:
    async def answer(_: Request, reply: Reply) -> None:
        await reply.refuse(code, reason)

    return answer


def test_all_are_under_way_at_once() -> None:
    async def run() -> None:
        waiting, all_there = 0, asyncio.Event()

        async def answer(_: Request, reply: Reply) -> None:
            nonlocal waiting
            waiting += 1
            if waiting == len(SEATINGS):
                all_there.set()
            await all_there.wait()
            await reply.json(DONE, 201)

        async with serving(answer) as server, connect(server.config(timeout=20.0)) as client:
            await client.bind("team", SEATINGS)

    asyncio.run(run())


def test_one_refusal_does_not_keep_the_others_standing() -> None:
    seats = Seats(worker_1=refuse(404, "NotFound"))
    with pytest.raises(Refused) as caught:
        bound(seats)
    assert caught.value.code == 404
    assert caught.value.done == {"u-0", "u-2", "u-3"}
    assert seats.nodes.keys() == {"worker-0", "worker-2", "worker-3"}


def test_an_answer_lost_on_the_way_back_is_no_reason_to_doubt_the_seat() -> None:
    seats = Seats()

    async def seat_and_lose(request: Request, reply: Reply) -> None:
        seats.seat(request)
        reply.reset()
        raise ConnectionError("lost")

    seats.strange = {"worker_2": seat_and_lose}
    requests = bound(seats)
    assert seats.nodes["worker-2"] == "node-2"
    assert [request.method for request in requests].count("GET") == 1  # it looked who it was that sits there


def test_a_pod_that_another_scheduler_bound_to_another_node_is_a_conflict() -> None:
    seats = Seats()
    seats.nodes["worker-3"] = "another"
    with pytest.raises(Refused) as caught:
        bound(seats)
    assert caught.value.code == 409
    assert caught.value.done == {"u-0", "u-1", "u-2"}


def test_a_server_that_falls_silent_leaves_open_how_far_it_came(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("understudy.client.retry.ATTEMPTS", 1)

    async def lose(_: Request, reply: Reply) -> None:
        reply.reset()
        raise ConnectionError("lost")

    with pytest.raises(Unreachable) as caught:
        bound(Seats(worker_0=lose, worker_1=refuse(404, "NotFound")))
    assert caught.value.done == {"u-2", "u-3"}
