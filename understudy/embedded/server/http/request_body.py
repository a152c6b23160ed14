"""Request bodies, read within limits, into JSON bytes or plain documents: from JSON, YAML and protobuf."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from typing import Any, TypeVar

import msgspec
import yaml

from understudy.embedded.schema.errors import ApiError, bad_request
from understudy.embedded.server.http.protobuf import messages as protobuf
from understudy.embedded.server.http.protobuf.messages import UnknownKind
from understudy.embedded.server.http.protobuf.wire import Malformed
from understudy.embedded.server.http.request import Request
from understudy.objects.yaml_reader import DuplicateKey, load_one

YAML_TYPES = ("application/yaml", "text/yaml", "application/x-yaml")
PROTOBUF_TYPE = "application/vnd.kubernetes.protobuf"
JSON_TYPES = ("", "application/json", "*/*", "text/json")


# A megabyte of YAML takes seconds to read. Longer bodies are read in a thread, one at a time, so that they do not hold
# up other requests.
SHORT_YAML = 16 * 1024
_yaml_reader = ThreadPoolExecutor(1, "yaml")
T = TypeVar("T")


def media_type(header: bytes) -> str:
    return header.split(b";", 1)[0].strip().lower().decode("latin-1")


async def read_json(request: Request, *, may_be_empty: bool = False) -> bytes:
    """The body of a create, update or review as JSON, from any accepted media type."""
    body = await read_body(request)
    kind = media_type(request.headers.get(b"content-type", b""))
    if not body and not may_be_empty:
        raise bad_request("the body of the request is empty: send an object")
    if kind in JSON_TYPES or not body:
        return body
    if kind in YAML_TYPES:
        return msgspec.json.encode(await read_yaml(body))
    if kind == PROTOBUF_TYPE:
        return msgspec.json.encode(from_protobuf(body))
    raise unsupported("application/json", "application/yaml", PROTOBUF_TYPE)


def from_protobuf(body: bytes) -> dict[str, Any]:
    try:
        return protobuf.decode(body)
    except UnknownKind:
        raise unsupported("application/json", "application/yaml") from None
    except Malformed as wrong:
        raise bad_request(f"the body is not Kubernetes' protobuf: {wrong}") from None


def unsupported(*accepted: str) -> ApiError:
    known = ", ".join(accepted)
    message = f"the body of the request was in an unknown format - accepted media types include: {known}"
    return ApiError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "UnsupportedMediaType", message)


def from_json(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError) as wrong:
        raise bad_request(f"the body is not JSON: {_said(wrong)}") from None


def read_as(decode: Callable[[bytes], T], body: bytes, what: str) -> T:
    """A body of one known type."""
    try:
        return decode(body)
    except (msgspec.DecodeError, RecursionError) as wrong:
        raise bad_request(f"the body is no {what}: {wrong}") from None


async def read_yaml(body: bytes) -> Any:
    """Tries JSON first: it is valid YAML, and many times faster to read."""
    try:
        return msgspec.json.decode(body)
    except RecursionError:
        raise bad_request("the body is nested too deeply") from None
    except msgspec.DecodeError:
        pass
    if len(body) <= SHORT_YAML:
        return from_yaml(body)
    return await asyncio.get_running_loop().run_in_executor(_yaml_reader, from_yaml, body)


def from_yaml(body: bytes) -> Any:
    try:
        return load_yaml(body.decode("utf-8"))
    except (ValueError, RecursionError) as wrong:
        raise bad_request(f"the body is not YAML: {_said(wrong)}") from None


def as_object(document: Any) -> dict[str, Any]:
    if not isinstance(document, dict):
        raise bad_request("the body is not an object")
    return document


def _said(wrong: Exception) -> str:
    return "nested too deeply" if isinstance(wrong, RecursionError) else " ".join(str(wrong).split())[:300]


class BadYaml(ValueError):
    pass


def load_yaml(text: str) -> Any:
    """Aliases are expanded, within a limit."""
    try:
        return msgspec.json.decode(msgspec.json.encode(_with_text_keys(load_one(text))))
    except RecursionError:
        raise BadYaml("nested too deeply") from None
    except (yaml.YAMLError, DuplicateKey, TypeError) as wrong:
        raise BadYaml(str(wrong)) from None


def _with_text_keys(value: Any) -> Any:
    """The reader of YAML has bounded the depth."""
    match value:
        case dict():
            return {_text_key(key): _with_text_keys(inner) for key, inner in value.items()}
        case list():
            return [_with_text_keys(inner) for inner in value]
        case _:
            return value


def _text_key(key: object) -> str:
    match key:
        case str():
            return key
        case bool():
            return "true" if key else "false"
        case int() | float():
            return str(key)
        case _:
            raise BadYaml("a key is neither text nor a number")


MAX_BODY = 3 * 1024 * 1024


async def read_body(request: Request) -> bytes:
    length = request.headers.get(b"content-length", b"0")
    if len(length) > len(str(MAX_BODY)) or not length.isdigit() or int(length) > MAX_BODY:
        raise too_large()
    receive = request.receive
    message = await receive()
    body: bytes = message.get("body", b"")
    if not message.get("more_body") and len(body) <= MAX_BODY:
        return body
    pieces, size = [body], len(body)
    while message.get("more_body"):
        if size > MAX_BODY:
            raise too_large()
        message = await receive()
        piece: bytes = message.get("body", b"")
        pieces.append(piece)
        size += len(piece)
    if size > MAX_BODY:
        raise too_large()
    if message["type"] == "http.disconnect":
        raise ApiError(HTTPStatus.REQUEST_TIMEOUT, "Timeout", "the connection ended before the body did")
    return b"".join(pieces)


def too_large() -> ApiError:
    return ApiError(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "RequestEntityTooLarge", f"Request entity too large: limit is {MAX_BODY}"
    )
