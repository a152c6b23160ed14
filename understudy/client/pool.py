"""A pool of connections to one API server, and the requests that are sent over them."""

import asyncio
import re
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

from understudy import __version__
from understudy.client.config import Config
from understudy.client.connection import Connection
from understudy.client.credentials.identity import Identity, impersonation_headers
from understudy.client.credentials.provider import credentials_of
from understudy.client.tls import context_of, error_text
from understudy.ports import Unreachable

LONGEST_IDLE = 60.0  # seconds; firewalls and load balancers drop connections that are idle for longer
FIRST_CONNECT_PAUSE = 0.02  # seconds between the first two attempts to connect
CLOSE_SECONDS = 1.0  # seconds that connection attempts get to finish when the client is closed
SHORTEST_HEAD_TIMEOUT = 5.0  # seconds that the head of a stream may always take, however short the limit for silence is
_UNSAFE = re.compile(r"[^!-~]")

WriteGate = Callable[[], None]  # called before every request that changes something; raises if it must not be sent


class Response(NamedTuple):
    status: int
    body: bytes
    retry_after: float = 0.0  # seconds that the server asks the client to wait


class NotSent(Unreachable):
    """No request was sent: there was no connection, or no credentials."""


class StreamSilent(Unreachable):
    """A stream was silent for so long that its connection counts as lost."""


class ConnectionPool:
    def __init__(self, config: Config, gate: WriteGate | None = None) -> None:
        url = urlsplit(config.server)
        self._config = config
        self._host = url.hostname or ""
        self._port = url.port or (443 if url.scheme == "https" else 80)
        self._prefix = url.path
        self._credentials = credentials_of(config)
        self._proof = Identity(certificate=config.certificate, key=config.key)  # with which new connections are made
        self._ssl = context_of(config, config.certificate, config.key) if url.scheme == "https" else None
        self._server_name = (config.server_name or self._host) if self._ssl else None
        self._extra = impersonation_headers(config.impersonation)
        self._head = f" HTTP/1.1\r\nHost: {url.netloc.rpartition('@')[2]}\r\nUser-Agent: understudy/{__version__}\r\n"
        self._head += "".join(f"{name}: {value}\r\n" for name, value in self._extra)
        self._timeout = config.timeout
        self._write_timeout = config.write_timeout or config.timeout
        self._gate = gate
        self._connect_retry = config.connect_retry
        self._turns = asyncio.Semaphore(config.connections)
        self._idle: list[Connection] = []
        self._open: set[Connection] = set()
        self._making: set[asyncio.Task[Connection]] = set()
        self._closing = asyncio.Event()

    async def fetch(self, method: str, path: str, body: bytes = b"", content_type: str = "") -> Response:
        """Sends one request and returns the response with any status. Raises Unreachable if there is no response."""
        identity = self._credentials.kept() or await self._identity()
        answer = await self._fetch_as(identity, method, path, body, content_type)
        if answer.status == HTTPStatus.UNAUTHORIZED and (other := await self._other(identity)) is not None:
            return await self._fetch_as(other, method, path, body, content_type)
        return answer

    async def _fetch_as(self, identity: Identity, method: str, path: str, body: bytes, content_type: str) -> Response:
        timeout = self._timeout if method == "GET" else self._write_timeout
        async with self._turns:
            self._pass_gate(method)  # also checked before sending; here it saves a useless connection
            try:
                async with asyncio.timeout(timeout):
                    return await self._fetch(method, self._request(identity, method, path, body, content_type))
            except TimeoutError:
                raise Unreachable(f"{method} {path}: no answer within {timeout:g} s") from None

    async def _fetch(self, method: str, request: bytes) -> Response:
        """The server may close an idle connection at the moment of the request. Whether it carried the request out is
        then unknown, so only a read is sent again."""
        kept = self._kept()
        if kept is not None:
            try:
                return await self._over(kept, method, request)
            except Unreachable:
                if kept.answered or method != "GET":
                    raise
        return await self._over(await self._connect(), method, request)

    def _pass_gate(self, method: str) -> None:
        if self._gate is not None and method != "GET":
            self._gate()

    async def _over(self, connection: Connection, method: str, request: bytes) -> Response:
        """There is no await between the gate and the first byte. So a process that was stopped while it connected, and
        continues when another replica leads, does not send its write."""
        try:
            self._pass_gate(method)
            body = await connection.fetch(request)
        except BaseException:
            connection.close()
            raise
        if connection.reusable and not self._closing.is_set():
            connection.idle_since = asyncio.get_running_loop().time()
            self._idle.append(connection)
        else:
            connection.close()
        return Response(connection.status, body, connection.retry_after)

    @asynccontextmanager
    async def stream(
        self, path: str, longest: float | None = None, silence: float | None = None
    ) -> AsyncIterator[tuple[int, AsyncIterator[bytes]]]:
        """A GET with an open-ended response: its status and the pieces of its body. After `longest` seconds in all, or
        `silence` seconds without data, the connection counts as lost."""
        identity = self._credentials.kept() or await self._identity()
        within = min(self._timeout, max(silence, SHORTEST_HEAD_TIMEOUT)) if silence else self._timeout
        connection = await self._opened(identity, path, within)
        if connection.status == HTTPStatus.UNAUTHORIZED and (other := await self._other(identity)) is not None:
            connection.close()
            connection = await self._opened(other, path, within)
        end = asyncio.get_running_loop().call_later(longest, connection.close) if longest else None
        timer = _SilenceTimer(connection, silence) if silence else None
        try:
            yield connection.status, connection.pieces()
        finally:
            if end is not None:
                end.cancel()
            if timer is not None:
                timer.cancel()
            connection.close()

    async def _opened(self, identity: Identity, path: str, within: float) -> Connection:
        try:
            async with asyncio.timeout(within):
                request = self._request(identity, "GET", path, b"", "")
                connection = await self._connect()
                try:
                    await connection.open(request)
                except BaseException:
                    connection.close()
                    raise
                return connection
        except TimeoutError:
            raise Unreachable(f"GET {path}: no answer within {within:g} s") from None

    async def dial(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A raw connection for another protocol, such as WebSocket. The caller closes it."""
        try:
            async with asyncio.timeout(self._timeout):
                where = await self._where()
                return await asyncio.open_connection(**where, ssl=self._ssl, server_hostname=self._server_name)
        except TimeoutError:
            raise Unreachable(f"{self._host}:{self._port}: no answer within {self._timeout:g} s") from None
        except (OSError, ssl.CertificateError) as error:
            raise self._unreachable(error) from None

    async def address(self, path: str) -> tuple[str, str, list[tuple[str, str]]]:
        """Host, target and headers of a request for this path on a connection from `dial`."""
        identity = self._credentials.kept() or await self._identity()
        self._prove(identity)
        token = [("Authorization", f"Bearer {identity.token}")] if identity.token else []
        return f"{self._host}:{self._port}", self._prefix + path, [*token, *self._extra]

    async def close(self) -> None:
        self._closing.set()
        if self._making:
            _, late = await asyncio.wait(self._making, timeout=CLOSE_SECONDS)
            for making in late:
                making.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        for connection in self._open:
            connection.close()
        await asyncio.gather(*(connection.closed for connection in self._open))

    def _kept(self) -> Connection | None:
        oldest = asyncio.get_running_loop().time() - LONGEST_IDLE
        while self._idle:
            connection = self._idle.pop()
            if connection.reusable and connection.idle_since > oldest:
                return connection
            connection.close()
        return None

    async def _connect(self) -> Connection:
        """Retries while connections are refused: nothing has been sent yet, so this is safe for every request."""
        loop = asyncio.get_running_loop()
        deadline, pause = loop.time() + self._connect_retry, FIRST_CONNECT_PAUSE
        while True:
            try:
                return await self._connect_once()
            except ConnectionRefusedError as error:
                if loop.time() + pause > deadline:
                    raise self._unreachable(error) from None
            except (OSError, ssl.CertificateError) as error:
                raise self._unreachable(error) from None
            await asyncio.sleep(pause)
            pause *= 1.25

    async def _connect_once(self) -> Connection:
        if self._closing.is_set():
            raise Unreachable("the client is closed")
        making = asyncio.create_task(self._made())
        self._making.add(making)
        making.add_done_callback(self._making.discard)
        try:
            return await asyncio.shield(making)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if making.cancelled() and not (task and task.cancelling()):
                raise Unreachable("the client is closed") from None
            making.add_done_callback(_close_unwanted)
            raise

    async def _made(self) -> Connection:
        """Must not be cancelled during the handshake: asyncio would lose the socket without closing it."""
        where = await self._where()
        _, connection = await asyncio.get_running_loop().create_connection(
            Connection, **where, ssl=self._ssl, server_hostname=self._server_name
        )
        if self._closing.is_set():  # while it was being made
            connection.close()
        self._open.add(connection)
        connection.closed.add_done_callback(lambda _: self._open.discard(connection))
        return connection

    async def _identity(self) -> Identity:
        try:
            return await self._credentials.current()
        except Unreachable as error:
            raise NotSent(str(error)) from None

    async def _other(self, refused: Identity) -> Identity | None:
        try:
            return await self._credentials.instead_of(refused)
        except Unreachable as error:
            raise NotSent(str(error)) from None

    async def _where(self) -> dict[str, Any]:
        if not self._config.proxy:
            return {"host": self._host, "port": self._port}
        from understudy.client.proxy import connect_through_proxy

        return {"sock": await connect_through_proxy(self._config.proxy, self._host, self._port)}

    def _prove(self, identity: Identity) -> None:
        """Makes new connections with the certificate of this identity, and closes idle ones made with another."""
        if self._ssl is None or (identity.certificate, identity.key) == (self._proof.certificate, self._proof.key):
            return
        self._ssl = context_of(self._config, identity.certificate, identity.key)
        self._proof = identity
        while self._idle:
            self._idle.pop().close()

    def _unreachable(self, error: Exception) -> Unreachable:
        return NotSent(f"{self._host}:{self._port}: {error_text(error)}")

    def _request(self, identity: Identity, method: str, path: str, body: bytes, content_type: str) -> bytes:
        self._prove(identity)
        if _UNSAFE.search(path):
            path = quote(path, safe="!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
        head = f"{method} {self._prefix}{path}{self._head}{identity.header()}Accept: application/json\r\n"
        if body or method in ("POST", "PUT", "PATCH"):
            head += f"Content-Type: {content_type}\r\nContent-Length: {len(body)}\r\n"
        return head.encode("latin-1") + b"\r\n" + body


def _close_unwanted(making: "asyncio.Task[Connection]") -> None:
    """Closes a connection whose request was cancelled while it was made."""
    if not making.cancelled() and making.exception() is None:
        making.result().close()


class _SilenceTimer:
    """Closes a connection that has been silent for too long. One timer a period, whatever arrives in between."""

    def __init__(self, connection: Connection, silence: float) -> None:
        self._connection = connection
        self._silence = silence
        self._timer = asyncio.get_running_loop().call_later(silence, self._listen)

    def _listen(self) -> None:
        loop = asyncio.get_running_loop()
        left = self._connection.heard_at + self._silence - loop.time()
        if left <= 0:
            self._connection.close(StreamSilent(f"nothing was heard for {self._silence:g} s"))
        else:
            self._timer = loop.call_later(left, self._listen)

    def cancel(self) -> None:
        self._timer.cancel()
