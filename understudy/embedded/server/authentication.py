"""Bearer tokens into users. Whoever has no valid token learns nothing but that."""

import hashlib
import secrets
from collections.abc import Iterable
from pathlib import Path

import msgspec

from understudy.embedded.api.errors import ApiError

_BEARER = b"bearer "


class User(msgspec.Struct, frozen=True, gc=False):
    name: str
    groups: tuple[str, ...] = ()


class Tokens:
    """Known by their digests under a key of this process alone, so that the time a look-up takes tells nothing."""

    def __init__(self, users: Iterable[tuple[str, User]]) -> None:
        self._key = secrets.token_bytes(32)
        self._users = {self._digest(token.encode()): user for token, user in users}

    @classmethod
    def read(cls, path: Path) -> "Tokens":
        """Lines of `token,user,group`."""
        users = []
        for line in path.read_text(encoding="utf-8").splitlines():
            token, _, rest = line.strip().partition(",")
            name, _, group = rest.partition(",")
            if token and name:
                users.append((token, User(name, (group,) if group else ())))
        return cls(users)

    def user(self, authorization: bytes | None) -> User:
        if authorization is not None and authorization[:7].lower() == _BEARER:
            found = self.find(authorization[7:].strip())
            if found is not None:
                return found
        raise ApiError(401, "Unauthorized", "Unauthorized")

    def find(self, token: bytes) -> User | None:
        return self._users.get(self._digest(token))

    def _digest(self, token: bytes) -> bytes:
        return hashlib.blake2b(token, key=self._key, digest_size=32).digest()
