"""Bearer tokens into users. A request without a valid token learns only that it is unauthorized."""

import hashlib
import secrets
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import msgspec

from understudy.embedded.schema.errors import ApiError

_BEARER = b"bearer "
ADMINISTRATORS = "system:masters"
AUTHENTICATED = "system:authenticated"


class User(msgspec.Struct, frozen=True):
    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = {}
    pod: str = ""  # `namespace/name` of the pod that the token was made for

    @property
    def is_admin(self) -> bool:
        """May do everything, whatever roles there are."""
        return ADMINISTRATORS in self.groups


def _unknown(_: bytes) -> User | None:
    return None


class TokenFile:
    """The tokens of the cluster's folder, known by their digests under a key of this process alone, so that the time a
    look-up takes tells nothing. Every other token is for `issued` to recognize."""

    def __init__(self, users: Iterable[tuple[str, User]], issued: Callable[[bytes], User | None] = _unknown) -> None:
        self._key = secrets.token_bytes(32)
        self._users = {self._digest(token.encode()): user for token, user in users}
        self._groups = {user.name: user.groups for user in self._users.values()}
        self.issued = issued

    @classmethod
    def read(cls, path: Path) -> "TokenFile":
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
            token = authorization[7:].strip()
            found = self.find(token) or self.issued(token)
            if found is not None:
                return found
        raise ApiError(401, "Unauthorized", "Unauthorized")

    def find(self, token: bytes) -> User | None:
        """Among those of the folder."""
        return self._users.get(self._digest(token))

    def groups_of(self, name: str) -> tuple[str, ...]:
        """Of a user with a token in the folder."""
        return self._groups.get(name, ())

    def _digest(self, token: bytes) -> bytes:
        return hashlib.blake2b(token, key=self._key, digest_size=32).digest()
