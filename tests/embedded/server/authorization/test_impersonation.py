"""Impersonation: `kubectl --as`."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from tests.embedded.server.in_process_server import PODS, Server, server
from tests.embedded.server.rbac_setup import As, account, grant, rule, token

WHO_AM_I = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
ROBOT = "system:serviceaccount:default:robot"


def play(path: Path, scenario: Callable[[Server], Awaitable[None]]) -> None:
    async def whole() -> None:
        async with server(path) as ask:
            await account(ask)
            await scenario(ask)

    asyncio.run(whole())


def test_the_administrator_may_impersonate_others(tmp_path: Path) -> None:
    async def scenario(ask: Server) -> None:
        as_robot = {"Impersonate-User": ROBOT}
        assert (await ask("GET", PODS, headers=as_robot)).code == 403
        await grant(ask, rule("pods", "list"))
        assert (await ask("GET", PODS, headers=as_robot)).code == 200
        told = (await ask("POST", WHO_AM_I, {}, headers=as_robot)).json["status"]["userInfo"]
        assert told["username"] == ROBOT
        assert "system:serviceaccounts:default" in told["groups"]
        chosen = {"Impersonate-User": "jane", "Impersonate-Group": "system:masters", "Impersonate-Extra-scopes": "a"}
        told = (await ask("POST", WHO_AM_I, {}, headers=chosen)).json["status"]["userInfo"]
        assert told["groups"] == ["system:masters", "system:authenticated"]
        assert told["extra"] == {"scopes": ["a"]}
        assert (await ask("GET", PODS, headers={"Impersonate-Group": "system:masters"})).code == 400

    play(tmp_path, scenario)


def test_other_users_need_the_right_to_impersonate(tmp_path: Path) -> None:
    async def scenario(ask: Server) -> None:
        robot = As(ask, await token(ask))
        refused = await robot("GET", PODS, headers={"Impersonate-User": "admin", "Impersonate-Group": "system:masters"})
        assert (refused.code, "cannot impersonate resource" in refused.json["message"]) == (403, True)
        await account(ask, "other")
        await grant(ask, rule("serviceaccounts", "impersonate", resourceNames=["other"]))
        other = {"Impersonate-User": "system:serviceaccount:default:other"}
        assert (await robot("POST", WHO_AM_I, {}, headers=other)).code == 201
        assert (await robot("POST", WHO_AM_I, {}, headers={**other, "Impersonate-Group": "a"})).code == 403

    play(tmp_path, scenario)
