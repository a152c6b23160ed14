"""JSON patch (RFC 6902) and JSON merge patch (RFC 7386): a document and a patch into a new document."""

import re
from http import HTTPStatus
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from understudy.embedded.api.patches.json_values import copied, refuse_depth, same
from understudy.embedded.schema.errors import ApiError, bad_request

MAX_OPERATIONS = 10_000
MAX_COPIED = 3 * 1024 * 1024  # bytes in all; a few copies of copies would fill the memory
MAX_SHIFTED = 50_000_000  # list items moved by inserting or removing before them
_SHOWN = 200  # characters of a path
_INDEX = re.compile(r"0|[1-9][0-9]{0,8}")
_ROOT = "document"  # the document is a field itself, so that operations on the whole document need no special case
_Container = dict[str, Any] | list[Any]


class Operation(msgspec.Struct, frozen=True):
    op: Literal["add", "remove", "replace", "move", "copy", "test"]
    path: str
    source: str | UnsetType = msgspec.field(name="from", default=UNSET)
    value: Any = UNSET


class _DoesNotApply(Exception):
    """Why an operation does not apply."""


def json_patch(document: dict[str, Any], operations: Any) -> dict[str, Any]:
    if isinstance(operations, list) and len(operations) > MAX_OPERATIONS:
        said = f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(operations)}"
        raise ApiError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "RequestEntityTooLarge", said)
    refuse_depth(operations)
    refuse_depth(document)
    patching = _Patching(copied(document))
    for place, operation in enumerate(_read(operations)):
        try:
            patching.carry_out(operation)
        except _DoesNotApply as misfit:
            said = (
                f"JSON patch: operation {place} ({operation.op} {operation.path[:_SHOWN]!r}) does not apply: {misfit}"
            )
            raise ApiError(HTTPStatus.UNPROCESSABLE_ENTITY, "Invalid", said) from None
    refuse_depth(patching.result)
    return patching.result


def _read(operations: Any) -> list[Operation]:
    try:
        read = msgspec.convert(operations, list[Operation])
    except msgspec.ValidationError as error:
        raise bad_request(f"cannot read the JSON patch: {error}") from None
    for place, operation in enumerate(read):
        if operation.op in ("add", "replace", "test") and operation.value is UNSET:
            raise bad_request(f"cannot read the JSON patch: operation {place} ({operation.op}) has no value")
        if operation.op in ("move", "copy") and operation.source is UNSET:
            raise bad_request(f"cannot read the JSON patch: operation {place} ({operation.op}) has no from")
    return read


class _Patching:
    """Changes its own copy of the document."""

    def __init__(self, document: dict[str, Any]) -> None:
        self._whole: dict[str, Any] = {_ROOT: document}
        self._copied = 0
        self._shifted = 0

    @property
    def result(self) -> dict[str, Any]:
        document = self._whole.get(_ROOT)
        if not isinstance(document, dict):
            raise ApiError(
                HTTPStatus.UNPROCESSABLE_ENTITY, "Invalid", "JSON patch: nothing is left that could be an object"
            )
        return document

    def carry_out(self, operation: Operation) -> None:
        to = _tokens(operation.path)
        match operation.op:
            case "add":
                self._add(to, copied(operation.value))
            case "remove":
                self._remove(to)
            case "replace":
                self._replace(to, copied(operation.value))
            case "move":
                self._move(_tokens(operation.source), to)
            case "copy":
                self._add(to, self._copy(_tokens(operation.source)))
            case "test":
                self._test(to, operation.value)

    def _add(self, to: list[str], value: Any) -> None:
        match self._parent(to):
            case dict() as parent:
                parent[to[-1]] = value
            case parent:
                place = len(parent) if to[-1] == "-" else _index(to[-1], len(parent) + 1)
                self._shift(len(parent) - place)
                parent.insert(place, value)

    def _remove(self, at: list[str]) -> Any:
        value = self._get(at)
        match self._parent(at):
            case dict() as parent:
                del parent[at[-1]]
            case parent:
                self._shift(len(parent) - int(at[-1]))
                del parent[int(at[-1])]
        return value

    def _shift(self, places: int) -> None:
        self._shifted += places
        if self._shifted > MAX_SHIFTED:
            raise ApiError(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                "RequestEntityTooLarge",
                "JSON patch: too much is put into long lists, or taken out",
            )

    def _replace(self, at: list[str], value: Any) -> None:
        self._get(at)
        match self._parent(at):
            case dict() as parent:
                parent[at[-1]] = value
            case parent:
                parent[int(at[-1])] = value

    def _move(self, source: list[str], to: list[str]) -> None:
        if to[: len(source)] == source and to != source:
            raise _DoesNotApply("nothing can be moved into itself")
        self._add(to, self._remove(source))

    def _copy(self, source: list[str]) -> Any:
        value = self._get(source)
        refuse_depth(value)
        self._copied += len(msgspec.json.encode(value))
        if self._copied > MAX_COPIED:
            raise ApiError(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                "RequestEntityTooLarge",
                f"JSON patch: more than {MAX_COPIED} bytes are copied",
            )
        return copied(value)

    def _test(self, at: list[str], value: Any) -> None:
        try:
            found = self._get(at)
        except _DoesNotApply:
            if value is None:  # as in Kubernetes: a missing value equals null
                return
            raise
        if not same(found, value):
            raise _DoesNotApply("testing value failed: something else is there")

    def _get(self, at: list[str]) -> Any:
        found: Any = self._whole
        for depth, token in enumerate(at):
            match found:
                case dict() if token in found:
                    found = found[token]
                case list():
                    found = found[_index(token, len(found))]
                case _:
                    raise _DoesNotApply(f"there is nothing at {_pointer(at[: depth + 1])!r}")
        return found

    def _parent(self, at: list[str]) -> _Container:
        parent = self._get(at[:-1])
        if not isinstance(parent, dict | list):
            raise _DoesNotApply(f"what is at {_pointer(at[:-1])!r} has no fields")
        return parent


def _tokens(pointer: str | UnsetType) -> list[str]:
    """The field names of `/a/b~1c`, beginning with that of the whole document."""
    if not isinstance(pointer, str) or (pointer and not pointer.startswith("/")):
        raise _DoesNotApply(f"a path begins with '/', unlike {pointer!r}")
    return [_ROOT, *(token.replace("~1", "/").replace("~0", "~") for token in pointer.split("/")[1:])]


def _pointer(tokens: list[str]) -> str:
    return "".join("/" + token.replace("~", "~0").replace("/", "~1") for token in tokens[1:])[:_SHOWN]


def _index(token: str, size: int) -> int:
    if not _INDEX.fullmatch(token) or int(token) >= size:
        raise _DoesNotApply(f"the list has no place {token!r}")
    return int(token)


def merge_patch(document: dict[str, Any], patch: Any) -> dict[str, Any]:
    """null removes a field, an object is merged, other values replace. Unpatched parts are shared with the input."""
    if not isinstance(patch, dict):
        raise bad_request("a merge patch of an object must be an object itself")
    refuse_depth(patch)
    return _merged(document, patch)


def _merged(target: Any, patch: dict[str, Any]) -> dict[str, Any]:
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict):
            result[key] = _merged(result.get(key), value)
        else:
            result[key] = value
    return result
