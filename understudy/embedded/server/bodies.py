"""Request bodies into JSON bytes or plain documents: JSON as it is, YAML and protobuf where they are said to be."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import msgspec

from understudy.embedded.api.errors import ApiError, bad_request
from understudy.embedded.server import yamls
from understudy.embedded.server.calls import Call, read_body
from understudy.embedded.server.protobuf import messages as protobuf
from understudy.embedded.server.protobuf.messages import UnknownKind
from understudy.embedded.server.protobuf.wire import Malformed

YAML_TYPES = ("application/yaml", "text/yaml", "application/x-yaml")
PROTOBUF_TYPE = "application/vnd.kubernetes.protobuf"
JSON_TYPES = ("", "application/json", "*/*", "text/json")
# A megabyte of YAML takes seconds to read, so all but short ones are read beside the others' requests, one at a time.
SHORT_YAML = 16 * 1024
_yaml_reader = ThreadPoolExecutor(1, "yaml")
T = TypeVar("T")


def media_type(header: bytes) -> str:
    return header.split(b";", 1)[0].strip().lower().decode("latin-1")


async def read_json(call: Call, *, may_be_empty: bool = False) -> bytes:
    """The body of a create, update or question, as JSON whatever it came as."""
    body = await read_body(call)
    kind = media_type(call.headers.get(b"content-type", b""))
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
    return ApiError(415, "UnsupportedMediaType", message)


def from_json(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError) as wrong:
        raise bad_request(f"the body is not JSON: {_said(wrong)}") from None


def read_as(decode: Callable[[bytes], T], body: bytes, what: str) -> T:
    """A body that is of one form and no other."""
    try:
        return decode(body)
    except (msgspec.DecodeError, RecursionError) as wrong:
        raise bad_request(f"the body is no {what}: {wrong}") from None


async def read_yaml(body: bytes) -> Any:
    """JSON first: it is YAML too, and many times faster to read."""
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
        return yamls.load(body.decode("utf-8"))
    except (ValueError, RecursionError) as wrong:
        raise bad_request(f"the body is not YAML: {_said(wrong)}") from None


def as_object(document: Any) -> dict[str, Any]:
    if not isinstance(document, dict):
        raise bad_request("the body is not an object")
    return document


def _said(wrong: Exception) -> str:
    return "nested too deeply" if isinstance(wrong, RecursionError) else " ".join(str(wrong).split())[:300]
