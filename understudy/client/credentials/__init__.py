"""Who we are to a server, now: a configuration into an identity that is renewed in time. One small file a way."""

import asyncio
import re
from typing import Protocol

import msgspec

from understudy.client.config import BadConfig, Config

_UNSAFE = re.compile(r"[^!-~]")


class Identity(msgspec.Struct, frozen=True):
    token: str = ""
    certificate: str = ""  # as PEM
    key: str = ""

    def header(self) -> str:
        if _UNSAFE.search(self.token):
            raise BadConfig("the token has characters that no header may have")
        return f"Authorization: Bearer {self.token}\r\n" if self.token else ""


class Source(Protocol):
    """Where identities come from. Raises Unreachable where there is none to be had."""

    def kept(self) -> Identity | None:
        """The one that is good now; None: it has to be asked for."""
        ...

    async def fresh(self) -> Identity:
        """A new one, whatever becomes of the old."""
        ...


class Credentials:
    """However many requests need a new identity, it is asked for once."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._asking = asyncio.Lock()

    def kept(self) -> Identity | None:
        return self._source.kept()

    async def current(self) -> Identity:
        async with self._asking:
            return self._source.kept() or await self._source.fresh()

    async def instead_of(self, refused: Identity) -> Identity | None:
        """Another one than that which the server does not know any more; None: there is no other."""
        async with self._asking:
            kept = self._source.kept()
            found = kept if kept is not None and kept != refused else await self._source.fresh()
            return found if found != refused else None


def credentials_of(config: Config) -> Credentials:
    """A token that is written down wins over all that would have to be asked for, as kubectl has it."""
    fixed = Identity(config.token, config.certificate, config.key)
    if config.token:
        return Credentials(_Fixed(fixed))
    if config.token_file:
        from understudy.client.credentials.files import TokenFile

        return Credentials(TokenFile(config.token_file, fixed))
    if config.plugin is not None:
        from understudy.client.credentials.plugins import PluginRunner

        return Credentials(PluginRunner(config.plugin, fixed))
    if config.oidc is not None:
        from understudy.client.credentials.oidc import OidcTokens

        return Credentials(OidcTokens(config.oidc, fixed))
    return Credentials(_Fixed(fixed))


class _Fixed:
    def __init__(self, identity: Identity) -> None:
        identity.header()  # what cannot work is refused at once
        self._identity = identity

    def kept(self) -> Identity:
        return self._identity

    async def fresh(self) -> Identity:
        return self._identity
