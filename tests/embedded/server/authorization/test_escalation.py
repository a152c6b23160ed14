"""Users may grant only rights that they have."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from tests.embedded.server.in_process_server import MERGE, Json, Server, server
from tests.embedded.server.rbac_setup import CLUSTER_ROLES, ROLE_BINDINGS, ROLES, As, account, bind, grant, rule, token

RBAC = "rbac.authorization.k8s.io"


def play(path: Path, scenario: Callable[[Server, As], Awaitable[None]]) -> None:
    """The robot may write roles and bindings, and list pods."""

    async def whole() -> None:
        async with server(path) as ask:
            await account(ask)
            await grant(ask, rule("roles rolebindings", "*", RBAC), rule("pods", "list get"))
            await scenario(ask, As(ask, await token(ask)))

    asyncio.run(whole())


def role(name: str, *rules: Json) -> Json:
    return {"metadata": {"name": name}, "rules": rules}


def binding(name: str, kind: str, to: str) -> Json:
    subject = {"kind": "ServiceAccount", "name": "other", "namespace": "default"}
    return {"metadata": {"name": name}, "roleRef": {"kind": kind, "name": to}, "subjects": [subject]}


def test_a_role_grants_no_more_than_its_author_has(tmp_path: Path) -> None:
    async def plainly(ask: Server, robot: As) -> None:
        await ask.put(f"{ROLES}/rights", role("rights", rule("roles rolebindings", "create update patch", RBAC),
                                              rule("pods", "list get")))  # fmt: skip
        assert await robot.code("POST", ROLES, role("less", rule("pods", "list"))) == 201
        assert await robot.code("POST", ROLES, role("one", rule("pods", "get", resourceNames=["a"]))) == 201
        for wider in (
            rule("pods", "list delete"), rule("secrets", "list"), rule("*", "list"), rule("pods", "*"),
            rule("pods/log", "get"), rule("pods", "list", "batch"),
        ):  # fmt: skip
            reply = await robot("POST", ROLES, role("more", wider))
            assert reply.code == 403, wider
            assert "attempting to grant RBAC permissions not currently held" in reply.json["message"]
        patch = {"rules": [rule("secrets", "get")]}
        assert await robot.code("PATCH", f"{ROLES}/less", patch, content_type=MERGE) == 403
        labels = {"metadata": {"labels": {"a": "b"}}}
        assert await robot.code("PATCH", f"{ROLES}/rights", labels, content_type=MERGE) == 200

    play(tmp_path, plainly)


def test_a_binding_grants_no_more_than_its_author_has(tmp_path: Path) -> None:
    async def scenario(ask: Server, robot: As) -> None:
        await ask.put(f"{ROLES}/rights", role("rights", rule("rolebindings", "create", RBAC), rule("pods", "list get")))
        await ask.post(ROLES, role("less", rule("pods", "list")))
        assert await robot.code("POST", ROLE_BINDINGS, binding("a", "Role", "less")) == 201
        assert await robot.code("POST", ROLE_BINDINGS, binding("b", "ClusterRole", "view")) == 403
        assert await robot.code("POST", ROLE_BINDINGS, binding("c", "ClusterRole", "cluster-admin")) == 403
        may_bind = rule("clusterroles", "bind", RBAC, resourceNames=["view"])
        await ask.post(CLUSTER_ROLES, role("binder", may_bind))
        await bind(ask, {"kind": "ClusterRole", "name": "binder"}, "binder")
        assert await robot.code("POST", ROLE_BINDINGS, binding("b", "ClusterRole", "view")) == 201
        assert await robot.code("POST", ROLE_BINDINGS, binding("c", "ClusterRole", "cluster-admin")) == 403

    play(tmp_path, scenario)


def test_the_verb_escalate_lifts_the_check(tmp_path: Path) -> None:
    async def scenario(_: Server, robot: As) -> None:
        assert await robot.code("POST", ROLES, role("more", rule("secrets", "*"))) == 201

    play(tmp_path, scenario)


def test_rules_with_too_many_combinations_are_refused(tmp_path: Path) -> None:
    async def scenario(ask: Server, robot: As) -> None:
        await ask.put(f"{ROLES}/rights", role("rights", rule("roles", "create", RBAC)))
        many = " ".join(f"r{i}" for i in range(2_000))
        assert await robot.code("POST", ROLES, role("vast", rule(many, many))) == 400

    play(tmp_path, scenario)
