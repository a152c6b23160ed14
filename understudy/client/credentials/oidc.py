"""An identity token of an OpenID provider, renewed with the refresh token when it expires.

New tokens are written back into the kubeconfig, as kubectl did: many providers accept a refresh token only once, and
kubectl or the next call would otherwise use a spent one. If the file cannot be written, tokens stay in memory.
"""

import asyncio
import base64
import binascii
import contextlib
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec

from understudy.client.config import OidcProvider
from understudy.client.credentials.identity import Identity
from understudy.ports import Unreachable

TIMEOUT = 20.0  # seconds for a response of the provider
EARLY = 10.0  # seconds before its expiry at which a token counts as expired


class _Claims(msgspec.Struct):
    exp: float | None = None


class _Provider(msgspec.Struct):
    token_endpoint: str
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic",)


class _Tokens(msgspec.Struct):
    id_token: str
    refresh_token: str = ""


class OidcTokens:
    def __init__(self, oidc: OidcProvider, fixed: Identity) -> None:
        self._oidc = oidc
        self._fixed = fixed
        self._id_token = oidc.id_token
        self._refresh_token = oidc.refresh_token
        self._good_until = _end(oidc.id_token)

    def kept(self) -> Identity | None:
        good = bool(self._id_token) and time.time() < self._good_until - EARLY
        return msgspec.structs.replace(self._fixed, token=self._id_token) if good else None

    async def fresh(self) -> Identity:
        if not self._refresh_token:
            raise self._failed("the id-token has expired, and there is no refresh-token; log in again")
        tokens = await asyncio.to_thread(self._refreshed)
        self._id_token, self._good_until = tokens.id_token, _end(tokens.id_token)
        self._refresh_token = tokens.refresh_token or self._refresh_token
        await asyncio.to_thread(_write_down, self._oidc.kept_in, self._id_token, self._refresh_token)
        return msgspec.structs.replace(self._fixed, token=self._id_token)

    def _refreshed(self) -> _Tokens:
        """Asks the provider; to be called in a thread."""
        issuer = self._oidc.issuer.rstrip("/")
        provider = msgspec.json.decode(self._asked(f"{issuer}/.well-known/openid-configuration"), type=_Provider)
        form = {"grant_type": "refresh_token", "refresh_token": self._refresh_token, "client_id": self._oidc.client}
        basic = ""
        if self._oidc.secret and "client_secret_post" in provider.token_endpoint_auth_methods_supported:
            form["client_secret"] = self._oidc.secret
        elif self._oidc.secret:
            basic = base64.b64encode(f"{self._oidc.client}:{self._oidc.secret}".encode()).decode()
        try:
            return msgspec.json.decode(self._asked(provider.token_endpoint, form, basic), type=_Tokens)
        except msgspec.DecodeError as error:
            raise self._failed(f"{provider.token_endpoint} gave no id_token: {error}") from None

    def _asked(self, url: str, form: dict[str, str] | None = None, basic: str = "") -> bytes:
        import urllib.error
        import urllib.parse
        import urllib.request

        from understudy.client.tls import context_for

        if not url.startswith("https://"):
            raise self._failed(f"{url!r} is no https address; tokens are not sent there")
        data = urllib.parse.urlencode(form).encode() if form else None
        headers = {"Authorization": f"Basic {basic}"} if basic else {}
        request = urllib.request.Request(url, data, headers)
        try:
            context = context_for(self._oidc.authority)
            with urllib.request.urlopen(request, timeout=TIMEOUT, context=context) as answer:
                body: bytes = answer.read()
                return body
        except urllib.error.HTTPError as error:
            said = " ".join(error.read()[:200].decode(errors="replace").split())
            raise self._failed(f"{url} answered {error.code}: {said}") from None
        except (OSError, ValueError) as error:
            raise self._failed(f"{url}: {error}") from None

    def _failed(self, why: str) -> Unreachable:
        return Unreachable(f"the OpenID provider {self._oidc.issuer}: {why}")


def _end(token: str) -> float:
    """When a token expires. A token without an expiry is used until the server refuses it."""
    try:
        payload = token.split(".")[1]
        claims = msgspec.json.decode(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)), type=_Claims)
    except (IndexError, binascii.Error, msgspec.DecodeError):
        return float("inf")
    return float("inf") if claims.exp is None else claims.exp


def _write_down(kept_in: tuple[str, str], id_token: str, refresh_token: str) -> None:
    """Writes a temporary file and renames it, so that a reader never sees half of the file."""
    from understudy.client.kubeconfig import parsed

    path, name = Path(kept_in[0]), kept_in[1]
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError, AttributeError):
        data = path.read_bytes()
        document: Any = parsed(data)
        [user] = [each["user"] for each in document["users"] if each["name"] == name]
        user["auth-provider"]["config"] |= {"id-token": id_token, "refresh-token": refresh_token}
        target = path.resolve()
        handle, aside = tempfile.mkstemp(dir=target.parent, prefix=".kubeconfig-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_dumped(document, data))
            os.chmod(aside, target.stat().st_mode & 0o777)
            os.replace(aside, target)
        except BaseException:
            os.unlink(aside)
            raise


def _dumped(document: object, before: bytes) -> bytes:
    if before.lstrip()[:1] == b"{":
        return msgspec.json.encode(document)
    import yaml

    text: str = yaml.safe_dump(document, sort_keys=False)
    return text.encode()
