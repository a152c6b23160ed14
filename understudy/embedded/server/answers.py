"""What goes back: bytes with a code, or a stream of them; and Kubernetes' Status for all that is said in words."""

from collections.abc import AsyncIterator, Sequence

import msgspec

from understudy.embedded.api.errors import ApiError, Cause, Details
from understudy.embedded.server.calls import Send

JSON = b"application/json"
TEXT = b"text/plain; charset=utf-8"
Headers = tuple[tuple[bytes, bytes], ...]


class Answer(msgspec.Struct, frozen=True, gc=False):
    body: bytes
    code: int = 200
    content_type: bytes = JSON
    headers: Headers = ()


class Stream(msgspec.Struct, frozen=True):
    """Pieces sent as they come, until they end, the peer goes or the time is up."""

    pieces: AsyncIterator[bytes]
    content_type: bytes = JSON
    seconds: float | None = None


class _Status(msgspec.Struct, frozen=True, omit_defaults=True):
    status: str
    message: str = ""
    reason: str = ""
    details: Details | None = None
    code: int = 0


_encode = msgspec.json.Encoder().encode
_STATUS_HEAD = b'{"kind":"Status","apiVersion":"v1","metadata":{},'
_MOST_LETTERS = 64 * 1024  # of a message: it may repeat what a stranger sent
_MOST_WARNINGS = 20


def status_document(error: ApiError) -> bytes:
    status = _Status("Failure", error.message[:_MOST_LETTERS], error.reason, error.details, error.code)
    return _STATUS_HEAD + _encode(status)[1:]


def refusal(error: ApiError) -> Answer:
    headers: Headers = ()
    if error.code == 401:
        headers = ((b"www-authenticate", b"Bearer"),)
    elif error.details is not None and error.details.retry_after_seconds:
        headers = ((b"retry-after", str(error.details.retry_after_seconds).encode()),)
    return Answer(status_document(error), error.code, headers=headers)


def exit_status(code: int) -> bytes:
    """How a command ended, as the error channel of exec says it."""
    if code == 0:
        return _STATUS_HEAD + b'"status":"Success"}'
    cause = Details(causes=(Cause("ExitCode", str(code)),))
    message = f"command terminated with non-zero exit code: exit status {code}"
    return _STATUS_HEAD + _encode(_Status("Failure", message, "NonZeroExitCode", cause))[1:]


def success(details: Details | None = None, code: int = 200) -> Answer:
    return Answer(_STATUS_HEAD + _encode(_Status("Success", details=details, code=0 if details else code))[1:], code)


def with_warnings(answer: Answer, warnings: Sequence[str]) -> Answer:
    """As HTTP's Warning headers, which kubectl prints."""
    said = tuple((b"warning", f'299 - "{_quotable(warning)}"'.encode()) for warning in warnings[:_MOST_WARNINGS])
    return msgspec.structs.replace(answer, headers=answer.headers + said) if said else answer


def _quotable(text: str) -> str:
    plain = "".join(letter if letter.isprintable() else " " for letter in text)
    return plain.replace("\\", "\\\\").replace('"', '\\"')[:1024]


async def send_answer(send: Send, answer: Answer) -> None:
    headers = [
        (b"content-type", answer.content_type),
        (b"content-length", str(len(answer.body)).encode()),
        *answer.headers,
    ]
    await send({"type": "http.response.start", "status": answer.code, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body})
