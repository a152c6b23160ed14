"""What is asked again of a server in trouble, how often, and what is left alone."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.client.scripted_server import Reply, Request, Server, serving
from understudy.client import KubeClient
from understudy.client.request_metrics import resource_of
from understudy.client.retry import ATTEMPTS, Retrier
from understudy.objects.resources import PODS
from understudy.ports import PatchForm, Ref, Refused, Unreachable

POD = Ref(PODS, "team", "worker-0")
PATCH = {"metadata": {"uid": "u-0"}, "status": {}}
Use = Callable[[KubeClient], Awaitable[Any]]


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("understudy.client.retry.FIRST_PAUSE", 0.001)
    monkeypatch.setattr("understudy.client.retry.LONGEST_RETRY_AFTER", 0.01)


SAFE: dict[str, Use] = {
    "a read": lambda client: client.get(POD),
    "a patch of this very object": lambda client: client.patch(POD, PATCH),
    "a delete of this very object": lambda client: client.delete(POD, uid="u-0"),
}
UNSAFE: dict[str, Use] = {
    "a new object": lambda client: client.create(Ref(PODS, "team"), {}),
    "a delete by name": lambda client: client.delete(POD),
    "a patch by name": lambda client: client.patch(POD, {"status": {}}),
    "a patch of one version": lambda client: client.patch(
        POD, {"metadata": {"uid": "u-0", "resourceVersion": "7"}}, form=PatchForm.MERGE
    ),
    "a list of changes": lambda client: client.patch(POD, [{"op": "add"}], form=PatchForm.JSON),
}


async def lose(_: Request, reply: Reply) -> None:
    reply.reset()
    raise ConnectionError("lost")


def saying(code: int, body: bytes = b"busy", head: str = "") -> Callable[[Request, Reply], Awaitable[None]]:
    async def say(_: Request, reply: Reply) -> None:
        await reply.raw(f"HTTP/1.1 {code} Said\r\n{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)

    return say


def used(use: Use, *troubles: Callable[[Request, Reply], Awaitable[None]]) -> tuple[list[Request], KubeClient]:
    """The requests made while the first answers are `troubles`, and all others yes."""
    left = list(troubles)

    async def answer(request: Request, reply: Reply) -> None:
        await (left.pop(0)(request, reply) if left else reply.json({"kind": "Pod"}))

    async def run() -> tuple[list[Request], KubeClient]:
        async with serving(answer) as server, KubeClient(server.config(timeout=5.0), random.Random(0)) as client:
            await use(client)
            return server.requests, client

    return asyncio.run(run())


@pytest.mark.parametrize("trouble", [lose, saying(500), saying(503), saying(504)])
@pytest.mark.parametrize("use", SAFE.values(), ids=SAFE)
def test_what_may_be_asked_twice_is(use: Use, trouble: Any) -> None:
    requests, client = used(use, trouble, trouble)
    assert len(requests) == 3
    assert client.metrics.repeats == 2
    assert requests[0].body == requests[2].body


@pytest.mark.parametrize("trouble", [lose, saying(500), saying(503)])
@pytest.mark.parametrize("use", UNSAFE.values(), ids=UNSAFE)
def test_what_might_be_done_twice_is_asked_once(use: Use, trouble: Any) -> None:
    async def once(client: KubeClient) -> None:
        with pytest.raises(Unreachable):
            await use(client)

    requests, _ = used(once, trouble)
    assert len(requests) == 1


@pytest.mark.parametrize("use", [*SAFE.values(), *UNSAFE.values()], ids=[*SAFE, *UNSAFE])
def test_a_server_too_busy_has_done_nothing_so_anything_is_asked_again(use: Use) -> None:
    requests, _ = used(use, saying(429, head="Retry-After: 1\r\n"))
    assert len(requests) == 2


def test_a_server_says_how_long_it_wants_to_be_left_alone_and_is_believed_within_reason() -> None:
    retrier = Retrier(None, random.Random(0))  # type: ignore[arg-type]
    assert 0.005 <= retrier._pause(1, asked=0.005) < 0.01
    assert retrier._pause(1, asked=3600.0) < 0.02


def test_pauses_grow_and_are_never_in_step() -> None:
    retrier = Retrier(None, random.Random(0))  # type: ignore[arg-type]
    pauses = [retrier._pause(attempt, 0.0) for attempt in range(1, 5)]
    assert pauses == sorted(pauses)
    assert len({retrier._pause(1, 0.0) for _ in range(10)}) == 10


def test_a_budget_that_forbids_an_eviction_now_is_not_asked_again() -> None:
    async def evict(client: KubeClient) -> None:
        with pytest.raises(Refused) as caught:
            await client.create(POD, {}, "eviction")
        assert caught.value.code == 429

    told = saying(429, b'{"kind":"Status","code":429,"reason":"TooManyRequests","message":"budget"}')
    assert len(used(evict, told)[0]) == 1


def test_an_eviction_that_a_busy_server_put_off_is_asked_again() -> None:
    assert len(used(lambda client: client.create(POD, {}, "eviction"), saying(429))[0]) == 2


def test_it_is_given_up_after_a_few_attempts() -> None:
    async def get(client: KubeClient) -> None:
        with pytest.raises(Unreachable, match="503"):
            await client.get(POD)

    assert len(used(get, *[saying(503)] * 20)[0]) == ATTEMPTS


def test_it_is_given_up_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("understudy.client.retry.RETRY_WINDOW", 0.0)

    async def get(client: KubeClient) -> None:
        with pytest.raises(Unreachable):
            await client.get(POD)

    assert len(used(get, lose)[0]) == 1


def test_a_port_without_a_listener_is_not_tried_again_and_again() -> None:
    async def run(server: Server) -> int:
        config = server.config()
        await server.kill()
        async with KubeClient(config) as client:
            with pytest.raises(Unreachable, match="refused"):
                await client.get(POD)
            return client.metrics.repeats

    async def all_of_it() -> int:
        async with serving(saying(200)) as server:
            return await run(server)

    assert asyncio.run(all_of_it()) == 0


def test_every_request_is_counted_by_what_it_asked_and_what_came_back() -> None:
    heard: list[int] = []

    async def use(client: KubeClient) -> None:
        client.metrics.listener = lambda asked: heard.append(asked.code)
        await client.get(POD)
        await client.create(POD, {}, "binding")

    _, client = used(use, saying(503))
    assert client.metrics.answers == {
        ("GET", "pods", 503): 1,
        ("GET", "pods", 200): 1,
        ("POST", "pods/binding", 200): 1,
    }
    assert heard == [503, 200, 200]
    assert client.metrics.seconds[("GET", "pods")] > 0.0


@pytest.mark.parametrize(
    ("path", "resource"),
    [
        ("/api/v1/pods?limit=500", "pods"),
        ("/api/v1/namespaces/team/pods/a/binding", "pods/binding"),
        ("/api/v1/namespaces/team", "namespaces"),
        ("/apis/batch/v1/namespaces/team/jobs/j", "jobs"),
        ("/api/v1/nodes/n/status", "nodes/status"),
        ("/apis/batch/v1", "discovery"),
        ("/api/v1", "discovery"),
        ("/readyz", "readyz"),
        ("/", ""),
    ],
)
def test_what_a_request_is_about(path: str, resource: str) -> None:
    assert resource_of(path) == resource


def test_a_delete_whose_answer_was_lost_has_been_done_where_nothing_is_found_any_more() -> None:
    gone = b'{"kind":"Status","code":404,"reason":"NotFound","message":"not found"}'
    requests, _ = used(SAFE["a delete of this very object"], lose, saying(404, gone))
    assert len(requests) == 2
    with pytest.raises(Refused):
        used(SAFE["a delete of this very object"], saying(404, gone))
