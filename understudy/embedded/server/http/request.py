"""A request: method, path, query, headers and user."""

import re
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl

import msgspec

from understudy.embedded.schema.errors import bad_request
from understudy.embedded.schema.served_resource import Strictness
from understudy.embedded.server.authentication.authenticator import User

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
_WHOLE_NUMBER = re.compile("-?[0-9]{1,18}")


class Request(msgspec.Struct, frozen=True, gc=False):
    method: str
    path: str
    query_string: bytes
    query: Mapping[str, str]
    headers: Mapping[bytes, bytes]
    user: User
    now: float  # the time of arrival, in seconds since 1970
    receive: Receive

    def flag(self, name: str) -> bool:
        """As Kubernetes reads a boolean: false, 0 and a missing parameter are false, everything else is true."""
        value = self.query.get(name)
        return value is not None and value not in ("0", "false", "False", "FALSE")

    def number(self, name: str) -> int | None:
        text = self.query.get(name)
        if not text:
            return None
        if not _WHOLE_NUMBER.fullmatch(text):
            raise bad_request(f'invalid value for {name}: "{text[:100]}" is not a whole number')
        return int(text)

    def values(self, name: str) -> list[str]:
        """All values of a repeatable parameter."""
        return [value for found, value in _pairs(self.query_string) if found == name]

    @property
    def dry_run(self) -> bool:
        return asks_dry_run(self.query.get("dryRun"))

    @property
    def strictness(self) -> Strictness:
        asked = self.query.get("fieldValidation")
        if not asked:
            return Strictness.WARN
        try:
            return Strictness(asked)
        except ValueError:
            raise bad_request(f'fieldValidation: Unsupported value: "{asked}": use Strict, Warn or Ignore') from None


def asks_dry_run(value: str | None) -> bool:
    if not value:
        return False
    if value != "All":
        raise bad_request(f'dryRun: Unsupported value: "{value}": use All')
    return True


def read_query(text: bytes) -> Mapping[str, str]:
    """Clients repeat the same few queries, so the short ones are cached."""
    return _cached_query(text) if len(text) < 512 else dict(_pairs(text))


@lru_cache(maxsize=1024)
def _cached_query(text: bytes) -> Mapping[str, str]:
    return dict(_pairs(text))


def _pairs(text: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(text.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=1000)
    except ValueError:  # UnicodeError too
        raise bad_request("the query is not made of at most 1000 percent-encoded name=value pairs") from None
