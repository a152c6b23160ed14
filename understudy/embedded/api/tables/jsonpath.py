"""The JSONPaths of custom resources' columns: turns `.status.conditions[?(@.type=="Ready")].status` into a function
from an object to the values found."""

import operator
import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any

Step = Callable[[Any], Iterable[Any]]

MAX_LENGTH = 1024

_FIELD = re.compile(r"\.?((?:\\.|[^\\.\[\]{}'\"\s()])+)")
_QUOTED = re.compile(r"\[\s*(?:'((?:\\.|[^'\\])*)'|\"((?:\\.|[^\"\\])*)\")\s*\]")
_INDEX = re.compile(r"\[\s*(-?[0-9]{1,9})\s*\]")
_SLICE = re.compile(r"\[\s*(-?[0-9]{1,9})?\s*:\s*(-?[0-9]{1,9})?\s*\]")
_EVERY = re.compile(r"\[\s*\*\s*\]|\.\*")
_FILTER = re.compile(
    r"\[\?\(\s*@((?:[^\s=!<>'\"()]|\['[^']*'\])*)\s*(?:(==|!=|<=|>=|<|>)\s*('[^']*'|\"[^\"]*\"|[^\s()'\"]+)\s*)?\)\]"
)
_NUMBER = re.compile(r"-?[0-9]{1,18}(\.[0-9]{1,18})?")
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_WORDS = {"true": True, "false": False, "null": None}


@lru_cache(1024)
def jsonpath(text: str) -> Callable[[Any], list[Any]]:
    """ValueError where it is none, or uses what columns do not support: `..`, scripts, unions."""
    if len(text) > MAX_LENGTH:
        raise ValueError(f"a JSONPath has at most {MAX_LENGTH} characters")
    steps = tuple(_steps(text))

    def find(value: Any) -> list[Any]:
        found = [value]
        for step in steps:
            found = [inner for outer in found for inner in step(outer)]
        return found

    return find


def _steps(text: str) -> Iterator[Step]:
    at = 0
    while at < len(text):
        for form, step in _FORMS:
            if match := form.match(text, at):
                yield step(match)
                at = match.end()
                break
        else:
            raise ValueError(f"cannot understand {text[at:]!r} in the JSONPath {text!r}")


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def _field(match: re.Match[str]) -> Step:
    name = _unescaped(match[1] if match.re is _FIELD else match[1] or match[2] or "")
    return lambda value: (value[name],) if isinstance(value, dict) and name in value else ()


def _index(match: re.Match[str]) -> Step:
    place = int(match[1])
    return lambda value: value[place:][:1] if isinstance(value, list) and place >= -len(value) else ()


def _slice(match: re.Match[str]) -> Step:
    part = slice(*(int(bound) if bound else None for bound in match.groups()))
    return lambda value: value[part] if isinstance(value, list) else ()


def _every(_match: re.Match[str]) -> Step:
    return _members


def _members(value: Any) -> Iterable[Any]:
    match value:
        case list():
            return value
        case dict():
            return value.values()
        case _:
            return ()


def _filter(match: re.Match[str]) -> Step:
    path, symbol, literal = match.groups()
    find = jsonpath(path)
    holds = _comparison(symbol, _literal(literal)) if symbol else lambda _: True
    return lambda value: [one for one in _members(value) if any(map(holds, find(one)))]


def _comparison(symbol: str, right: Any) -> Callable[[Any], bool]:
    compare = _COMPARE[symbol]

    def holds(left: Any) -> bool:
        try:
            return isinstance(left, bool) == isinstance(right, bool) and compare(left, right)
        except TypeError:  # a text is neither less nor more than a number
            return False

    return holds


def _literal(text: str) -> Any:
    if text[0] in "'\"":
        return text[1:-1]
    if text in _WORDS:
        return _WORDS[text]
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"a JSONPath compares with a number or a quoted text, not with {text!r}")
    return float(text)


_FORMS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Step]], ...] = (
    (_EVERY, _every),
    (_FIELD, _field),
    (_QUOTED, _field),
    (_INDEX, _index),
    (_SLICE, _slice),
    (_FILTER, _filter),
)
