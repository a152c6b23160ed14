"""Connections to one server, kept for the next request; requests that go out over them."""

import asyncio
import contextlib
import os
import re
import socket
import ssl
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import NamedTuple
from urllib.parse import quote, urlsplit

from understudy import __version__
from understudy.client.config import BadConfig, Config
from understudy.client.connection import Connection
from understudy.ports import Unreachable

KEPT_IDLE = 60.0  # seconds; middle boxes forget connections that are older
TOKEN_AGE = 30.0  # seconds after which a token file is looked at again
KNOCK = 0.02  # seconds between the first two attempts to connect
_UNSAFE = re.compile(r"[^!-~]")

Gate = Callable[[], None]  # asked before every request that changes something; raises where it must not go out


class Answer(NamedTuple):
    status: int
    body: bytes
    retry_after: float = 0.0  # seconds for which the server wants to be left alone


class NobodyHome(Unreachable):
    """There was no connection, so nothing was asked."""


class Pool:
    def __init__(self, config: Config, gate: Gate | None = None) -> None:
        url = urlsplit(config.server)
        self._host = url.hostname or ""
        self._port = url.port or (443 if url.scheme == "https" else 80)
        self._prefix = url.path
        self._ssl = _context(config) if url.scheme == "https" else None
        self._server_name = (config.server_name or self._host) if self._ssl else None
        self._head = f" HTTP/1.1\r\nHost: {url.netloc.rpartition('@')[2]}\r\nUser-Agent: understudy/{__version__}\r\n"
        self._credentials = _Credentials(config)
        self._timeout = config.timeout
        self._write_timeout = config.write_timeout or config.timeout
        self._gate = gate
        self._patience = config.patience
        self._turns = asyncio.Semaphore(config.connections)
        self._idle: list[Connection] = []
        self._open: set[Connection] = set()
        self._closing = asyncio.Event()

    async def fetch(self, method: str, path: str, body: bytes = b"", content_type: str = "") -> Answer:
        """One request and its whole answer, whatever its status; raises Unreachable where there is none."""
        timeout = self._timeout if method == "GET" else self._write_timeout
        async with self._turns:
            if self._gate is not None and method != "GET":
                self._gate()
            try:
                async with asyncio.timeout(timeout):
                    return await self._fetch(method, self._request(method, path, body, content_type))
            except TimeoutError:
                raise Unreachable(f"{method} {path}: no answer within {timeout:g} s") from None

    async def _fetch(self, method: str, request: bytes) -> Answer:
        """A kept connection may have been closed by the server just now. Whether it did what it was asked then is
        not known, so only what changes nothing is asked again."""
        kept = self._kept()
        if kept is not None:
            try:
                return await self._over(kept, request)
            except Unreachable:
                if kept.answered or method != "GET":
                    raise
        return await self._over(await self._connect(), request)

    async def _over(self, connection: Connection, request: bytes) -> Answer:
        try:
            body = await connection.fetch(request)
        except BaseException:
            connection.close()
            raise
        if connection.reusable and not self._closing.is_set():
            connection.idle_since = asyncio.get_running_loop().time()
            self._idle.append(connection)
        else:
            connection.close()
        return Answer(connection.status, body, connection.retry_after)

    @asynccontextmanager
    async def stream(self, path: str, longest: float | None = None) -> AsyncIterator[tuple[int, AsyncIterator[bytes]]]:
        """A GET whose answer goes on for as long as both sides like: its status and the pieces of its body. After
        `longest` seconds it counts as lost."""
        try:
            async with asyncio.timeout(self._timeout):
                connection = await self._connect()
                try:
                    await connection.open(self._request("GET", path, b"", ""))
                except BaseException:
                    connection.close()
                    raise
        except TimeoutError:
            raise Unreachable(f"GET {path}: no answer within {self._timeout:g} s") from None
        end = asyncio.get_running_loop().call_later(longest, connection.close) if longest else None
        try:
            yield connection.status, connection.pieces()
        finally:
            if end is not None:
                end.cancel()
            connection.close()

    async def dial(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection for whoever speaks something else than requests and answers; he closes it."""
        try:
            async with asyncio.timeout(self._timeout):
                return await asyncio.open_connection(
                    self._host, self._port, ssl=self._ssl, server_hostname=self._server_name
                )
        except TimeoutError:
            raise Unreachable(f"{self._host}:{self._port}: no answer within {self._timeout:g} s") from None
        except (OSError, ssl.CertificateError) as error:
            raise self._unreachable(error) from None

    def address(self, path: str) -> tuple[str, str, str]:
        """Host, target and the value of Authorization with which to ask for this path on a connection of one's own."""
        token = self._credentials.header().removeprefix("Authorization: ").rstrip()
        return f"{self._host}:{self._port}", self._prefix + path, token

    async def close(self) -> None:
        self._closing.set()
        for connection in self._open:
            connection.close()
        await asyncio.gather(*(connection.closed for connection in self._open))

    def _kept(self) -> Connection | None:
        oldest = asyncio.get_running_loop().time() - KEPT_IDLE
        while self._idle:
            connection = self._idle.pop()
            if connection.reusable and connection.idle_since > oldest:
                return connection
            connection.close()
        return None

    async def _connect(self) -> Connection:
        """Where nobody listens nothing was sent either, so any request may try again."""
        loop = asyncio.get_running_loop()
        deadline, pause = loop.time() + self._patience, KNOCK
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
        _, connection = await asyncio.get_running_loop().create_connection(
            Connection, self._host, self._port, ssl=self._ssl, server_hostname=self._server_name
        )
        if self._closing.is_set():  # while it was being made
            connection.close()
        self._open.add(connection)
        connection.closed.add_done_callback(lambda _: self._open.discard(connection))
        return connection

    def _unreachable(self, error: Exception) -> Unreachable:
        return NobodyHome(f"{self._host}:{self._port}: {_said(error)}")

    def _request(self, method: str, path: str, body: bytes, content_type: str) -> bytes:
        if _UNSAFE.search(path):
            path = quote(path, safe="!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
        head = f"{method} {self._prefix}{path}{self._head}{self._credentials.header()}Accept: application/json\r\n"
        if body or method in ("POST", "PUT", "PATCH"):
            head += f"Content-Type: {content_type}\r\nContent-Length: {len(body)}\r\n"
        return head.encode("latin-1") + b"\r\n" + body


class _Credentials:
    """The header that says who asks. A token file is looked at again from time to time: tokens are replaced."""

    def __init__(self, config: Config) -> None:
        self._file = config.token_file
        self._header = _bearer(config.token)
        self._stale_at = 0.0

    def header(self) -> str:
        if self._file and (now := asyncio.get_running_loop().time()) >= self._stale_at:
            try:
                with open(self._file) as file:
                    self._header = _bearer(file.read().strip())
            except OSError as error:
                raise Unreachable(f"{self._file}: the token cannot be read: {error.strerror}") from None
            self._stale_at = now + TOKEN_AGE
        return self._header


def _bearer(token: str) -> str:
    if _UNSAFE.search(token):
        raise BadConfig("the token has characters that no header may have")
    return f"Authorization: Bearer {token}\r\n" if token else ""


def _context(config: Config) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cadata=config.authority or None)
        if config.insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if config.certificate:
            with _file(config.certificate + "\n" + config.key) as path:
                context.load_cert_chain(path)
    except (ssl.SSLError, ValueError) as error:
        raise BadConfig(f"{config.server}: the certificates cannot be used: {_said(error)}") from None
    return context


@contextlib.contextmanager
def _file(pem: str) -> Iterator[str]:
    """OpenSSL reads client certificates from files only."""
    descriptor, path = tempfile.mkstemp()
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(pem)
        yield path
    finally:
        os.unlink(path)


def _said(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {error.verify_message}"
    if isinstance(error, OSError) and error.errno and not isinstance(error, ssl.SSLError | socket.gaierror):
        return os.strerror(error.errno).lower()
    return str(error)
