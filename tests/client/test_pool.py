"""Connections that are kept, lost, garbled or never made: what a caller sees of it."""

import asyncio
import contextlib
import gc
import queue
import socket
import threading
import warnings
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.client.scripted_server import Reply, Request, Server, serving
from tests.eventually import eventually_async
from understudy.client import BadConfig, connect
from understudy.client import pool as pools
from understudy.client.config import Config
from understudy.client.pool import ConnectionPool, Response
from understudy.ports import Unreachable

Use = Callable[[Server, ConnectionPool], Awaitable[None]]


def with_pool(answer: Callable[[Request, Reply], Awaitable[None]], use: Use, timeout: float = 5.0) -> None:
    async def run() -> None:
        async with serving(answer) as server:
            pool = ConnectionPool(server.config(timeout=timeout))
            try:
                await use(server, pool)
            finally:
                await pool.close()

    asyncio.run(run())


async def yes(_: Request, reply: Reply) -> None:
    await reply.json({})


def test_requests_share_a_connection() -> None:
    async def use(server: Server, pool: ConnectionPool) -> None:
        for _ in range(3):
            assert await pool.fetch("GET", "/") == Response(200, b"{}")
        assert [request.connection for request in server.requests] == [1, 1, 1]

    with_pool(yes, use)


def test_a_server_that_wants_the_connection_closed_gets_a_new_one_next_time() -> None:
    async def answer(_: Request, reply: Reply) -> None:
        await reply.raw(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}")

    async def use(server: Server, pool: ConnectionPool) -> None:
        await pool.fetch("GET", "/")
        await pool.fetch("GET", "/")
        assert [request.connection for request in server.requests] == [1, 2]

    with_pool(answer, use)


def second_request_fails(*, twice: bool = False) -> Callable[[Request, Reply], Awaitable[None]]:
    """A kept connection dies as the next request arrives on it, and with `twice` the fresh one too."""

    async def answer(request: Request, reply: Reply) -> None:
        if request.path == "/second" and (request.connection == 1 or twice):
            reply.reset()
        else:
            await reply.json({})

    return answer


def test_a_read_over_a_connection_gone_stale_is_asked_again() -> None:
    async def use(server: Server, pool: ConnectionPool) -> None:
        await pool.fetch("GET", "/first")
        assert (await pool.fetch("GET", "/second")).status == 200
        assert [request.connection for request in server.requests] == [1, 1, 2]

    with_pool(second_request_fails(), use)


def test_it_is_asked_again_once_only() -> None:
    async def use(server: Server, pool: ConnectionPool) -> None:
        await pool.fetch("GET", "/first")
        with pytest.raises(Unreachable):
            await pool.fetch("GET", "/second")
        assert len(server.requests) == 3

    with_pool(second_request_fails(twice=True), use)


@pytest.mark.parametrize("method", ["POST", "PATCH", "DELETE"])
def test_a_write_is_never_sent_twice(method: str) -> None:
    async def use(server: Server, pool: ConnectionPool) -> None:
        await pool.fetch("GET", "/first")
        with pytest.raises(Unreachable):
            await pool.fetch(method, "/second", b"{}", "application/json")
        assert [request.method for request in server.requests] == ["GET", method]

    with_pool(second_request_fails(), use)


TRUNCATED = (
    b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel",
    b"HTTP/1.1 200 OK\r\nContent-Le",
    b"HTT",
    b"",
)


@pytest.mark.parametrize("sent", TRUNCATED)
def test_an_answer_cut_short_is_no_answer(sent: bytes) -> None:
    async def answer(_: Request, reply: Reply) -> None:
        await reply.raw(sent)
        raise ConnectionError("enough")

    async def use(_: Server, pool: ConnectionPool) -> None:
        with pytest.raises(Unreachable, match="lost"):
            await pool.fetch("GET", "/")

    with_pool(answer, use)


GARBAGE = (
    b"\x15\x03\x01\x00\x02\x02\x28",
    b"SSH-2.0-OpenSSH_9.6\r\n",
    b"HTTP/1.1 banana\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\nhello",
)


@pytest.mark.parametrize("sent", GARBAGE)
def test_an_answer_that_is_not_http_is_said_to_be_none(sent: bytes) -> None:
    async def answer(_: Request, reply: Reply) -> None:
        await reply.raw(sent)

    async def use(_: Server, pool: ConnectionPool) -> None:
        with pytest.raises(Unreachable, match="not HTTP"):
            await pool.fetch("GET", "/")

    with_pool(answer, use)


def test_two_answers_to_one_request_count_as_one_and_end_the_connection() -> None:
    async def answer(request: Request, reply: Reply) -> None:
        body = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n" + str(request.connection).encode()
        await reply.raw(body + b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")

    async def use(_: Server, pool: ConnectionPool) -> None:
        assert await pool.fetch("GET", "/") == Response(200, b"1")
        assert await pool.fetch("GET", "/") == Response(200, b"2")

    with_pool(answer, use)


def test_hints_before_the_answer_are_not_the_answer() -> None:
    async def answer(_: Request, reply: Reply) -> None:
        await reply.raw(
            b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}"
        )

    async def use(_: Server, pool: ConnectionPool) -> None:
        assert await pool.fetch("GET", "/") == Response(201, b"{}")

    with_pool(answer, use)


def test_an_answer_without_a_length_ends_with_the_connection() -> None:
    async def answer(_: Request, reply: Reply) -> None:
        await reply.raw(b"HTTP/1.1 200 OK\r\n\r\nall there is")
        reply.end()

    async def use(_: Server, pool: ConnectionPool) -> None:
        assert await pool.fetch("GET", "/") == Response(200, b"all there is")

    with_pool(answer, use)


def test_a_large_answer_in_many_pieces_arrives_whole() -> None:
    body = bytes(range(256)) * 40_000

    async def answer(_: Request, reply: Reply) -> None:
        await reply.text(body)

    async def use(_: Server, pool: ConnectionPool) -> None:
        assert (await pool.fetch("GET", "/")).body == body

    with_pool(answer, use)


def test_a_server_that_stays_silent_is_given_up() -> None:
    async def use(server: Server, pool: ConnectionPool) -> None:
        with pytest.raises(Unreachable, match=r"GET /slow: no answer within 0.5 s"):
            await pool.fetch("GET", "/slow")
        with pytest.raises(Unreachable, match=r"no answer within 0.5 s"):
            async with pool.stream("/slow"):
                pass
        assert len(server.requests) == 2

    async def silent(_request: Request, _reply: Reply) -> None:
        await asyncio.Event().wait()

    with_pool(silent, use, timeout=0.5)


def test_a_stream_beyond_its_time_counts_as_lost() -> None:
    async def silent(_: Request, reply: Reply) -> None:
        await reply.begin_chunks()
        await asyncio.Event().wait()

    async def use(_: Server, pool: ConnectionPool) -> None:
        async with pool.stream("/", longest=0.01) as (status, pieces):
            assert status == 200
            with pytest.raises(Unreachable, match="lost"):
                await anext(pieces)

    with_pool(silent, use)


def test_a_request_given_up_half_way_leaves_no_connection_behind_for_others() -> None:
    async def answer(request: Request, reply: Reply) -> None:
        if request.path == "/slow":
            await asyncio.Event().wait()
        await reply.json({})

    async def use(server: Server, pool: ConnectionPool) -> None:
        await pool.fetch("GET", "/")
        slow = asyncio.create_task(pool.fetch("GET", "/slow"))
        await eventually_async(lambda: len(server.requests) == 2)
        slow.cancel()
        with pytest.raises(asyncio.CancelledError):
            await slow
        await pool.fetch("GET", "/")
        assert [request.connection for request in server.requests] == [1, 1, 2]

    with_pool(answer, use)


def test_a_port_without_a_listener_is_unreachable() -> None:
    async def run() -> None:
        async with serving(yes) as server:
            config = server.config()
        async with connect(config) as client:
            with pytest.raises(Unreachable, match=r"127\.0\.0\.1:\d+: connection refused"):
                await client.request("GET", "/")

    asyncio.run(run())


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_server_that_is_being_restarted_is_waited_for_and_asked_once(method: str) -> None:
    async def run() -> list[str]:
        async with serving(yes) as server, connect(server.config(connect_retry=20.0)) as client:
            await server.kill()
            asked = asyncio.create_task(client.request(method, "/", {}))
            await asyncio.sleep(0.05)
            await server.start()
            await asked
            return [request.method for request in server.requests]

    assert asyncio.run(run()) == [method]


def test_a_closed_client_asks_nothing_more() -> None:
    async def use(_: Server, pool: ConnectionPool) -> None:
        await pool.close()
        with pytest.raises(Unreachable, match="closed"):
            await pool.fetch("GET", "/")

    with_pool(yes, use)


def test_a_token_file_is_read_again_as_it_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "token"
    file.write_text("old\n")

    async def run() -> list[str]:
        async with serving(yes) as server:
            async with connect(server.config(token="", token_file=str(file))) as client:
                await client.request("GET", "/")
                file.write_text("new\n")
                await client.request("GET", "/")
                monkeypatch.setattr("understudy.client.credentials.provider.TOKEN_AGE", 0.0)
            async with connect(server.config(token="", token_file=str(file))) as client:
                await client.request("GET", "/")
            return [request.headers["authorization"] for request in server.requests]

    assert asyncio.run(run()) == ["Bearer old", "Bearer old", "Bearer new"]


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"authority": "nonsense"}, "certificates cannot be used"),
        ({"certificate": "nonsense"}, "certificates cannot be used"),
        ({"token": "two\nlines"}, "the token has characters"),
    ],
)
def test_settings_that_cannot_work_are_refused_at_once(settings: dict[str, Any], complaint: str) -> None:
    async def run() -> None:
        with pytest.raises(BadConfig, match=complaint):
            connect(Config(server="https://127.0.0.1:1", **settings))

    asyncio.run(run())


def test_what_must_not_go_out_does_not() -> None:
    class Closed(Unreachable):
        pass

    def gate() -> None:
        raise Closed("not now")

    async def run() -> None:
        async with serving(yes) as server:
            pool = ConnectionPool(server.config(timeout=5.0), gate)
            try:
                with pytest.raises(Closed, match="not now"):
                    await pool.fetch("PATCH", "/")
                assert await pool.fetch("GET", "/") == Response(200, b"{}")
            finally:
                await pool.close()
            assert [request.method for request in server.requests] == ["GET"]

    asyncio.run(run())


def test_who_waits_for_his_turn_is_asked_when_it_comes() -> None:
    """A gang is bound by many requests at once, and what allowed the first may be over before the last."""
    allowed, go_on = [True], asyncio.Event()  # not bound to a loop before its first wait

    def gate() -> None:
        if not allowed:
            raise Unreachable("not any more")

    async def answer(_: Request, reply: Reply) -> None:
        await go_on.wait()
        await reply.json({})

    async def run() -> None:
        async with serving(answer) as server:
            pool = ConnectionPool(msgspec.structs.replace(server.config(timeout=5.0), connections=1), gate)
            try:
                both = [asyncio.create_task(pool.fetch("POST", path)) for path in ("/first", "/second")]
                await eventually_async(lambda: server.requests)
                allowed.clear()
                go_on.set()
                found = await asyncio.gather(*both, return_exceptions=True)
            finally:
                await pool.close()
            assert found[0] == Response(200, b"{}")
            assert isinstance(found[1], Unreachable)
            assert [request.path for request in server.requests] == ["/first"]

    asyncio.run(run())


def test_writes_may_have_less_time_than_reads() -> None:
    async def answer(_: Request, reply: Reply) -> None:
        await asyncio.sleep(0.2)
        await reply.json({})

    async def run() -> None:
        async with serving(answer) as server:
            pool = ConnectionPool(msgspec.structs.replace(server.config(timeout=5.0), write_timeout=0.05))
            try:
                assert await pool.fetch("GET", "/") == Response(200, b"{}")
                with pytest.raises(Unreachable, match=r"POST /: no answer within 0\.05 s"):
                    await pool.fetch("POST", "/")
            finally:
                await pool.close()

    asyncio.run(run())


def test_the_gate_is_asked_once_more_when_there_is_a_connection() -> None:
    """A process may be stopped while it connects, and go on when another one leads."""
    asked = 0

    def gate() -> None:
        nonlocal asked
        asked += 1
        if asked > 1:
            raise Unreachable("not any more")

    async def run() -> None:
        async with serving(yes) as server:
            pool = ConnectionPool(server.config(timeout=5.0), gate)
            try:
                with pytest.raises(Unreachable, match="not any more"):
                    await pool.fetch("POST", "/")
            finally:
                await pool.close()
            assert server.requests == []

    asyncio.run(run())


def test_a_stream_that_is_not_opened_is_given_up_before_other_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that watches has to notice soon that the server is gone."""
    monkeypatch.setattr("understudy.client.pool.SHORTEST_HEAD_TIMEOUT", 0.05)

    async def never(_: Request, __: Reply) -> None:
        await asyncio.Event().wait()

    async def use(_: Server, pool: ConnectionPool) -> None:
        with pytest.raises(Unreachable, match=r"GET /: no answer within 0\.05 s"):
            async with pool.stream("/", silence=0.01):
                pass

    with_pool(never, use, timeout=20.0)


@contextlib.contextmanager
def served_elsewhere() -> Iterator[Server]:
    """By an event loop of its own, which goes on when that of the client has ended."""
    ready: queue.Queue[tuple[Server, Callable[[], object]]] = queue.Queue()

    async def serve() -> None:
        over, loop = asyncio.Event(), asyncio.get_running_loop()
        async with serving(yes) as server:
            ready.put((server, lambda: loop.call_soon_threadsafe(over.set)))
            await over.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    server, end = ready.get(timeout=10)
    try:
        yield server
    finally:
        end()
        thread.join()


def test_a_cancelled_request_leaves_no_connection_behind() -> None:
    """However far it had come, and although the event loop ends at once."""

    async def ask_and_leave(server: Server, seconds: float) -> None:
        pool = ConnectionPool(server.config())
        asking = [asyncio.create_task(pool.fetch("GET", "/")) for _ in range(8)]
        await asyncio.sleep(seconds)
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
        await pool.close()

    with warnings.catch_warnings(record=True) as left, served_elsewhere() as server:
        warnings.simplefilter("always", ResourceWarning)
        for moment in range(40):
            asyncio.run(ask_and_leave(server, moment * 0.0005))
        gc.collect()
    assert [str(warning.message) for warning in left] == []


def test_a_request_in_its_handshake_fails_when_the_client_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "CLOSE_SECONDS", 0.05)

    async def run(silent: socket.socket) -> None:
        pool = ConnectionPool(Config(server=f"https://127.0.0.1:{silent.getsockname()[1]}"))
        asking = asyncio.create_task(pool.fetch("GET", "/"))
        while not pool._making:
            await asyncio.sleep(0)
        await pool.close()
        with pytest.raises(Unreachable, match="closed"):
            await asking

    with socket.create_server(("127.0.0.1", 0)) as silent:  # the system takes calls for it, and it answers none
        asyncio.run(run(silent))
