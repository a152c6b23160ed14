"""Turns labelSelector and fieldSelector into a Selection: yes or no for an object as it lies in the store.

Watches ask for every event, so a match decodes nothing of an object but the fields it looks at.
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

_Glance = Callable[[bytes], tuple[Any, ...]]  # the values at some paths of an object, None for what is not there


class Selection:
    """Which objects are meant. All conditions must hold; with none, everything is."""

    __slots__ = ("_glance", "_places", "conditions", "labels")

    def __init__(self, labels: Selector, conditions: tuple[Condition, ...]) -> None:
        self.labels = labels
        self.conditions = conditions
        paths = dict.fromkeys(path for condition in conditions for path in condition.field.paths)
        self._places = {path: place for place, path in enumerate((_LABELS, *paths))}
        self._glance = _glance_at(tuple(self._places))

    @property
    def everything(self) -> bool:
        return not self.conditions and not self.labels.requirements

    @property
    def name(self) -> str | None:
        """The one object that can match, where the selection names it; others need not be looked at."""
        for condition in self.conditions:
            if condition.equal and condition.field.paths == (_NAME,):
                return condition.value
        return None

    def matches(self, body: bytes) -> bool:
        if self.everything:
            return True
        seen = self._glance(body)
        return self.labels.matches(seen[0] or {}) and all(
            (self._value(condition, seen) == condition.value) is condition.equal for condition in self.conditions
        )

    def _value(self, condition: Condition, seen: tuple[Any, ...]) -> str:
        values = (seen[self._places[path]] for path in condition.field.paths)
        return as_text(next((value for value in values if value not in (None, "")), None), condition.field.absent)


@lru_cache(256)
def selection(labels: str, fields: str, resource_key: str, selectable: tuple[str, ...] = ()) -> Selection:
    """Both selectors of one request. ApiError 400 where one of them cannot be understood."""
    return Selection(label_selectors.parsed(labels), field_selectors.parsed(fields, resource_key, selectable))


def labels(text: str) -> Selection:
    return selection(text, "", "")


def fields(text: str, resource_key: str) -> Selection:
    return selection("", text, resource_key)


@lru_cache(256)
def _glance_at(paths: tuple[Path, ...]) -> _Glance:
    decode = msgspec.json.Decoder(_shape(paths)).decode
    values = operator.attrgetter(*(".".join(map(_attribute, path)) for path in paths))
    nothing = (None,) * len(paths)

    def glance(body: bytes) -> tuple[Any, ...]:
        try:
            seen = values(decode(body))
        except msgspec.ValidationError:  # something else than an object where a path leads through
            return nothing
        return seen if len(paths) > 1 else (seen,)

    return glance


def _shape(paths: tuple[Path, ...]) -> type[msgspec.Struct]:
    """A struct of just these paths, parts that are not there made up empty."""
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
    return msgspec.defstruct("Glance", members, gc=False)


def _attribute(key: str) -> str:
    """A Python name for any key."""
    return f"k{key.encode().hex()}"
