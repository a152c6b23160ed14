"""Fields of a document by path, as managedFields names them: `f:spec`, `k:{"name":"a"}`, `v:"x"`.

Converts documents into fields and sets of paths into FieldsV1 and back, and lays one document over another.
"""

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from understudy.embedded.api.patches.json_values import merged_order
from understudy.embedded.api.patches.strategic_merge import ListKeys
from understudy.embedded.schema.errors import bad_request

Path = tuple[str, ...]
Paths = frozenset[Path]

# Values of objects and lists with parts. The parts have values of their own.
ITEM = ("an item of a list",)
OBJECT = ("an object",)
LIST = ("a list that is merged",)

# Defaults of the keys that a list item may omit.
_KEY_DEFAULTS = {"protocol": "TCP"}

_METADATA: Path = ("f:metadata",)
# Metadata that identifies the object, and metadata that only the server writes.
IDENTITY = frozenset({"name", "namespace", "uid", "resourceVersion"})
SYSTEM = frozenset(
    {"generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "managedFields"}
)
UNOWNED: Paths = frozenset(
    {("f:apiVersion",), ("f:kind",), _METADATA, *((*_METADATA, f"f:{name}") for name in IDENTITY | SYSTEM)}
)

_MAX_LENGTH = 400  # elements of a path

_encode = msgspec.json.Encoder(order="deterministic").encode


class Shape:
    """Which lists of a kind are merged, and by which keys."""

    def __init__(self, list_keys: ListKeys) -> None:
        self._list_keys = list_keys

    def fields(self, document: Mapping[str, Any]) -> dict[Path, Any]:
        """The values of all fields of a document. A list that is replaced as a whole is one value."""
        return {path: value for path, value in self._parts(document, ()) if path not in UNOWNED}

    def overlay(self, below: Any, above: Any, path: Path = ()) -> Any:
        """`above` wins, and a null in it removes a field. Unchanged parts are shared with `below`."""
        match above:
            case dict():
                return self._overlay_object(below if isinstance(below, dict) else {}, above, path)
            case list() if (keys := self._keys_at(path)) is not None:
                return self._overlay_list(below if isinstance(below, list) else [], above, path, keys)
            case _:
                return above

    def without(self, value: Any, doomed: Collection[Path], path: Path = ()) -> Any:
        """Without everything at or below these paths."""
        match value:
            case dict():
                inner = ((key, one, (*path, f"f:{key}")) for key, one in value.items())
                return {key: self.without(one, doomed, at) for key, one, at in inner if at not in doomed}
            case list() if (keys := self._keys_at(path)) is not None:
                items = ((one, (*path, _element(one, keys, path))) for one in value)
                return [self.without(one, doomed, at) for one, at in items if at not in doomed]
            case _:
                return value

    def _keys_at(self, path: Path) -> tuple[str, ...] | None:
        return self._list_keys.get(".".join(element[2:] for element in path if element.startswith("f:")))

    def _inside(self, value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
        match value:
            case dict():
                yield path, OBJECT
                yield from self._parts(value, path)
            case list() if (keys := self._keys_at(path)) is not None:
                yield path, LIST
                for item in value:
                    at = (*path, _element(item, keys, path))
                    yield at, ITEM
                    if keys:
                        yield from self._parts(item, at)
            case _:
                yield path, value

    def _parts(self, value: Mapping[str, Any], path: Path) -> Iterator[tuple[Path, Any]]:
        for key, inner in value.items():
            if (at := (*path, f"f:{key}")) not in UNOWNED or at == _METADATA:
                yield from self._inside(inner, at)

    def _overlay_object(self, below: dict[str, Any], above: dict[str, Any], path: Path) -> dict[str, Any]:
        result = dict(below)
        for key, value in above.items():
            if value is None:
                result.pop(key, None)
            else:
                result[key] = self.overlay(result.get(key), value, (*path, f"f:{key}"))
        return result

    def _overlay_list(self, below: list[Any], above: list[Any], path: Path, keys: tuple[str, ...]) -> list[Any]:
        present: dict[Hashable, list[Any]] = {}
        for item in below:
            present.setdefault(_element(item, keys, path), []).append(item)
        wanted: dict[Hashable, Any] = {}
        for item in above:
            element = _element(item, keys, path)
            if element in wanted:
                raise bad_request(f"{shown(path)}: duplicate entries for key {shown((element,))}")
            wanted[element] = self.overlay(present.get(element, [None])[0], item, (*path, element)) if keys else item
        return [
            item
            for element in merged_order(present, wanted)
            for item in ([wanted[element]] if element in wanted else present[element])
        ]


def _element(item: Any, keys: tuple[str, ...], path: Path) -> str:
    """The path element that identifies an item of a list."""
    if not keys:
        return f"v:{_encode(item).decode()}"
    if not isinstance(item, dict):
        raise bad_request(f"{shown(path)}: an item of this list must be an object")
    known_by = {key: _KEY_DEFAULTS.get(key) if item.get(key) is None else item[key] for key in keys}
    missing = [key for key, value in known_by.items() if value is None or isinstance(value, dict | list)]
    if missing:
        said = f'associative list with keys has an element that omits key field "{missing[0]}"'
        raise bad_request(f"{shown(path)}: {said}")
    return f"k:{_encode(known_by).decode()}"


def owned(fields: Mapping[Path, Any]) -> Paths:
    """The paths that the manager of these fields owns: items, values, and objects and lists without parts."""
    leading = prefixes(path[:-1] for path in fields)
    return frozenset(path for path, value in fields.items() if value is ITEM or path not in leading)


def prefixes(paths: Iterable[Path]) -> set[Path]:
    """The paths and all their prefixes."""
    return {path[:length] for path in paths for length in range(1, len(path) + 1)}


def is_key(path: Path) -> bool:
    """Whether this field is a key of its list item."""
    return len(path) > 1 and path[-2].startswith("k:") and path[-1][2:] in msgspec.json.decode(path[-2][2:])


def shown(path: Path) -> str:
    """For messages: `.spec.containers[name="a"].image`."""
    return "".join(map(_shown_element, path))


def _shown_element(element: str) -> str:
    kind, rest = element[:2], element[2:]
    match kind:
        case "f:":
            return f".{rest}"
        case "k:":
            keys = msgspec.json.decode(rest)
            return f"[{','.join(f'{key}={_encode(value).decode()}' for key, value in keys.items())}]"
        case "v:":
            return f"[={rest}]"
        case _:
            return f"[{rest}]"


def to_fields_v1(paths: Paths) -> dict[str, Any]:
    """`{"f:spec":{"f:replicas":{}}}`. A path that is owned itself, not only in parts, has a `.` beside the parts."""
    root: dict[str, Any] = {}
    leading = prefixes(path[:-1] for path in paths)
    for path in sorted(paths):
        node = root
        for element in path:
            node = node.setdefault(element, {})
        if path in leading:
            node["."] = {}
    return root


def from_fields_v1(fields: Any) -> Paths:
    """Raises ValueError where `fields` is not FieldsV1."""
    paths: set[Path] = set()
    pending: list[tuple[Path, Any]] = [((), fields)]
    while pending:
        path, node = pending.pop()
        if not isinstance(node, dict) or len(path) > _MAX_LENGTH:
            raise ValueError("a part of FieldsV1 is no object, or lies too deep")
        if path and (not node or "." in node):
            paths.add(path)
        for element, inner in node.items():
            if element != ".":
                pending.append(((*path, _checked(element)), inner))
    return frozenset(paths)


def _checked(element: str) -> str:
    if element[:2] not in ("f:", "k:", "v:", "i:"):
        raise ValueError(f"{element!r} is no element of FieldsV1")
    if element[0] == "k" and not isinstance(msgspec.json.decode(element[2:]), dict):
        raise ValueError(f"{element!r} names no keys")
    return element
