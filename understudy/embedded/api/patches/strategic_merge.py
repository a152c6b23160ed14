"""Strategic merge patch: a merge patch that merges lists by key and follows directives such as `$patch: delete`.

No library does this in Python; docs/decisions/0035 says why it is written by hand.
"""

from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any

from understudy.embedded.api.patches.json_values import merged_order, refuse_depth
from understudy.embedded.schema.errors import ApiError, bad_request

ListKeys = Mapping[str, tuple[str, ...]]  # by dotted path without indexes, see Form in served_resource

_DIRECTIVE = "$patch"
_RETAIN = "$retainKeys"
_DELETE_VALUES = "$deleteFromPrimitiveList/"
_ORDER = "$setElementOrder/"


def strategic_merge_patch(document: dict[str, Any], patch: Any, list_keys: ListKeys) -> dict[str, Any]:
    """Unpatched parts are shared with the input."""
    if not isinstance(patch, dict):
        raise bad_request("a strategic merge patch of an object must be an object itself")
    refuse_depth(patch)
    return _Merge(list_keys).object(document, patch, "")


class _Merge:
    """One merge. `path` is the current place in the document, as `list_keys` writes it."""

    def __init__(self, list_keys: ListKeys) -> None:
        self._list_keys = list_keys

    def object(self, current: Any, patch: dict[str, Any], path: str) -> dict[str, Any]:
        match patch.get(_DIRECTIVE):
            case "delete":
                return {}
            case "replace":
                return self.object({}, {key: value for key, value in patch.items() if key != _DIRECTIVE}, path)
            case None | "merge":
                result = _retained(current if isinstance(current, dict) else {}, patch)
            case other:
                raise _refusal(path, f"{_DIRECTIVE} is {other!r}, not delete, merge or replace")
        self._take_values(result, patch, path)
        for key, value in patch.items():
            if not _is_directive(key):
                self._field(result, key, value, f"{path}.{key}" if path else key)
        self._order(result, patch, path)
        return result

    def _field(self, result: dict[str, Any], key: str, value: Any, path: str) -> None:
        match value:
            case None:
                result.pop(key, None)
            case dict():
                result[key] = self.object(result.get(key), value, path)
            case list():
                result[key] = self._list(result.get(key), value, path)
            case _:
                result[key] = value

    def _list(self, current: Any, patch: list[Any], path: str) -> list[Any]:
        keys = self._list_keys.get(path)
        if keys is None:
            return patch
        present = current if isinstance(current, list) else []
        if not keys:
            return list(dict.fromkeys(_scalars([*present, *patch], path)))
        if any(isinstance(item, dict) and item.get(_DIRECTIVE) == "replace" for item in patch):
            present = []
            patch = [item for item in patch if not isinstance(item, dict) or item.get(_DIRECTIVE) != "replace"]
        return self._keyed(present, patch, path, keys[0])

    def _keyed(self, current: list[Any], patch: list[Any], path: str, key: str) -> list[Any]:
        """Items with the same key (ports that differ only in protocol) are deleted together, as in Kubernetes."""
        result = list(current)
        places: dict[Any, list[int]] = {}
        for place, item in enumerate(current):
            places.setdefault(_key_of(item, key, path), []).append(place)
        for item in patch:
            known = places.setdefault(_key_of(item, key, path), [])
            if item.get(_DIRECTIVE) == "delete":
                for place in known:
                    result[place] = None
                known.clear()
            elif known:
                result[known[0]] = self.object(result[known[0]], item, path)
            else:
                known.append(len(result))
                result.append(self.object({}, item, path))
        return [item for item in result if item is not None]

    def _take_values(self, result: dict[str, Any], patch: dict[str, Any], path: str) -> None:
        for field, values in _directed(patch, _DELETE_VALUES, path):
            gone = set(_scalars(values, path))
            if isinstance(result.get(field), list):
                result[field] = [value for value in _scalars(result[field], path) if value not in gone]

    def _order(self, result: dict[str, Any], patch: dict[str, Any], path: str) -> None:
        for field, order in _directed(patch, _ORDER, path):
            keys = self._list_keys.get(f"{path}.{field}" if path else field)
            if keys is None or not isinstance(result.get(field), list):
                continue
            groups: dict[Any, list[Any]] = {}
            for known_by, item in zip(_known_by(result[field], keys, path), result[field], strict=True):
                groups.setdefault(known_by, []).append(item)
            wanted = [known_by for known_by in _known_by(order, keys, path) if known_by in groups]
            result[field] = [item for known_by in merged_order(groups, wanted) for item in groups[known_by]]


def _retained(current: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    if _RETAIN not in patch:
        return dict(current)
    kept = set(_scalars(patch[_RETAIN], _RETAIN))
    return {key: value for key, value in current.items() if key in kept}


def _is_directive(key: str) -> bool:
    return key in (_DIRECTIVE, _RETAIN) or key.startswith((_DELETE_VALUES, _ORDER))


def _directed(patch: dict[str, Any], prefix: str, path: str) -> Iterator[tuple[str, list[Any]]]:
    for key, values in patch.items():
        if key.startswith(prefix):
            if not isinstance(values, list):
                raise _refusal(path, f"{key} must be a list")
            yield key.removeprefix(prefix), values


def _known_by(items: list[Any], keys: tuple[str, ...], path: str) -> list[Any]:
    return [_key_of(item, keys[0], path) for item in items] if keys else _scalars(items, path)


def _key_of(item: Any, key: str, path: str) -> Any:
    """The value of the merge key of a list item."""
    if not isinstance(item, dict) or not isinstance(item.get(key), str | int | float):
        raise _refusal(path, f"an item of a list that is merged by {key!r} does not contain it")
    return item[key]


def _scalars(values: Any, path: str) -> list[Any]:
    if not isinstance(values, list) or not all(isinstance(value, str | int | float) for value in values):
        raise _refusal(path, "a list of texts or numbers is expected")
    return values


def _refusal(path: str, problem: str) -> ApiError:
    return ApiError(
        HTTPStatus.UNPROCESSABLE_ENTITY, "Invalid", f"strategic merge patch: {path or 'the object'}: {problem}"
    )
