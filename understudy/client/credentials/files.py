"""A token in a file, looked at again from time to time: tokens are replaced."""

import asyncio

import msgspec

from understudy.client.credentials import Identity
from understudy.ports import Unreachable

TOKEN_AGE = 30.0  # seconds after which the file is looked at again


class TokenFile:
    def __init__(self, path: str, fixed: Identity) -> None:
        self._path = path
        self._identity = fixed
        self._stale_at = 0.0

    def kept(self) -> Identity:
        if asyncio.get_running_loop().time() >= self._stale_at:
            self._read()
        return self._identity

    async def fresh(self) -> Identity:
        self._read()
        return self._identity

    def _read(self) -> None:
        try:
            with open(self._path) as file:
                token = file.read().strip()
        except OSError as error:
            raise Unreachable(f"{self._path}: the token cannot be read: {error.strerror}") from None
        self._identity = msgspec.structs.replace(self._identity, token=token)
        self._stale_at = asyncio.get_running_loop().time() + TOKEN_AGE
