"""A configuration into an identity for the server, renewed before it expires."""

import asyncio

import msgspec

from understudy.client.config import Config
from understudy.client.credentials.identity import CredentialSource, Identity
from understudy.ports import Unreachable

TOKEN_AGE = 30.0  # seconds after which the file is read again, since tokens are rotated


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


class Credentials:
    """Fetches a new identity once, however many requests need it."""

    def __init__(self, source: CredentialSource) -> None:
        self._source = source
        self._asking = asyncio.Lock()

    def kept(self) -> Identity | None:
        return self._source.kept()

    async def current(self) -> Identity:
        async with self._asking:
            return self._source.kept() or await self._source.fresh()

    async def instead_of(self, refused: Identity) -> Identity | None:
        """Another identity than the one that the server refused; None if there is no other."""
        async with self._asking:
            kept = self._source.kept()
            found = kept if kept is not None and kept != refused else await self._source.fresh()
            return found if found != refused else None


def credentials_of(config: Config) -> Credentials:
    """A token in the kubeconfig wins over every other source, as with kubectl."""
    fixed = Identity(config.token, config.certificate, config.key)
    if config.token:
        return Credentials(_FixedIdentity(fixed))
    if config.token_file:
        return Credentials(TokenFile(config.token_file, fixed))
    if config.plugin is not None:
        from understudy.client.credentials.exec_plugin import PluginRunner

        return Credentials(PluginRunner(config.plugin, fixed))
    if config.oidc is not None:
        from understudy.client.credentials.oidc import OidcTokens

        return Credentials(OidcTokens(config.oidc, fixed))
    return Credentials(_FixedIdentity(fixed))


class _FixedIdentity:
    def __init__(self, identity: Identity) -> None:
        identity.header()  # fails early for a token that no header may contain
        self._identity = identity

    def kept(self) -> Identity:
        return self._identity

    async def fresh(self) -> Identity:
        return self._identity
