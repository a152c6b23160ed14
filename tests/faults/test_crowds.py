"""Too many clients, and clients that are too slow: those who behave are served all the same."""

import asyncio
import contextlib
import os
import resource
import socket
import ssl
import struct
import warnings
from collections.abc import AsyncGenerator, Iterator
from typing import cast

import msgspec
import pytest

from tests.eventually import eventually
from tests.faults.floods import allow_many_files, flood, request
from tests.faults.ordinary import MOST_MEMORY, ordinary_life
from tests.faults.server_process import PATIENCE, ServerProcess, running_server
from tests.faults.wires import Wire, asked, plain_line, tls_line, wire
from understudy.client import Config, KubeClient, connect
from understudy.client.connection import split_lines
from understudy.objects.resources import CONFIG_MAPS, EVENTS

MAPS = CONFIG_MAPS.path("default")
MANY_EVENTS = int(os.environ.get("UNDERSTUDY_EVENTS", "100000"))
UNREAD = 4_000  # of 5 kB each: more than all buffers on the way hold
WATCHES = 300
FILES = 256  # that the server may have open to begin with


class _Metadata(msgspec.Struct):
    name: str = ""


class _Object(msgspec.Struct):
    metadata: _Metadata


class _Event(msgspec.Struct):
    type: str
    object: _Object


@pytest.fixture
def server() -> Iterator[ServerProcess]:
    with running_server() as server:
        yield server


def config_map(name: str, text: str) -> bytes:
    return msgspec.json.encode({"metadata": {"name": name}, "data": {"text": text}})


def test_slow_senders_do_not_delay_other_clients(server: ServerProcess) -> None:
    with contextlib.ExitStack() as stack:
        slow = [stack.enter_context(contextlib.closing(tls_line(server.config))) for _ in range(100)]
        whole = Wire(server.config, slow[0]).request("POST", MAPS, config_map("slow", "x" * 100))
        with ordinary_life(server) as others:
            for place in range(50):
                for line in slow:
                    line.sendall(whole[place : place + 1])
            rounds = others.rounds
            while others.is_alive() and others.rounds < rounds + 10:
                slow[0].sendall(b"x")
        for line in slow[1:]:
            line.sendall(whole[50:])
        codes = [Wire(server.config, line).reply().status for line in slow[1:]]
        assert sorted(codes) == [201, *[409] * 98]


def test_a_watcher_that_reads_nothing_costs_nothing_and_loses_nothing(server: ServerProcess) -> None:
    made = asked(server.config, "POST", MAPS, config_map("one", "")).document
    with wire(server.config) as sleeper:
        sleeper.line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        path = f"{MAPS}?watch=true&resourceVersion={made['metadata']['resourceVersion']}"
        sleeper.send(sleeper.request("GET", f"{path}&fieldSelector=metadata.name=one&timeoutSeconds=600"))
        with ordinary_life(server):
            puts = (
                request(server.config, "PUT", f"{MAPS}/one", config_map("one", f"{n:05000}")) for n in range(UNREAD)
            )
            assert asyncio.run(flood(server.config, puts)) == {200: UNREAD}
        assert _numbers_read(sleeper) == UNREAD


def _numbers_read(sleeper: Wire) -> int:
    """How many events come, each with a higher revision than the one before."""
    revision = count = 0
    for line in _lines_of(sleeper):
        event = msgspec.json.decode(line)
        assert event["type"] == "MODIFIED"
        now = int(event["object"]["metadata"]["resourceVersion"])
        assert now > revision
        revision, count = now, count + 1
        if count == UNREAD:
            break
    return count


def _lines_of(sleeper: Wire) -> Iterator[bytes]:
    """Of a stream in chunks, as they come."""
    stream, rest = sleeper.stream, b""
    while stream.readline() != b"\r\n":
        pass
    while size := int(stream.readline(), 16):
        *whole, rest = (rest + stream.read(size)).split(b"\n")
        yield from whole
        stream.readline()


@pytest.fixture
def server_with_few_files() -> Iterator[ServerProcess]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, hard))
    try:
        with running_server() as server:
            allow_many_files()
            yield server
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_one_client_may_have_more_watches_than_the_server_may_have_files_to_begin_with(
    server_with_few_files: ServerProcess,
) -> None:
    server = server_with_few_files
    names = [f"seen-{number}" for number in range(20)]

    async def scenario() -> None:
        config = msgspec.structs.replace(server.config, timeout=4 * PATIENCE)
        async with connect(config) as client, asyncio.timeout(6 * PATIENCE), asyncio.TaskGroup() as group:
            begun = asyncio.Semaphore(0)
            watches = [group.create_task(_seen(client, begun, names[-1])) for _ in range(WATCHES)]
            for _ in watches:
                await begun.acquire()
            with ordinary_life(server):
                posts = (request(config, "POST", MAPS, config_map(name, "")) for name in names)
                assert await flood(config, posts, connections=1) == {201: len(names)}
                assert await asyncio.gather(*watches) == [names] * WATCHES

    asyncio.run(scenario())


async def _seen(client: KubeClient, begun: asyncio.Semaphore, last: str) -> list[str]:
    """The names told by a watch from its beginning to the last of them."""
    query = "watch=true&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
    pieces = cast("AsyncGenerator[bytes, None]", client.stream(f"{MAPS}?{query}"))
    seen: list[str] = []
    async with contextlib.aclosing(pieces):
        async for line in split_lines(pieces):
            event = msgspec.json.decode(line, type=_Event)
            if event.type == "BOOKMARK":
                begun.release()
            elif event.object.metadata.name.startswith("seen"):
                seen.append(event.object.metadata.name)
                if seen[-1] == last:
                    break
    return seen


@pytest.mark.thorough
def test_very_many_events(server: ServerProcess) -> None:
    with ordinary_life(server):
        posts = (
            request(server.config, "POST", EVENTS.path("default"), _event(number)) for number in range(MANY_EVENTS)
        )
        assert asyncio.run(flood(server.config, posts, connections=32)) == {201: MANY_EVENTS}
    assert server.resident_bytes() < MOST_MEMORY
    with ordinary_life(server):
        assert _paged(server.config) == MANY_EVENTS
        assert len(asked(server.config, "GET", EVENTS.path()).document["items"]) == MANY_EVENTS


def _event(number: int) -> bytes:
    about = {"kind": "Pod", "namespace": "default", "name": f"pod-{number % 100}", "uid": "x"}
    head = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": f"pod-{number % 100}.{number:x}"}}
    told = {"reason": "Crowded", "message": "one of very many", "type": "Normal", "count": 1}
    return msgspec.json.encode({**head, "involvedObject": about, **told})


def _paged(config: Config) -> int:
    """How many there are, page by page."""
    count, more = 0, ""
    with wire(config) as line:
        while True:
            page = line.ask("GET", f"{EVENTS.path('default')}?limit=5000&continue={more}").document
            count += len(page["items"])
            if not (more := page["metadata"].get("continue", "")):
                return count


def test_a_client_without_tls_gets_no_answer(server: ServerProcess) -> None:
    greetings = (
        b"GET /api/v1/secrets HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\x16\x03\x01\xff\xff" + b"\x00" * 500,
        b"\x80\x2e\x01\x03\x01" * 100,
        b"SSH-2.0-x\r\n",
        b"\x00" * 10_000,
    )
    with ordinary_life(server):
        for greeting in greetings:
            with plain_line(server.config) as line:
                line.sendall(greeting)
                line.shutdown(socket.SHUT_WR)
                with contextlib.suppress(ConnectionError):
                    assert b"HTTP" not in line.recv(10_000)


def test_old_tls_and_foreign_authorities_are_refused(server: ServerProcess) -> None:
    with ordinary_life(server):
        for context in (_old_tls(), ssl.create_default_context()):
            with plain_line(server.config) as line, pytest.raises((ssl.SSLError, ConnectionError)):
                context.wrap_socket(line, server_hostname="127.0.0.1")


def _old_tls() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_ciphers("ALL:@SECLEVEL=0")
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        context.minimum_version, context.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
    return context


def test_half_open_connections_do_not_disturb_other_clients(server: ServerProcess) -> None:
    """Some say nothing at all, some nothing after the handshake, some go without a word."""
    with contextlib.ExitStack() as stack, ordinary_life(server) as others:
        for _ in range(300):
            stack.enter_context(plain_line(server.config))
        for _ in range(100):
            stack.enter_context(contextlib.closing(tls_line(server.config)))
        for _ in range(300):
            with plain_line(server.config) as line:
                line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # RST instead of FIN
        rounds = others.rounds
        eventually(lambda: others.rounds > rounds + 5 or not others.is_alive(), lambda: "no client is served any more")


def test_a_watch_whose_reader_has_gone_is_ended(server: ServerProcess) -> None:
    before = len(os.listdir(f"/proc/{server.pid}/fd"))
    for _ in range(100):
        with wire(server.config) as line:
            line.send(line.request("GET", f"{MAPS}?watch=true"))
    with ordinary_life(server):
        eventually(
            lambda: len(os.listdir(f"/proc/{server.pid}/fd")) <= before + 3,
            lambda: "connections without a client are kept",
        )
