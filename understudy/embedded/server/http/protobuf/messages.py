"""Kubernetes' protobuf messages into the documents their JSON would have given."""

import base64
import struct
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from understudy.embedded.server.http.protobuf.wire import Malformed, fields, signed

_MAGIC = b"k8s\x00"
_INLINE = "~"


class UnknownKind(LookupError):
    """No message of this kind is known."""


class Field(msgspec.Struct, frozen=True):
    name: str
    type: str  # of one item, where there are many
    many: str = ""  # "[": a list, "{": a map
    keeps_zero: bool = False


def decode(body: bytes) -> dict[str, Any]:
    """A body of type application/vnd.kubernetes.protobuf: an envelope with the type, and the object."""
    if not body.startswith(_MAGIC):
        raise Malformed("it does not begin as Kubernetes' protobuf does")
    envelope = dict(fields(body[len(_MAGIC) :]))
    about = dict(fields(_as_bytes(envelope.get(1, b""))))
    api_version, kind = _text(about.get(1, b"")), _text(about.get(2, b""))
    versioned = f"{api_version}.{kind}"
    name = versioned if versioned in _messages() else kind
    if name not in _messages():
        raise UnknownKind(kind)
    document = _message(name, _as_bytes(envelope.get(2, b"")))
    return {"apiVersion": api_version, "kind": kind, **document}


@cache
def _messages() -> Mapping[str, Mapping[int, Field]]:
    text = Path(__file__).with_name("messages.txt").read_text(encoding="ascii")
    return dict(_described(line) for line in text.splitlines() if not line.startswith("#"))


def _described(line: str) -> tuple[str, dict[int, Field]]:
    name, _, rest = line.partition(": ")
    return name, dict(_field(part) for part in rest.split(", ") if part)


def _field(text: str) -> tuple[int, Field]:
    number, name, kind = text.split(" ")
    many = kind[0] if kind[0] in "[{" else ""
    return int(number), Field(name.rstrip("!"), kind.strip("[]{}"), many, name.endswith("!"))


def _message(name: str, message: bytes) -> dict[str, Any]:
    document: dict[str, Any] = {}
    known = _messages()[name]
    for number, given in fields(message):
        field = known.get(number)
        if field is not None:
            _add(document, field, given)
    return document


def _add(document: dict[str, Any], field: Field, given: int | bytes) -> None:
    match field.many:
        case "[":
            document.setdefault(field.name, []).append(_value(field.type, given))
        case "{":
            entry = dict(fields(_as_bytes(given)))
            document.setdefault(field.name, {})[_text(entry.get(1, b""))] = _value(field.type, entry.get(2, b""))
        case _ if field.name == _INLINE:
            document.update(_message(field.type, _as_bytes(given)))
        case _:
            value = _value(field.type, given)
            if value is not None and (value or field.keeps_zero or not isinstance(value, str | int | float)):
                document[field.name] = value


def _value(kind: str, given: int | bytes) -> Any:
    plain = _PLAIN.get(kind)
    return plain(given) if plain is not None else _message(kind, _as_bytes(given))


def _as_bytes(given: int | bytes) -> bytes:
    if isinstance(given, int):
        raise Malformed("a number stands where a message belongs")
    return given


def _text(given: int | bytes) -> str:
    try:
        return _as_bytes(given).decode("utf-8")
    except UnicodeDecodeError:
        raise Malformed("a text is not UTF-8") from None


def _whole(given: int | bytes) -> int:
    if not isinstance(given, int):
        raise Malformed("a number is missing")
    return signed(given)


def _double(given: int | bytes) -> float:
    raw = _as_bytes(given)
    number: float = struct.unpack("<d" if len(raw) == 8 else "<f", raw)[0]
    return number


def _time(given: int | bytes) -> str | None:
    """Nothing in it: no time at all."""
    parts = dict(fields(_as_bytes(given)))
    if not parts:
        return None
    seconds, nanos = _whole(parts.get(1, 0)), _whole(parts.get(2, 0))
    try:
        moment = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    except (ValueError, OverflowError, OSError):
        raise Malformed(f"{seconds} is no point in time") from None
    return f"{moment}.{nanos // 1000:06d}Z" if nanos else f"{moment}Z"


def _quantity(given: int | bytes) -> str:
    return _text(dict(fields(_as_bytes(given))).get(1, b""))


def _int_or_string(given: int | bytes) -> int | str:
    parts = dict(fields(_as_bytes(given)))
    return _text(parts.get(3, b"")) if parts.get(1) else _whole(parts.get(2, 0))


def _raw(given: int | bytes) -> Any:
    """JSON inside protobuf."""
    inner = _as_bytes(dict(fields(_as_bytes(given))).get(1, b""))
    try:
        return msgspec.json.decode(inner) if inner else None
    except (msgspec.DecodeError, RecursionError):
        raise Malformed("a field that should hold JSON does not") from None


_PLAIN: Mapping[str, Callable[[int | bytes], Any]] = {
    "string": _text,
    "int": _whole,
    "bool": lambda given: bool(_whole(given)),
    "double": _double,
    "bytes": lambda given: base64.b64encode(_as_bytes(given)).decode(),
    "Time": _time,
    "MicroTime": _time,
    "Quantity": _quantity,
    "IntOrString": _int_or_string,
    "RawExtension": _raw,
    "FieldsV1": _raw,
}
