"""The server process: TLS, slow and invalid requests, signals."""

import asyncio
import contextlib
import datetime
import json
import signal
import socket
import ssl
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
import wsproto
from wsproto.events import AcceptConnection, BytesMessage, CloseConnection, Message, Request

from tests.embedded.server.in_process_server import CONFIG_MAPS, PODS, config_map, pod
from tests.embedded.server.subresources.test_pod_exec import Door, serve_door
from understudy.embedded.agent_protocol import STDOUT, Accepted, Ended
from understudy.embedded.cluster_folder import ClusterFolder
from understudy.embedded.clusters.certificates import identity
from understudy.embedded.server import process
from understudy.embedded.server.http import connection

HEADERS = b"Host: localhost\r\nAuthorization: Bearer secret\r\n"


def cluster(path: Path) -> ClusterFolder:
    folder = ClusterFolder(path)
    made = identity("test", ["localhost", "127.0.0.1"], datetime.datetime.now(datetime.UTC))
    folder.authority.write_bytes(made.authority)
    folder.certificate.write_bytes(made.certificate)
    folder.private_key.write_bytes(made.key)
    folder.tokens.write_text("secret,admin,system:masters\n")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        settings = {"name": "test", "address": "127.0.0.1", "port": free.getsockname()[1], "runtime": "process"}
    folder.settings.write_text(json.dumps(settings))
    return folder


class Client:
    """One connection, spoken to in bytes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def ask(self, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
        head = f"{method} {path} HTTP/1.1\r\nContent-Length: {len(body)}\r\n".encode()
        self.writer.write(head + HEADERS + b"\r\n" + body)
        return await self.answer()

    async def answer(self) -> tuple[int, bytes]:
        code, headers = await self.head()
        length = next(int(value) for name, value in headers if name == "content-length")
        return code, await self.reader.readexactly(length)

    async def head(self) -> tuple[int, list[tuple[str, str]]]:
        first, *rest = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")[:-2]
        pairs = [line.lower().split(": ", 1) for line in rest]
        return int(first.split()[1]), [(name, value) for name, value in pairs]

    async def chunk(self) -> bytes:
        size = int(await self.reader.readline(), 16)
        return (await self.reader.readexactly(size + 2))[:-2]

    async def ended(self) -> bool:
        """Whether the server hangs up without another word."""
        return await asyncio.wait_for(self.reader.read(), 10) == b""


@contextlib.asynccontextmanager
async def connected(folder: ClusterFolder) -> AsyncIterator[Client]:
    context = ssl.create_default_context(cafile=str(folder.authority))
    port = json.loads(folder.settings.read_text())["port"]
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", port, ssl=context, server_hostname="localhost", limit=1 << 22
    )
    try:
        yield Client(reader, writer)
    finally:
        writer.close()
        with contextlib.suppress(OSError, ssl.SSLError):
            await writer.wait_closed()


@contextlib.asynccontextmanager
async def running(folder: ClusterFolder) -> AsyncIterator[None]:
    stop, ready = asyncio.Event(), asyncio.Event()
    task = asyncio.create_task(process.serve(folder, stop, lambda _: ready.set()))
    try:
        await asyncio.wait_for(ready.wait(), 10)
        yield
    finally:
        stop.set()
        await asyncio.wait_for(task, 10)


def test_objects_are_created_read_and_watched_over_tls(tmp_path: Path) -> None:
    async def scenario() -> None:
        folder = cluster(tmp_path)
        async with running(folder), connected(folder) as client, connected(folder) as watcher:
            watcher.writer.write(b"GET " + f"{CONFIG_MAPS}?watch=true".encode() + b" HTTP/1.1\r\n" + HEADERS + b"\r\n")
            code, headers = await watcher.head()
            assert (code, dict(headers)["transfer-encoding"]) == (200, "chunked")
            code, made = await client.ask("POST", CONFIG_MAPS, msgspec.json.encode(config_map("one")))
            assert code == 201
            assert await client.ask("GET", f"{CONFIG_MAPS}/one") == (200, made)
            event = await watcher.chunk()
            assert event == b'{"type":"ADDED","object":' + made + b"}\n"

    asyncio.run(scenario())


def test_a_connection_without_tls_gets_no_answer(tmp_path: Path) -> None:
    async def scenario() -> None:
        folder = cluster(tmp_path)
        async with running(folder):
            port = json.loads(folder.settings.read_text())["port"]
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET /version HTTP/1.1\r\n" + HEADERS + b"\r\n")
            assert b"HTTP" not in await reader.read()
            writer.close()
            await writer.wait_closed()

    asyncio.run(scenario())


def test_a_restart_keeps_the_port_and_all_acknowledged_writes(tmp_path: Path) -> None:
    async def scenario() -> None:
        folder = cluster(tmp_path)
        async with running(folder), connected(folder) as client:
            _, made = await client.ask("POST", CONFIG_MAPS, msgspec.json.encode(config_map("one")))
        async with running(folder), connected(folder) as client:
            assert await client.ask("GET", f"{CONFIG_MAPS}/one") == (200, made)

    asyncio.run(scenario())


def test_stopping_ends_watches_cleanly(tmp_path: Path) -> None:
    async def scenario() -> None:
        folder = cluster(tmp_path)
        async with contextlib.AsyncExitStack() as stack:
            server = await stack.enter_async_context(contextlib.AsyncExitStack())
            await server.enter_async_context(running(folder))
            watcher = await stack.enter_async_context(connected(folder))
            watcher.writer.write(b"GET " + f"{PODS}?watch=true".encode() + b" HTTP/1.1\r\n" + HEADERS + b"\r\n")
            await watcher.head()
            async with asyncio.timeout(process.SHUTDOWN_SECONDS + 3):
                closing = asyncio.create_task(server.aclose())
                assert await watcher.reader.readline() == b"0\r\n"  # the last chunk
                watcher.writer.close()
                await closing

    asyncio.run(scenario())


def test_ten_megabytes_are_refused_and_the_server_goes_on(tmp_path: Path) -> None:
    async def scenario() -> None:
        folder = cluster(tmp_path)
        async with running(folder):
            async with connected(folder) as rude:
                code, body = await rude.ask("POST", PODS, b" " * (10 * 1024 * 1024))
                assert (code, json.loads(body)["reason"]) == (413, "RequestEntityTooLarge")
                assert (await rude.ask("GET", "/version"))[0] == 200
            async with connected(folder) as client:
                assert (await client.ask("POST", PODS, msgspec.json.encode(pod("one"))))[0] == 201

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET /version HTTP/1.1\r\nHo",
        b"POST /api/v1/namespaces/default/pods HTTP/1.1\r\nContent-Length: 100\r\n" + HEADERS + b"\r\n{",
    ],
    ids=["nothing", "half a head", "half a body"],
)
def test_a_request_that_arrives_too_slowly_loses_its_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setattr(connection, "REQUEST_SECONDS", 0.1)

    async def scenario() -> None:
        folder = cluster(tmp_path)
        async with running(folder), connected(folder) as slow:
            slow.writer.write(sent)
            assert await slow.ended()

    asyncio.run(scenario())


def test_an_idle_connection_between_requests_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "REQUEST_SECONDS", 0.1)

    async def scenario() -> None:
        folder = cluster(tmp_path)
        async with running(folder), connected(folder) as client:
            assert (await client.ask("GET", "/version"))[0] == 200
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(client.reader.read(1), 0.3)
            assert (await client.ask("GET", "/version"))[0] == 200

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "sent",
    [
        b"GET /" + b"a" * 200_000,
        b"GET / HTTP/1.1\r\n" + b"x: y\r\n" * 50_000,
        b"GET / HTTP/1.1\r\nx: " + b"y" * 200_000,
        b"\x00\x01\x02\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
    ],
    ids=["long path", "many headers", "long header", "noise", "another protocol"],
)
def test_heads_that_are_too_long_or_invalid_are_refused(tmp_path: Path, sent: bytes) -> None:
    async def scenario() -> None:
        folder = cluster(tmp_path)
        async with running(folder):
            async with connected(folder) as rude:
                rude.writer.write(sent)
                with contextlib.suppress(OSError):
                    answer = await asyncio.wait_for(rude.reader.read(), 10)
                    assert answer == b"" or answer.startswith(b"HTTP/1.1 400 ")
            async with connected(folder) as client:
                assert (await client.ask("GET", "/version"))[0] == 200

    asyncio.run(scenario())


def test_requests_in_one_piece_are_answered_in_order(tmp_path: Path) -> None:
    async def scenario() -> None:
        folder = cluster(tmp_path)
        async with running(folder), connected(folder) as client:
            client.writer.write(
                b"".join(b"GET " + path + b" HTTP/1.1\r\n" + HEADERS + b"\r\n" for path in (b"/version", b"/healthz"))
            )
            assert json.loads((await client.answer())[1])["major"] == "1"
            assert await client.answer() == (200, b"ok")

    asyncio.run(scenario())


def test_a_command_over_a_real_websocket(tmp_path: Path) -> None:
    async def echo(door: Door) -> None:
        await door.say(Accepted())
        _, data = await door.read()
        await door.write(STDOUT, data)
        await door.say(Ended(0))

    async def scenario() -> None:
        folder = cluster(tmp_path)
        async with running(folder), serve_door(folder.agent_socket, echo), connected(folder) as client:
            await client.ask("POST", PODS, msgspec.json.encode(pod("one")))
            socket = wsproto.WSConnection(wsproto.ConnectionType.CLIENT)
            target = f"{PODS}/one/exec?command=cat&stdin=true&stdout=true"
            extra = [(b"Authorization", b"Bearer secret")]
            request = Request(host="localhost", target=target, subprotocols=["v4.channel.k8s.io"], extra_headers=extra)
            client.writer.write(socket.send(request))
            client.writer.write(b"")
            said: list[bytes] = []
            while not said or said[-1][0] != 3:
                socket.receive_data(await asyncio.wait_for(client.reader.read(65536), 10))
                for event in socket.events():
                    match event:
                        case AcceptConnection(subprotocol=chosen):
                            assert chosen == "v4.channel.k8s.io"
                            client.writer.write(socket.send(Message(data=b"\x00hello")))
                        case BytesMessage(data=data):
                            said.append(bytes(data))
                        case CloseConnection(code=code):
                            assert code == 1000
            assert said[0] == b"\x01hello"
            assert json.loads(said[-1][1:])["status"] == "Success"

    asyncio.run(scenario())


async def start(folder: ClusterFolder) -> asyncio.subprocess.Process:
    code = "import sys; from pathlib import Path; from understudy.embedded.cluster_folder import ClusterFolder; "
    code += "from understudy.embedded.server.process import run; run(ClusterFolder(Path(sys.argv[1])))"
    return await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, str(folder.path), stderr=asyncio.subprocess.PIPE
    )


def test_the_process_ends_on_sigterm_and_logs_little(tmp_path: Path) -> None:
    async def scenario() -> None:
        folder = cluster(tmp_path)
        process = await start(folder)
        assert process.stderr is not None
        said = await asyncio.wait_for(process.stderr.readline(), 20)
        assert b"ready on 127.0.0.1 port" in said
        async with connected(folder) as client:
            assert (await client.ask("POST", CONFIG_MAPS, msgspec.json.encode(config_map("one"))))[0] == 201
            process.send_signal(signal.SIGTERM)
            assert await asyncio.wait_for(process.wait(), 10) == 0
        assert await process.stderr.read() == b""

    asyncio.run(scenario())


def test_a_port_in_use_is_reported_in_one_line(tmp_path: Path) -> None:
    async def scenario() -> None:
        folder = cluster(tmp_path)
        with socket.socket() as taken:
            port = json.loads(folder.settings.read_text())["port"]
            taken.bind(("127.0.0.1", port))
            taken.listen()
            process = await start(folder)
            _, said = await asyncio.wait_for(process.communicate(), 20)
        assert process.returncode == 1
        assert said.count(b"\n") == 1
        assert f"INFO port {port} is taken by another program".encode() in said

    asyncio.run(scenario())
