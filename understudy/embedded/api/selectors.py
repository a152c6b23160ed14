"""labelSelector and fieldSelector into a Selection, which matches stored objects.

Watches match every event, so only the selected fields of an object are decoded.
"""

import operator
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import msgspec

from understudy.embedded.api import field_selectors, label_selectors
from understudy.embedded.api.field_selectors import Condition, Path, as_text
from understudy.model.selectors import Selector

_LABELS: Path = ("metadata", "labels")
_NAME: Path = ("metadata", "name")

_FieldReader = Callable[[bytes], tuple[Any, ...]]  # the values at some paths of an object, None for missing ones


class Selection:
    """The selected objects: those that meet all conditions. Without conditions, all are selected."""

    __slots__ = ("_places", "_read_fields", "conditions", "labels")

    def __init__(self, labels: Selector, conditions: tuple[Condition, ...]) -> None:
        self.labels = labels
        self.conditions = conditions
        paths = dict.fromkeys(path for condition in conditions for path in condition.field.paths)
        self._places = {path: place for place, path in enumerate((_LABELS, *paths))}
        self._read_fields = _field_reader(tuple(self._places))

    @property
    def everything(self) -> bool:
        return not self.conditions and not self.labels.requirements

    @property
    def name(self) -> str | None:
        """The name of the only object that can match, if the selection gives one."""
        for condition in self.conditions:
            if condition.equal and condition.field.paths == (_NAME,):
                return condition.value
        return None

    def matches(self, body: bytes) -> bool:
        if self.everything:
            return True
        seen = self._read_fields(body)
        return self.labels.matches(seen[0] or {}) and all(
            (self._value(condition, seen) == condition.value) is condition.equal for condition in self.conditions
        )

    def _value(self, condition: Condition, seen: tuple[Any, ...]) -> str:
        values = (seen[self._places[path]] for path in condition.field.paths)
        return as_text(next((value for value in values if value not in (None, "")), None), condition.field.absent)


@lru_cache(256)
def selection(labels: str, fields: str, resource_key: str, selectable: tuple[str, ...] = ()) -> Selection:
    """Both selectors of one request. ApiError 400 where one cannot be parsed."""
    return Selection(label_selectors.parsed(labels), field_selectors.parsed(fields, resource_key, selectable))


def labels(text: str) -> Selection:
    return selection(text, "", "")


def fields(text: str, resource_key: str) -> Selection:
    return selection("", text, resource_key)


@lru_cache(256)
def _field_reader(paths: tuple[Path, ...]) -> _FieldReader:
    decode = msgspec.json.Decoder(_shape(paths)).decode
    values = operator.attrgetter(*(".".join(map(_attribute, path)) for path in paths))
    nothing = (None,) * len(paths)

    def read(body: bytes) -> tuple[Any, ...]:
        try:
            seen = values(decode(body))
        except msgspec.ValidationError:  # a path leads through a value that is not an object
            return nothing
        return seen if len(paths) > 1 else (seen,)

    return read


def _shape(paths: tuple[Path, ...]) -> type[msgspec.Struct]:
    """A struct of these paths alone, with defaults for missing parts."""
    inner: dict[str, list[Path]] = {}
    for first, *rest in paths:
        inner.setdefault(first, []).extend([tuple(rest)] if rest else [])
    members: list[Any] = []
    for key, below in inner.items():
        part = _shape(tuple(below)) if below else None
        members.append(
            (_attribute(key), part, msgspec.field(name=key, default_factory=part))
            if part
            else (_attribute(key), Any, msgspec.field(name=key, default=None))
        )
    return msgspec.defstruct("SelectedFields", members, gc=False)


def _attribute(key: str) -> str:
    """A valid Python name for any key."""
    return f"k{key.encode().hex()}"
