"""The small server behind the probes: it answers what it knows, and nothing that is sent to it does any harm."""

import asyncio
from http import HTTPStatus

import pytest

from understudy.kube import probe_server
from understudy.kube.probe_server import LONGEST_HEAD, Reply, served


def broken() -> Reply:
    raise RuntimeError("out of order")


PAGES = {
    "/healthz": lambda: Reply(HTTPStatus.OK, "ok\n"),
    "/readyz": lambda: Reply(HTTPStatus.SERVICE_UNAVAILABLE, "blind\n"),
    "/broken": broken,
}


def asked(request: bytes) -> tuple[int, str, str]:
    """Status, head and body of the answer."""

    async def ask() -> bytes:
        async with served(PAGES, "127.0.0.1", 0) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(request)
            found = await reader.read()
            writer.close()
            return found

    head, _, body = asyncio.run(ask()).decode().partition("\r\n\r\n")
    return int(head.split(" ")[1]), head, body


@pytest.mark.parametrize(
    ("line", "status", "body"),
    [
        ("GET /healthz HTTP/1.1", 200, "ok\n"),
        ("GET /healthz?verbose HTTP/1.0", 200, "ok\n"),
        ("GET /readyz HTTP/1.1", 503, "blind\n"),
        ("GET /broken HTTP/1.1", 503, "internal error; the log has it\n"),
        ("GET / HTTP/1.1", 404, "there are /broken, /healthz, /readyz\n"),
        ("POST /healthz HTTP/1.1", 405, "only GET\n"),
        ("HEAD /healthz HTTP/1.1", 200, ""),
        ("GET /healthz", 400, "expected HTTP/1.1\n"),
        ("\x00\xff nonsense", 400, "expected HTTP/1.1\n"),
    ],
)
def test_what_is_answered(line: str, status: int, body: str) -> None:
    code, head, found = asked(f"{line}\r\nHost: x\r\n\r\n".encode("latin-1"))
    assert (code, found) == (status, body)
    assert f"Content-Length: {len(body)}" in head


def test_a_head_that_does_not_end_is_not_read_to_its_end() -> None:
    assert asked(b"GET /healthz HTTP/1.1\r\n" + b"X: y\r\n" * LONGEST_HEAD)[0] == 400


def test_who_says_nothing_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe_server, "PATIENCE", 0.05)

    async def ask() -> bytes:
        async with served(PAGES, "127.0.0.1", 0) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            found = await reader.read()
            writer.close()
            return found

    assert asyncio.run(ask()) == b""
