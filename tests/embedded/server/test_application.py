"""Authentication, limits and failures of requests."""

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest

from tests.embedded.server.in_process_server import CONFIG_MAPS, PODS, Exchange, config_map, pod, server
from understudy.embedded.server import application
from understudy.embedded.server.http import request_body
from understudy.embedded.store.records import StoreFull, WriteFailed

PATHS = ["/", "/version", "/healthz", "/livez", "/readyz", "/api", "/openapi/v2", PODS, f"{PODS}/x", "/no/such/path"]


@pytest.mark.parametrize("token", [None, "", "wrong", "of-the-admi", "of-the-admin-"])
def test_without_a_valid_token_every_path_is_unauthorized(tmp_path: Path, token: str | None) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            replies = [await ask(method, path, token=token) for path in PATHS for method in ("GET", "POST", "BREW")]
            assert {reply.code for reply in replies} == {401}
            assert len({reply.body for reply in replies}) == 1
            assert replies[0].json["reason"] == "Unauthorized"
            before = ask.state.store.revision
            assert (await ask("POST", PODS, pod("one"), token=token)).code == 401
            assert (await ask("DELETE", "/api/v1/namespaces/default", token=token)).code == 401
            assert ask.state.store.revision == before

    asyncio.run(scenario())


def test_only_the_bearer_scheme_authenticates(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            for header in ("Basic b2YtdGhlLWFkbWlu", "of-the-admin", "Bearer", "Bearer  "):
                reply = await ask("GET", "/version", token=None, headers={"authorization": header})
                assert reply.code == 401
            reply = await ask("GET", "/version", token=None, headers={"authorization": "bearer of-the-admin"})
            assert reply.code == 200

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/apix",
        "/api/v2",
        "/apis/none",
        "/apis/batch/v9",
        "/api/v1/none",
        "/api/v1/namespaces/default/none/x",
        "/api/v1/namespaces//pods",
        "/api/v1//pods",
        "/api/v1/namespaces/default/pods/a/b/c",
        "/api/v1/namespaces/default/pods/../../../../etc/passwd",
        "/api/v1/namespaces/default/nodes/x",
        "/api/v1/pods/one",
        "/api/v1/namespaces/default/pods/one/none",
        "/openapi/v3/none",
        "/openapi/v3/../../secret",
        "/apis//v1/pods",
        "/" + "a/" * 5000,
        "/api/v1/namespaces/default/configmaps/one/status",
    ],
)
def test_unknown_paths_are_not_found(tmp_path: Path, path: str) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await ask.refused(404, "NotFound", "GET", path)

    asyncio.run(scenario())


def test_any_text_in_the_place_of_a_name_is_a_name(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            for name in ("..", ".", "%2e%2e", "\u0000", "a" * 10_000, "';--", "<script>"):
                status = await ask.refused(404, "NotFound", "GET", f"{PODS}/{name}")
                assert status["details"]["name"] == name
                await ask.refused(404, "NotFound", "DELETE", f"{PODS}/{name}")

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/version"),
        ("DELETE", "/api/v1"),
        ("PUT", PODS),
        ("PATCH", PODS),
        ("POST", f"{PODS}/one"),
        ("BREW", f"{PODS}/one"),
        ("DELETE", f"{PODS}/one/status"),
        ("DELETE", f"{PODS}/one/log"),
    ],
)
def test_methods_that_are_not_allowed(tmp_path: Path, method: str, path: str) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await ask.refused(405, "MethodNotAllowed", method, path, {})

    asyncio.run(scenario())


@pytest.mark.parametrize("sub", ["ephemeralcontainers", "proxy"])
def test_an_unsupported_sub_resource_names_an_alternative(tmp_path: Path, sub: str) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            status = await ask.refused(405, "MethodNotAllowed", "POST", f"{PODS}/one/{sub}")
            assert "not offered by an embedded cluster; use" in status["message"].replace(
                "pods run on this machine: ", ""
            )

    asyncio.run(scenario())


def test_a_trailing_slash_makes_no_difference(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            assert (await ask.get("/version/"))["major"] == "1"
            assert (await ask.get(f"{PODS}/"))["kind"] == "PodList"

    asyncio.run(scenario())


def test_a_body_with_a_too_large_content_length_is_not_read(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            for length in (str(10 * 1024 * 1024), "9" * 5000):
                await ask.refused(413, "RequestEntityTooLarge", "POST", PODS, b"{}", headers={"content-length": length})

    asyncio.run(scenario())


class Endless(Exchange):
    """A body without an end, in pieces."""

    def __init__(self, piece: bytes) -> None:
        super().__init__(b"")
        self.piece = piece
        self.read = 0

    async def receive(self) -> dict[str, Any]:
        self.read += len(self.piece)
        return {"type": "http.request", "body": self.piece, "more_body": True}


def test_a_body_beyond_the_limit_is_refused_while_it_is_read(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            exchange = Endless(b"x" * 65536)
            scope = {"type": "http", "method": "POST", "path": PODS, "query_string": b""}
            headers = [(b"authorization", b"Bearer of-the-admin")]
            await ask.application(scope | {"headers": headers}, exchange.receive, exchange.send)
            assert exchange.reply.code == 413
            assert exchange.read < request_body.MAX_BODY + 3 * 65536

    asyncio.run(scenario())


@pytest.mark.parametrize("body", [b"[" * 1_000_000, b'{"a":' * 1_000_000, b'{"metadata":' + b'{"a":' * 500_000])
def test_a_million_levels_deep(tmp_path: Path, body: bytes) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await ask.refused(400, "BadRequest", "POST", CONFIG_MAPS, body[: request_body.MAX_BODY])
            await ask.post(CONFIG_MAPS, config_map("still-there"))

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "body", [b"", b"null", b"5", b'"x"', b"[]", b"\xff\xfe", b"{}{}", b'{"metadata": {"name": "x"}, "kind": "Pod"}']
)
def test_bodies_that_are_no_object_of_the_kind(tmp_path: Path, body: bytes) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            before = ask.state.store.revision
            await ask.refused(400, "BadRequest", "POST", CONFIG_MAPS, body)
            assert ask.state.store.revision == before

    asyncio.run(scenario())


def test_a_label_bomb_is_refused(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            bomb = pod("one", labels={"k" * 400: "v", "ok": "v" * 400})
            await ask.refused(422, "Invalid", "POST", PODS, bomb)
            heavy = config_map("one")
            heavy["metadata"]["annotations"] = {f"a{n}": "x" * 1000 for n in range(300)}
            await ask.refused(422, "Invalid", "POST", CONFIG_MAPS, heavy)
            many = ",".join(f"k{n} in (a,b)" for n in range(5000))
            await ask.refused(400, "BadRequest", "GET", f"{PODS}?labelSelector={many}")

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "query", ["limit=%ff%fe", "a=1&" * 1001, "limit=-1", "limit=--1", "limit=1.5", "timeoutSeconds=x&watch=1"]
)
def test_queries_that_cannot_be_read(tmp_path: Path, query: str) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await ask.refused(400, "BadRequest", "GET", f"{PODS}?{query}")

    asyncio.run(scenario())


def test_too_many_requests_at_once_get_a_429(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(application, "MAX_IN_FLIGHT", 3)

    async def scenario() -> None:
        async with server(tmp_path) as ask:
            replies = await asyncio.gather(*(ask("POST", PODS, pod(f"p{n}")) for n in range(10)))
            assert sorted(reply.code for reply in replies) == [201] * 3 + [429] * 7
            busy = next(reply for reply in replies if reply.code == 429)
            assert (busy.json["reason"], busy.header("retry-after")) == ("TooManyRequests", "1")
            assert (await ask("POST", PODS, pod("later"))).code == 201

    asyncio.run(scenario())


def test_too_many_streams_are_refused_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(application, "MAX_STREAMS", 1)

    async def scenario() -> None:
        async with server(tmp_path) as ask, ask.watch(PODS) as watch:
            await watch.exchange.pieces.get()
            await ask.refused(429, "TooManyRequests", "GET", f"{PODS}?watch=1")

    asyncio.run(scenario())


def test_details_of_an_internal_error_are_logged_and_not_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            monkeypatch.setattr(ask.state.store, "get", lambda _: 1 / 0)
            with caplog.at_level(logging.ERROR):
                status = await ask.refused(500, "InternalError", "GET", f"{PODS}/one")
            assert "division" not in status["message"]
            assert "ZeroDivisionError" in caplog.text

    asyncio.run(scenario())


def test_a_full_disk_is_reported_and_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:

            def full(_: object) -> None:
                raise WriteFailed("database or disk is full")

            with monkeypatch.context() as patched:
                patched.setattr(ask.state.store, "submit", full)
                await ask.refused(503, "ServiceUnavailable", "POST", PODS, pod("one"))
            await ask.refused(404, "NotFound", "GET", f"{PODS}/one")
            await ask.post(PODS, pod("one"))

    asyncio.run(scenario())


def test_a_write_without_room_on_the_disk_is_insufficient_storage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not worth asking again a second later."""

    async def scenario() -> None:
        async with server(tmp_path) as ask:

            def full(_: object) -> None:
                raise StoreFull("the database did not take the write: database or disk is full")

            with monkeypatch.context() as patched:
                patched.setattr(ask.state.store, "submit", full)
                status = await ask.refused(507, "InsufficientStorage", "POST", PODS, pod("one"))
            assert status["message"] == "the write was not stored: the disk of the cluster is full"
            await ask.post(PODS, pod("one"))

    asyncio.run(scenario())
