"""Responses that are errors, as exceptions: a Kubernetes Status becomes Refused, anything else what it most likely
means."""

import http

import msgspec

from understudy.client.pool import Response
from understudy.ports import Refused, Unreachable

SHOWN = 200  # characters of a response that is no Status


class _StatusBody(msgspec.Struct):
    kind: str
    code: int = 0
    reason: str = ""
    message: str = ""


_decode = msgspec.json.Decoder(_StatusBody).decode


def successful_body(answer: Response) -> bytes:
    if answer.status < 300:
        return answer.body
    raise error_from(answer.status, answer.body)


def error_from(code: int, body: bytes) -> Refused | Unreachable:
    try:
        status = _decode(body)
    except msgspec.DecodeError:
        return _without_status(code, body)
    if status.kind != "Status":
        return _without_status(code, body)
    return Refused(status.code or code, status.reason or _phrase(code), status.message or _phrase(code))


def _without_status(code: int, body: bytes) -> Refused | Unreachable:
    """A 4xx counts even without a Status: API servers answer so for unknown paths. Any other response without a Status
    does not come from the API, but from a proxy in front of it or a server that is shutting down."""
    said = " ".join(body[:SHOWN].decode(errors="replace").split()) or _phrase(code)
    if 400 <= code < 500:
        return Refused(code, _phrase(code).replace(" ", ""), said)
    return Unreachable(f"the server answered {code}: {said}")


def _phrase(code: int) -> str:
    try:
        return http.HTTPStatus(code).phrase
    except ValueError:
        return str(code)
