"""Rules for names: each returns what is wrong with a name, in the words of Kubernetes, or ''."""

import re
from collections.abc import Callable
from functools import lru_cache

NameRule = Callable[[str], str]
"""'' where the name is fine, otherwise what is wrong with it."""

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_LABEL_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_NAME_PART = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE = f"({_NAME_PART})?"
_CONFIG_KEY = "[-._a-zA-Z0-9]+"
_PRINTABLE = "[ -<>-~]+"
_LONGEST_QUALIFIED = 253 + 1 + 63
_PORT_NAME = "[a-z0-9]([a-z0-9-]*[a-z0-9])?"


def _rule(pattern: str, longest: int, words: str) -> NameRule:
    matches = re.compile(pattern).fullmatch

    @lru_cache(maxsize=8_192)
    def match(name: str) -> str:
        return "" if matches(name) else f"{words} regex used for validation is '{pattern}')"

    def check(name: str) -> str:
        """Long names are not cached: clients could fill the memory with them."""
        return match(name) if len(name) <= longest else f"must be no more than {longest} characters"

    return check


_ENDS = "and must start and end with an alphanumeric character"
label = _rule(
    _LABEL,
    63,
    f"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', {_ENDS} "
    "(e.g. 'my-name',  or '123-abc',",
)
subdomain = _rule(
    _SUBDOMAIN,
    253,
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    f"{_ENDS} (e.g. 'example.com',",
)
label_1035 = _rule(
    _LABEL_1035,
    63,
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123',",
)
label_value = _rule(
    _LABEL_VALUE,
    63,
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    f"{_ENDS} (e.g. 'MyValue',  or 'my_value',  or '12345',",
)
config_key = _rule(
    _CONFIG_KEY,
    253,
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' "
    "(e.g. 'key.name',  or 'KEY_NAME',  or 'key-name',",
)
environment = _rule(
    _PRINTABLE,
    1024,
    "a valid environment variable name must consist only of printable ASCII characters other than '=' (e.g. 'MY_VAR',",
)
_name_part = _rule(
    _NAME_PART,
    63,
    f"name part must consist of alphanumeric characters, '-', '_' or '.', {_ENDS} "
    "(e.g. 'MyName',  or 'my.name',  or '123-abc',",
)


def qualified(name: str) -> str:
    """A key of labels, annotations, resources or finalizers: NAME or PREFIX/NAME."""
    return _qualified(name) if len(name) <= _LONGEST_QUALIFIED else "name part must be no more than 63 characters"


@lru_cache(maxsize=8_192)
def _qualified(name: str) -> str:
    prefix, slash, rest = name.rpartition("/")
    if slash and not prefix:
        return "prefix part must be non-empty"
    if slash and subdomain(prefix):
        return f"prefix part {subdomain(prefix)}"
    if not rest:
        return "name part must be non-empty"
    problem = _name_part(rest)
    return f"name part {problem}" if problem.startswith("must") else problem


def port_name(name: str) -> str:
    if len(name) > 15:
        return "must be no more than 15 characters"
    if not re.fullmatch(_PORT_NAME, name) or "--" in name:
        return "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-) neither first, last nor doubled"
    return "" if re.search("[a-z]", name) else "must contain at least one letter (a-z)"


def path_segment(name: str) -> str:
    """A name that is at least no other path: the rule of kinds whose names are free."""
    if name in (".", ".."):
        return f"may not be '{name}'"
    for mark in ("/", "%"):
        if mark in name:
            return f"may not contain '{mark}'"
    return "" if len(name) <= 253 else "must be no more than 253 characters"
