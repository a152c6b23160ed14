"""Label selectors: `app=web,tier in (a, b),!old` into a Selector, or into a 400 that names the error."""

import re
from typing import NamedTuple

import msgspec

from understudy.embedded.schema.errors import ApiError, bad_request
from understudy.model.selectors import Requirement, Selector

MAX_LENGTH = 16_384  # characters; a longer selector is matched against every object

_TOKEN = re.compile(r"\s*(==|!=|[=!(),<>]|[^\s=!(),<>]+|$)")
_SYMBOLS = frozenset({"==", "!=", "=", "!", "(", ")", ",", "<", ">"})
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")
_DNS = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*")
_VALUES = (
    re.compile(rf"({_NAME.pattern})?"),
    "a label's value has at most 63 letters, digits, '-', '_' and '.', and begins and ends with a letter or digit",
)
_NUMBERS = (re.compile(r"[+-]?[0-9]{1,18}"), "'>' and '<' compare with a whole number")

_COMPARING = {"=": "In", "==": "In", "!=": "NotIn", ">": "Gt", "<": "Lt"}
_LISTING = {"in": "In", "notin": "NotIn"}
_END = ""


def parsed(text: str) -> Selector:
    """An empty text selects everything."""
    if len(text) > MAX_LENGTH:
        raise bad_request(f"label selector has {len(text)} characters, at most {MAX_LENGTH} are allowed")
    tokens = _tokens(text)
    requirements: list[Requirement] = []
    at = 0
    while tokens[at] != _END:
        read = _requirement(tokens, at)
        requirements.append(read.requirement)
        at = read.next
        match tokens[at]:
            case ",":
                at += 1
                _identifier(tokens, at, "identifier after ','", bare="!")
            case found if found != _END:
                raise _unexpected(found, "',' or 'end of string'")
    return Selector(tuple(requirements))


class _Read(NamedTuple):
    requirement: Requirement
    next: int  # the token that follows


def _tokens(text: str) -> list[str]:
    """Words and symbols, and one empty token at the end."""
    return [match[1] for match in _TOKEN.finditer(text) if match[1]] + [_END]


def _requirement(tokens: list[str], at: int) -> _Read:
    if tokens[at] == "!":
        key = _key(_identifier(tokens, at + 1, "identifier"))
        return _Read(Requirement(key, "DoesNotExist"), at + 2)
    key = _key(_identifier(tokens, at, "!, identifier, or 'end of string'"))
    match tokens[at + 1]:
        case "," | "":
            return _Read(Requirement(key, "Exists"), at + 1)
        case "in" | "notin" as word:
            values, after = _listed(tokens, at + 2)
            return _Read(_checked(Requirement(key, _LISTING[word], values)), after)
        case symbol if symbol in _COMPARING:
            value = tokens[at + 2]
            if value in (",", _END):  # `key=` asks for the empty value
                return _Read(_checked(Requirement(key, _COMPARING[symbol], ("",))), at + 2)
            value = _identifier(tokens, at + 2, "identifier")
            return _Read(_checked(Requirement(key, _COMPARING[symbol], (value,))), at + 3)
        case found:
            raise _unexpected(found, "in, notin, =, ==, !=, gt, lt")


def _listed(tokens: list[str], at: int) -> tuple[tuple[str, ...], int]:
    """The values of `(a, b)`, and the index of the token after it. Two commas in a row enclose the empty value."""
    if tokens[at] != "(":
        raise _unexpected(tokens[at], "'('")
    values: list[str] = []
    at += 1
    while True:
        if tokens[at] not in (",", ")"):
            values.append(_identifier(tokens, at, "',', ')' or identifier"))
            at += 1
        elif values or tokens[at] == ",":
            values.append("")
        match tokens[at]:
            case ",":
                at += 1
            case ")":
                return tuple(dict.fromkeys(values)), at + 1
            case found:
                raise _unexpected(found, "',' or ')'")


def _identifier(tokens: list[str], at: int, expected: str, bare: str = "") -> str:
    if tokens[at] == _END or (tokens[at] in _SYMBOLS and tokens[at] != bare):
        raise _unexpected(tokens[at], expected)
    return tokens[at]


def _key(key: str) -> str:
    prefix, slash, name = key.rpartition("/")
    if not _NAME.fullmatch(name) or (slash and not (len(prefix) <= 253 and _DNS.fullmatch(prefix))):
        raise _unparsable(
            f"key: Invalid value: {_quoted(key)}: a label's name has at most 63 letters, digits, '-', '_' and '.', "
            "begins and ends with a letter or digit, and may follow a DNS name and '/'"
        )
    return key


def _checked(requirement: Requirement) -> Requirement:
    if not requirement.values:
        raise _unparsable("values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty")
    form, rule = _NUMBERS if requirement.operator in ("Gt", "Lt") else _VALUES
    for value in requirement.values:
        if not form.fullmatch(value):
            raise _unparsable(f"values: Invalid value: {_quoted(value)}: {rule}")
    return requirement


def _quoted(text: str) -> str:
    return msgspec.json.encode(text).decode()


def _unexpected(found: str, expected: str) -> ApiError:
    return _unparsable(f"found '{found}', expected: {expected}")


def _unparsable(problem: str) -> ApiError:
    return bad_request(f"unable to parse requirement: {problem}")
