"""Responses: bytes with a status code, or a stream of bytes; errors as Kubernetes' Status."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from http import HTTPStatus
from typing import TypeVar

import msgspec

from understudy.embedded.schema.errors import ApiError, Cause, Details
from understudy.embedded.server.http.request import Receive, Send

JSON = b"application/json"
TEXT = b"text/plain; charset=utf-8"
Headers = tuple[tuple[bytes, bytes], ...]


class Response(msgspec.Struct, frozen=True, gc=False):
    body: bytes
    code: int = 200
    content_type: bytes = JSON
    headers: Headers = ()


class StreamedResponse(msgspec.Struct, frozen=True):
    """Pieces are sent as they come, until they end, the client disconnects or the time is up."""

    pieces: AsyncIterator[bytes]
    content_type: bytes = JSON
    seconds: float | None = None
    headers: Headers = ()


class _Status(msgspec.Struct, frozen=True, omit_defaults=True):
    status: str
    message: str = ""
    reason: str = ""
    details: Details | None = None
    code: int = 0


_encode = msgspec.json.Encoder().encode
_STATUS_HEAD = b'{"kind":"Status","apiVersion":"v1","metadata":{},'
_LONGEST_MESSAGE = 64 * 1024  # characters; a message may quote the request
_MOST_WARNINGS = 20


def status_document(error: ApiError) -> bytes:
    status = _Status("Failure", error.message[:_LONGEST_MESSAGE], error.reason, error.details, error.code)
    return _STATUS_HEAD + _encode(status)[1:]


def refusal(error: ApiError) -> Response:
    headers: Headers = ()
    if error.code == HTTPStatus.UNAUTHORIZED:
        headers = ((b"www-authenticate", b"Bearer"),)
    elif error.details is not None and error.details.retry_after_seconds:
        headers = ((b"retry-after", str(error.details.retry_after_seconds).encode()),)
    return Response(status_document(error), error.code, headers=headers)


def exit_status(code: int) -> bytes:
    """The exit code of a command, for the error channel of exec."""
    if code == 0:
        return _STATUS_HEAD + b'"status":"Success"}'
    cause = Details(causes=(Cause("ExitCode", str(code)),))
    message = f"command terminated with non-zero exit code: exit status {code}"
    return _STATUS_HEAD + _encode(_Status("Failure", message, "NonZeroExitCode", cause))[1:]


def success(details: Details | None = None, code: int = 200) -> Response:
    return Response(_STATUS_HEAD + _encode(_Status("Success", details=details, code=0 if details else code))[1:], code)


Answer = TypeVar("Answer", bound=Response | StreamedResponse)


def with_warnings(response: Answer, warnings: Sequence[str]) -> Answer:
    """Adds HTTP Warning headers, which kubectl prints."""
    said = tuple((b"warning", f'299 - "{_quotable(warning)}"'.encode()) for warning in warnings[:_MOST_WARNINGS])
    return msgspec.structs.replace(response, headers=response.headers + said) if said else response


def _quotable(text: str) -> str:
    plain = "".join(letter if letter.isprintable() else " " for letter in text)
    return plain.replace("\\", "\\\\").replace('"', '\\"')[:1024]


async def send_response(send: Send, response: Response) -> None:
    headers = [
        (b"content-type", response.content_type),
        (b"content-length", str(len(response.body)).encode()),
        *response.headers,
    ]
    await send({"type": "http.response.start", "status": response.code, "headers": headers})
    await send({"type": "http.response.body", "body": response.body})


_FINAL_SEND_SECONDS = 1.0


async def send_stream(stream: StreamedResponse, receive: Receive, send: Send, closing: asyncio.Future[None]) -> None:
    headers = [(b"content-type", stream.content_type), (b"cache-control", b"no-cache, private"), *stream.headers]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"", "more_body": True})
    pump = asyncio.ensure_future(_pump(stream.pieces, send))
    peer = asyncio.ensure_future(_until_gone(receive))
    try:
        await asyncio.wait({pump, peer, closing}, timeout=stream.seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        gone = peer.done()
        await _ended(pump, peer)
    if not gone:
        # A client that has stopped reading gets a second.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_FINAL_SEND_SECONDS):
                await send({"type": "http.response.body", "body": b""})


async def _pump(pieces: AsyncIterator[bytes], send: Send) -> None:
    try:
        async for piece in pieces:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
    finally:
        if (close := getattr(pieces, "aclose", None)) is not None:
            await close()


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _ended(*tasks: asyncio.Future[None]) -> None:
    for task in tasks:
        task.cancel()
    for result in await asyncio.gather(*tasks, return_exceptions=True):
        if isinstance(result, Exception):
            raise result
