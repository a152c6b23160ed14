"""What the client asks a server for each thing the loops want, and what it makes of the answers."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.client.scripted_server import TOKEN, Reply, Request, Server, serving
from understudy.client import KubeClient, connect
from understudy.objects.resources import JOBS, NODES, PODS, SECRETS
from understudy.ports import PatchForm, PodBinding, Ref, Refused, Unreachable

POD = Ref(PODS, "team", "worker-0")


def asked(use: Callable[[KubeClient], Awaitable[Any]], **settings: Any) -> list[Request]:
    """The requests that come of using a client whose server says yes to everything."""

    async def yes(request: Request, reply: Reply) -> None:
        await reply.json({"kind": "Something", "path": request.path})

    async def run() -> list[Request]:
        async with serving(yes) as server, connect(server.config(**settings)) as client:
            await use(client)
            return server.requests

    return asyncio.run(run())


def answered(answer: Callable[[Request, Reply], Awaitable[None]], use: Callable[[KubeClient], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        async with serving(answer) as server, connect(server.config(timeout=5.0)) as client:
            return await use(client)

    return asyncio.run(run())


def test_every_request_carries_the_token_and_asks_for_json() -> None:
    [request] = asked(lambda client: client.get(POD))
    assert (request.method, request.path) == ("GET", "/api/v1/namespaces/team/pods/worker-0")
    assert request.headers["authorization"] == f"Bearer {TOKEN}"
    assert request.headers["accept"] == "application/json"
    assert request.headers["user-agent"].startswith("understudy/")
    assert "content-type" not in request.headers


def test_a_new_object_is_posted_to_its_collection() -> None:
    [request] = asked(lambda client: client.create(Ref(JOBS, "team"), {"kind": "Job"}))
    assert (request.method, request.path) == ("POST", "/apis/batch/v1/namespaces/team/jobs")
    assert request.headers["content-type"] == "application/json"
    assert json.loads(request.body) == {"kind": "Job"}


@pytest.mark.parametrize("form", list(PatchForm))
def test_a_patch_says_its_form(form: PatchForm) -> None:
    [request] = asked(lambda client: client.patch(POD, {"status": {}}, sub="status", form=form))
    assert (request.method, request.path) == ("PATCH", "/api/v1/namespaces/team/pods/worker-0/status")
    assert request.headers["content-type"] == form.value
    assert ("fieldManager" in request.query) == (form is PatchForm.APPLY)


def test_a_delete_says_how_long_whom_and_what_becomes_of_the_children() -> None:
    [request] = asked(lambda client: client.delete(POD, grace=0, uid="u-1", propagation="Foreground"))
    assert request.method == "DELETE"
    assert json.loads(request.body) == {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "gracePeriodSeconds": 0,
        "preconditions": {"uid": "u-1"},
        "propagationPolicy": "Foreground",
    }


SEATINGS = [PodBinding("worker-0", "u-0", "node-a"), PodBinding("worker-1", "u-1", "node-b")]


def test_a_gang_is_seated_by_one_request_where_the_server_can() -> None:
    [request] = asked(lambda client: client.bind("team", SEATINGS), gang_binding=True)
    assert (request.method, request.path) == ("POST", "/apis/understudy.dev/v1/namespaces/team/seatings")
    assert json.loads(request.body) == {
        "seatings": [
            {"pod": "worker-0", "uid": "u-0", "node": "node-a"},
            {"pod": "worker-1", "uid": "u-1", "node": "node-b"},
        ]
    }


def test_a_gang_is_seated_pod_by_pod_elsewhere() -> None:
    requests = asked(lambda client: client.bind("team", SEATINGS), connections=1)
    assert [request.path for request in requests] == [
        "/api/v1/namespaces/team/pods/worker-0/binding",
        "/api/v1/namespaces/team/pods/worker-1/binding",
    ]
    body = json.loads(requests[1].body)
    assert (body["metadata"], body["target"]["name"]) == ({"name": "worker-1", "uid": "u-1"}, "node-b")


@pytest.mark.parametrize("name", ["../secrets/other", "a/b", "a?x=1", "..", "a b", "a\r\nX: y", "ü"])
def test_a_name_from_inside_an_object_never_leads_to_another_path(name: str) -> None:
    async def use(client: KubeClient) -> None:
        with pytest.raises(Refused, match="cannot be the name"):
            await client.get(Ref(SECRETS, "team", name))

    assert asked(use) == []


def test_odd_characters_in_a_path_are_escaped() -> None:
    [request] = asked(lambda client: client.request("GET", "/a b?q=ü\r\nX: y"))
    assert request.path == "/a%20b"
    assert "x" not in request.headers


def test_a_refusal_is_told_in_the_servers_words() -> None:
    async def refuse(_: Request, reply: Reply) -> None:
        await reply.refuse(409, "AlreadyExists", 'pods "worker-0" already exists')

    with pytest.raises(Refused) as caught:
        answered(refuse, lambda client: client.create(Ref(PODS, "team"), {}))
    assert (caught.value.code, caught.value.reason) == (409, "AlreadyExists")
    assert caught.value.message == 'pods "worker-0" already exists'


def test_a_path_the_server_does_not_know_is_a_refusal_even_in_plain_words() -> None:
    async def refuse(_: Request, reply: Reply) -> None:
        await reply.text(b"404 page not found\n", 404)

    with pytest.raises(Refused) as caught:
        answered(refuse, lambda client: client.request("GET", "/apis/unknown/v1"))
    assert (caught.value.code, caught.value.reason, caught.value.message) == (404, "NotFound", "404 page not found")


@pytest.mark.parametrize(
    ("code", "body"), [(502, b"<html>Bad Gateway</html>"), (503, b'{"kind":"Pod"}'), (500, b""), (302, b"over there")]
)
def test_an_answer_that_is_not_the_apis_leaves_open_what_happened(code: int, body: bytes) -> None:
    async def say(_: Request, reply: Reply) -> None:
        await reply.text(body, code)

    with pytest.raises(Unreachable, match=str(code)):
        answered(say, lambda client: client.get(POD))


def test_logs_come_piece_by_piece() -> None:
    async def log(_: Request, reply: Reply) -> None:
        await reply.begin_chunks()
        for text in (b"one\n", b"two\n"):
            await reply.chunk(text)
        await reply.end_chunks()

    async def use(client: KubeClient) -> bytes:
        return b"".join([piece async for piece in client.stream("/api/v1/namespaces/team/pods/worker-0/log")])

    assert answered(log, use) == b"one\ntwo\n"


def test_logs_that_are_refused_say_why() -> None:
    async def refuse(_: Request, reply: Reply) -> None:
        await reply.refuse(400, "BadRequest", "container is waiting to start")

    async def use(client: KubeClient) -> None:
        with pytest.raises(Refused, match="waiting to start"):
            async for _ in client.stream("/log"):
                pass

    answered(refuse, use)


def test_a_slow_reader_holds_the_server_back() -> None:
    """More than sockets and buffers take, so that the server has to wait; and all of it arrives."""
    size, count = 1 << 16, 400
    sent = asyncio.Event()

    async def log(_: Request, reply: Reply) -> None:
        await reply.begin_chunks()
        for _number in range(count):
            await reply.chunk(b"x" * size)
        sent.set()
        await reply.end_chunks()

    async def use(client: KubeClient) -> int:
        pieces = client.stream("/log")
        total = len(await anext(pieces))
        for _ in range(50):
            await asyncio.sleep(0)
        assert not sent.is_set()
        async for piece in pieces:
            total += len(piece)
        return total

    assert answered(log, use) == size * count


def test_no_more_requests_at_a_time_than_allowed() -> None:
    async def run() -> None:
        at_once, most = 0, 0

        async def answer(_: Request, reply: Reply) -> None:
            nonlocal at_once, most
            at_once, most = at_once + 1, max(most, at_once + 1)
            await asyncio.sleep(0)
            at_once -= 1
            await reply.json({})

        async with serving(answer) as server, connect(server.config(connections=3)) as client:
            await asyncio.gather(*(client.get(Ref(NODES, name=f"n{n}")) for n in range(30)))
            assert most <= 3
            assert max(request.connection for request in server.requests) <= 3

    asyncio.run(run())


def test_a_path_in_the_servers_address_comes_before_all_others() -> None:
    async def yes(_: Request, reply: Reply) -> None:
        await reply.json({})

    async def run() -> str:
        async with serving(yes, tls=False) as server:
            config = server.config(server=f"http://127.0.0.1:{server.port}/k8s/clusters/c1")
            async with connect(config) as client:
                await client.get(Ref(NODES, name="a"))
            return server.requests[0].path

    assert asyncio.run(run()) == "/k8s/clusters/c1/api/v1/nodes/a"


def test_a_server_without_a_trusted_certificate_gets_no_token() -> None:
    async def yes(_: Request, reply: Reply) -> None:
        await reply.json({})

    async def run(server: Server) -> None:
        async with connect(server.config(authority="")) as client:
            with pytest.raises(Unreachable, match="not trusted"):
                await client.get(POD)
        async with connect(server.config(authority="", insecure=True)) as client:
            await client.get(POD)

    async def all_of_it() -> list[Request]:
        async with serving(yes) as server:
            await run(server)
            return server.requests

    assert len(asyncio.run(all_of_it())) == 1
