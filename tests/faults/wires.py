"""One TLS connection to a server, spoken byte for byte: for requests that no client library would send."""

import contextlib
import http.client
import io
import socket
import ssl
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, cast
from urllib.parse import urlsplit

import msgspec

from understudy.client import Config

TIMEOUT = 90.0  # seconds; the machine may be busy with other things


class Reply(msgspec.Struct, frozen=True):
    status: int
    headers: Mapping[str, str]  # with names in lower case
    body: bytes

    @property
    def document(self) -> Any:
        return msgspec.json.decode(self.body)

    @property
    def told(self) -> tuple[int, str]:
        """Code and reason, as the Status in the body says them too."""
        document = self.document
        assert (document["kind"], document["status"], document["code"]) == ("Status", "Failure", self.status)
        return self.status, document["reason"]


class _Received(io.RawIOBase):
    """What comes over a line."""

    def __init__(self, line: ssl.SSLSocket) -> None:
        self._line = line

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._line.recv_into(buffer)


class _Stream(io.BufferedReader):
    """Answers in a row: to be through with one does not close it."""

    def makefile(self, _: str) -> "_Stream":
        return self

    def close(self) -> None:
        pass


class Wire:
    def __init__(self, config: Config, line: ssl.SSLSocket) -> None:
        self.line = line
        self.stream = _Stream(_Received(line))
        self._authorization = f"Bearer {config.token}"
        self._host = urlsplit(config.server).netloc

    def ask(self, method: str, path: str, body: bytes = b"", **headers: str) -> Reply:
        self.send(self.request(method, path, body, **headers))
        return self.reply(method)

    def request(self, method: str, path: str, body: bytes = b"", **headers: str) -> bytes:
        """Underscores in the names of headers are dashes. An empty value leaves a header out."""
        told = {"Host": self._host, "Authorization": self._authorization}
        if body:
            told |= {"Content-Type": "application/json", "Content-Length": str(len(body))}
        told |= {name.replace("_", "-"): value for name, value in headers.items()}
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in told.items() if value)]
        return "\r\n".join([*lines, "", ""]).encode("utf-8", "surrogateescape") + body

    def send(self, data: bytes) -> None:
        self.line.sendall(data)

    def reply(self, method: str = "GET") -> Reply:
        response = http.client.HTTPResponse(cast(Any, self.stream), method=method)
        response.begin()
        headers = {name.lower(): value for name, value in response.getheaders()}
        return Reply(response.status, headers, response.read())

    def is_closed(self) -> bool:
        """Waits until the server has hung up, or has said something more."""
        try:
            return self.stream.read(1) == b""
        except (ConnectionError, ssl.SSLError):
            return True


@contextlib.contextmanager
def wire(config: Config) -> Iterator[Wire]:
    with contextlib.closing(tls_line(config)) as line:
        yield Wire(config, line)


def asked(config: Config, method: str, path: str, body: bytes = b"", **headers: str) -> Reply:
    """One request on a connection of its own."""
    with wire(config) as line:
        return line.ask(method, path, body, **headers)


def plain_line(config: Config) -> socket.socket:
    url = urlsplit(config.server)
    line = socket.create_connection((url.hostname, url.port or 443), timeout=TIMEOUT)
    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return line


def tls_line(config: Config) -> ssl.SSLSocket:
    plain = plain_line(config)
    try:
        return _context(config.authority).wrap_socket(plain, server_hostname=urlsplit(config.server).hostname)
    except BaseException:
        plain.close()
        raise


@lru_cache(maxsize=8)
def _context(authority: str) -> ssl.SSLContext:
    return ssl.create_default_context(cadata=authority)
