"""Identity tokens that run out, and the providers that give new ones."""

import asyncio
import base64
import json
import time
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest

from tests.client.plain_certificates import make_default_contexts_strict, plain_identity
from tests.client.scripted_server import Reply, Request, serving, write_kubeconfig
from understudy.client import Config, connect
from understudy.client.config import OidcProvider
from understudy.client.kubeconfig import read_kubeconfig
from understudy.embedded.clusters.certificates import Identity
from understudy.ports import Unreachable


def token(name: str, left: float) -> str:
    parts = ({"alg": "none"}, {"sub": name, "exp": time.time() + left})
    return ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts) + ".s"


class Provider:
    """An API server and the provider it trusts, on one port."""

    def __init__(self, methods: list[str]) -> None:
        self.methods = methods
        self.new = token("new", 3600)
        self.asked: list[tuple[dict[str, list[str]], str]] = []
        self.port = 0

    async def __call__(self, request: Request, reply: Reply) -> None:
        if request.path == "/idp/.well-known/openid-configuration":
            url = f"https://127.0.0.1:{self.port}/idp/token"
            supported = {"token_endpoint_auth_methods_supported": self.methods} if self.methods else {}
            await reply.json({"token_endpoint": url, **supported})
        elif request.path == "/idp/token":
            self.asked.append((parse_qs(request.body.decode()), request.headers.get("authorization", "")))
            await reply.json({"id_token": self.new, "refresh_token": "r-2"})
        elif request.headers["authorization"] == f"Bearer {self.new}":
            await reply.json({})
        else:
            await reply.refuse(401, "Unauthorized")


def asked(
    tmp_path: Path, id_token: str, methods: list[str] | None = None, own: Identity | None = None, **settings: Any
) -> tuple[Provider, dict[str, str]]:
    """What the provider was asked, and what stands in the kubeconfig afterwards."""

    async def run() -> tuple[Provider, dict[str, str]]:
        provider = Provider(methods or [])
        async with serving(provider, own=own) as server:
            provider.port = server.port
            authority = base64.b64encode(server.config().authority.encode()).decode()
            given = {
                "idp-issuer-url": f"https://127.0.0.1:{server.port}/idp",
                "idp-certificate-authority-data": authority,
                "client-id": "understudy",
                "client-secret": "secret",
                "id-token": id_token,
                "refresh-token": "r-1",
                **settings,
            }
            cluster = {"server": server.config().server, "certificate-authority-data": authority}
            user = {"auth-provider": {"name": "oidc", "config": given}}
            path = write_kubeconfig(tmp_path / "config", cluster, user)
            path.chmod(0o600)
            async with connect(read_kubeconfig(path)) as client:
                await client.request("GET", "/")
                await client.request("GET", "/")
            assert path.stat().st_mode & 0o777 == 0o600
            return provider, json.loads(path.read_text())["users"][0]["user"]["auth-provider"]["config"]

    return asyncio.run(run())


def test_a_token_that_has_run_out_is_replaced_and_written_down(tmp_path: Path) -> None:
    provider, written = asked(tmp_path, token("old", -5))
    [(form, header)] = provider.asked
    assert form == {"grant_type": ["refresh_token"], "refresh_token": ["r-1"], "client_id": ["understudy"]}
    assert base64.b64decode(header.removeprefix("Basic ")) == b"understudy:secret"
    assert (written["id-token"], written["refresh-token"]) == (provider.new, "r-2")


def test_a_provider_with_a_certificate_without_key_identifiers_is_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_default_contexts_strict(monkeypatch)
    provider, written = asked(tmp_path, token("old", -5), own=plain_identity())
    assert written["id-token"] == provider.new


def test_a_token_that_the_server_does_not_take_is_replaced(tmp_path: Path) -> None:
    provider, _ = asked(tmp_path, token("revoked", 3600))
    assert len(provider.asked) == 1


def test_a_provider_that_wants_the_secret_with_the_rest_gets_it_there(tmp_path: Path) -> None:
    provider, _ = asked(tmp_path, "", ["client_secret_post"])
    [(form, header)] = provider.asked
    assert (form["client_secret"], header) == (["secret"], "")


def test_a_token_in_yaml_is_written_down_in_yaml(tmp_path: Path) -> None:
    from understudy.client.credentials.oidc import _write_down

    path = tmp_path / "config"
    path.write_text("users:\n- name: u\n  user: {auth-provider: {name: oidc, config: {client-id: c}}}\n")
    _write_down((str(path), "u"), "i", "r")
    assert "id-token: i" in path.read_text()
    assert "client-id: c" in path.read_text()
    _write_down((str(tmp_path / "nowhere"), "u"), "i", "r")  # is kept in mind only


@pytest.mark.parametrize(
    ("oidc", "complaint"),
    [
        (OidcProvider(issuer="https://127.0.0.1:1", client="c"), "there is no refresh-token; log in again"),
        (OidcProvider(issuer="http://127.0.0.1:1", client="c", refresh_token="r"), "tokens are not sent there"),
        (OidcProvider(issuer="https://127.0.0.1:1", client="c", refresh_token="r"), "127.0.0.1:1"),
    ],
)
def test_a_provider_that_cannot_help_is_named(oidc: OidcProvider, complaint: str) -> None:
    async def run() -> None:
        async with connect(Config(server="https://127.0.0.1:1", oidc=oidc)) as client:
            with pytest.raises(Unreachable, match=r"the OpenID provider https?://127") as caught:
                await client.request("GET", "/")
            assert complaint in str(caught.value)

    asyncio.run(run())
