"""Bearer tokens into users. A request without a valid token learns only that it is unauthorized."""

import hashlib
import secrets
from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
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
    pod: str = ""  # `namespace/name` of the pod that the token is bound to

    @property
    def is_admin(self) -> bool:
        """Administrators may do everything, whatever the roles say."""
        return ADMINISTRATORS in self.groups


class TokenFile:
    """The static tokens in the folder of the cluster. They are kept as digests under a key of this process, so that the
    time of a look-up reveals nothing."""

    def __init__(self, users: Iterable[tuple[str, User]]) -> None:
        self._key = secrets.token_bytes(32)
        self._users = {self._digest(token.encode()): user for token, user in users}
        self._groups = {user.name: user.groups for user in self._users.values()}

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

    def find(self, token: bytes) -> User | None:
        return self._users.get(self._digest(token))

    def groups_of(self, name: str) -> tuple[str, ...]:
        """The groups of a user who has a static token."""
        return self._groups.get(name, ())

    def _digest(self, token: bytes) -> bytes:
        return hashlib.blake2b(token, key=self._key, digest_size=32).digest()


class Authenticator:
    """Static tokens first; `issued` recognizes all others."""

    def __init__(self, static: TokenFile, issued: Callable[[bytes], User | None]) -> None:
        self.static = static
        self._issued = issued

    def user(self, authorization: bytes | None) -> User:
        """Raises a 401."""
        if authorization is not None and authorization[:7].lower() == _BEARER:
            token = authorization[7:].strip()
            found = self.static.find(token) or self._issued(token)
            if found is not None:
                return found
        raise ApiError(HTTPStatus.UNAUTHORIZED, "Unauthorized", "Unauthorized")
