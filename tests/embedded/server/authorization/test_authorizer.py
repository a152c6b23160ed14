"""Service accounts have the rights that roles grant them."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.embedded.server.in_process_server import APPLY, CONFIG_MAPS, PODS, Json, Server, config_map, pod, server
from tests.embedded.server.rbac_setup import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    REVIEWS,
    ROLE_BINDINGS,
    ROLES,
    As,
    account,
    bind,
    grant,
    rule,
    token,
)
from understudy.embedded.api.builtin_resources import BUILTIN
from understudy.embedded.api.reviews import REVIEWS as QUESTIONS

ELSEWHERE = "/api/v1/namespaces/kube-system/pods"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
NAME = "system:serviceaccount:default:robot"


def play(path: Path, scenario: Callable[[Server, As], Awaitable[None]]) -> None:
    async def whole() -> None:
        async with server(path) as ask:
            await account(ask)
            await scenario(ask, As(ask, await token(ask)))

    asyncio.run(whole())


def test_without_a_role_every_resource_is_forbidden(tmp_path: Path) -> None:
    async def scenario(ask: Server, robot: As) -> None:
        revision = ask.state.store.revision
        for served in BUILTIN:
            resource = served.resource
            collection, single = resource.path("default"), resource.path("default", "default")
            for method, path in [
                ("GET", collection), ("GET", f"{collection}?watch=1"), ("POST", collection), ("DELETE", collection),
                ("GET", single), ("PUT", single), ("PATCH", single), ("DELETE", single), ("GET", resource.path()),
                *(("POST", f"{single}/{sub}") for sub in served.subresources),
            ]:  # fmt: skip
                assert await robot.code(method, path, {}) == 403, (method, path)
        for path in ("/apis/understudy.dev/v1/namespaces/default/seatings", "/metrics", "//api/v1/pods", "/nothing"):
            assert await robot.code("POST", path, {}) == 403, path
        assert ask.state.store.revision == revision

    play(tmp_path, scenario)


def test_discovery_health_and_self_reviews_are_open_to_all_users(tmp_path: Path) -> None:
    async def scenario(_: Server, robot: As) -> None:
        for path in ("/api", "/api/v1", "/apis", "/apis/batch/v1", "/version", "/healthz", "/readyz", "/openapi/v3"):
            assert await robot.code("GET", path) == 200, path
        for question in QUESTIONS:
            spec = {"resourceAttributes": {"verb": "get", "resource": "pods"}}
            code = await robot.code("POST", question.path("default"), {"spec": spec})
            assert code == (201 if question.kind.startswith("SelfSubject") else 403), question.kind

    play(tmp_path, scenario)


_CANNOT = 'is forbidden: User "{}" cannot'
_HERE = 'in the namespace "default"'


@pytest.mark.parametrize(
    ("method", "path", "words"),
    [
        ("GET", PODS, f'pods {_CANNOT} list resource "pods" in API group "" {_HERE}'),
        ("GET", f"{PODS}/a/log", f'pods "a" {_CANNOT} get resource "pods/log" in API group "" {_HERE}'),
        ("GET", "/api/v1/nodes", f'nodes {_CANNOT} list resource "nodes" in API group "" at the cluster scope'),
        ("DELETE", f"{JOBS}/a", f'jobs.batch "a" {_CANNOT} delete resource "jobs" in API group "batch" {_HERE}'),
        ("GET", "/metrics", 'forbidden: User "{}" cannot get path "/metrics"'),
    ],
)
def test_a_refusal_is_in_the_words_of_kubernetes(tmp_path: Path, method: str, path: str, words: str) -> None:
    async def scenario(_: Server, robot: As) -> None:
        reply = await robot(method, path)
        assert (reply.code, reply.json["reason"]) == (403, "Forbidden")
        assert reply.json["message"] == words.format(NAME)

    play(tmp_path, scenario)


def test_a_binding_and_its_removal_apply_at_once(tmp_path: Path) -> None:
    async def scenario(ask: Server, robot: As) -> None:
        await grant(ask, rule("pods", "list"))
        assert await robot.code("GET", PODS) == 200
        assert await robot.code("GET", ELSEWHERE) == 403
        await ask.delete(f"{ROLE_BINDINGS}/rights")
        assert await robot.code("GET", PODS) == 403
        await bind(ask, {"kind": "Role", "name": "rights"}, "again")
        assert await robot.code("GET", PODS) == 200
        await ask.put(f"{ROLES}/rights", {"metadata": {"name": "rights"}, "rules": [rule("pods", "get")]})
        assert await robot.code("GET", PODS) == 403
        await ask.delete(f"{ROLES}/rights")
        assert await robot.code("GET", f"{PODS}/a") == 403

    play(tmp_path, scenario)


def test_names_subresources_and_verbs_count(tmp_path: Path) -> None:
    async def scenario(ask: Server, robot: As) -> None:
        for name in ("a", "b"):
            await ask.post(CONFIG_MAPS, config_map(name))
        await ask.post(PODS, pod("a"))
        await grant(
            ask,
            rule("configmaps", "get list watch update", resourceNames=["a"]),
            rule("pods/status */log", "get patch"),
        )
        assert await robot.code("GET", f"{CONFIG_MAPS}/a") == 200
        assert await robot.code("GET", f"{CONFIG_MAPS}/b") == 403
        assert await robot.code("GET", CONFIG_MAPS) == 403
        assert await robot.code("GET", f"{CONFIG_MAPS}?fieldSelector=metadata.name=a") == 200
        assert await robot.code("GET", f"{CONFIG_MAPS}?fieldSelector=metadata.name!=a") == 403
        assert await robot.code("DELETE", f"{CONFIG_MAPS}/a") == 403
        assert await robot.code("GET", f"{PODS}/a/status") == 200
        assert await robot.code("GET", f"{PODS}/a") == 403
        assert await robot.code("GET", f"{PODS}/a/log") == 400  # allowed; there is no log yet
        assert await robot.code("GET", f"{PODS}/a/exec?command=true") == 403

    play(tmp_path, scenario)


def test_a_cluster_role_applies_everywhere_or_where_it_is_bound(tmp_path: Path) -> None:
    async def scenario(ask: Server, robot: As) -> None:
        await bind(ask, {"kind": "ClusterRole", "name": "view"}, "looks")
        assert await robot.code("GET", PODS) == 200
        assert await robot.code("GET", "/api/v1/namespaces/default") == 200
        assert await robot.code("GET", "/api/v1/namespaces/default/secrets") == 403
        assert await robot.code("GET", ELSEWHERE) == 403
        subject = {"kind": "Group", "name": "system:serviceaccounts:default"}
        role = {"kind": "ClusterRole", "name": "view"}
        await ask.post(CLUSTER_ROLE_BINDINGS, {"metadata": {"name": "l"}, "roleRef": role, "subjects": [subject]})
        assert await robot.code("GET", ELSEWHERE) == 200
        assert await robot.code("GET", "/api/v1/pods") == 200
        await ask.delete(f"{CLUSTER_ROLE_BINDINGS}/l")
        assert await robot.code("GET", ELSEWHERE) == 403

    play(tmp_path, scenario)


def test_non_resource_paths_are_granted_by_cluster_roles(tmp_path: Path) -> None:
    async def scenario(ask: Server, robot: As) -> None:
        paths = {"nonResourceURLs": ["/metrics", "/debug/*"], "verbs": ["get"]}
        await ask.post(CLUSTER_ROLES, {"metadata": {"name": "meters"}, "rules": [paths]})
        role, subject = {"kind": "ClusterRole", "name": "meters"}, {"kind": "User", "name": NAME}
        await ask.post(CLUSTER_ROLE_BINDINGS, {"metadata": {"name": "m"}, "roleRef": role, "subjects": [subject]})
        assert [await robot.code("GET", path) for path in ("/metrics", "/debug/x", "/other")] == [404, 404, 403]

    play(tmp_path, scenario)


def test_an_apply_that_creates_needs_the_right_to_create(tmp_path: Path) -> None:
    async def scenario(ask: Server, robot: As) -> None:
        await grant(ask, rule("configmaps", "patch"))
        applied = f"{CONFIG_MAPS}/a?fieldManager=me"
        body = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"}}
        reply = await robot("PATCH", applied, body, content_type=APPLY)
        assert (reply.code, "cannot create resource" in reply.json["message"]) == (403, True)
        await grant(ask, rule("configmaps", "create"), name="more")
        assert await robot.code("PATCH", applied, body, content_type=APPLY) == 201

    play(tmp_path, scenario)


async def can(robot: As, **attributes: str) -> Json:
    reply = await robot("POST", f"{REVIEWS}/selfsubjectaccessreviews", {"spec": {"resourceAttributes": attributes}})
    return reply.json["status"]["allowed"]


def test_access_reviews_agree_with_requests(tmp_path: Path) -> None:
    async def scenario(ask: Server, robot: As) -> None:
        await grant(ask, rule("pods", "list"))
        assert await can(robot, verb="list", resource="pods", namespace="default") is True
        assert await can(robot, verb="list", resource="pods", namespace="kube-system") is False
        assert await can(robot, verb="list", resource="pods") is False
        assert await can(robot, verb="delete", resource="pods", namespace="default") is False
        rules = await robot("POST", f"{REVIEWS}/selfsubjectrulesreviews", {"spec": {"namespace": "default"}})
        assert {"verbs": ["list"], "apiGroups": [""], "resources": ["pods"]} in rules.json["status"]["resourceRules"]
        asked = {"resourceAttributes": {"verb": "list", "resource": "pods", "namespace": "default"}}
        for who, allowed in [({"user": NAME}, True), ({"user": "mallory"}, False), ({"user": "admin"}, True)]:
            review = await ask.post(f"{REVIEWS}/subjectaccessreviews", {"spec": {**asked, **who}})
            assert review["status"]["allowed"] is allowed, who

    play(tmp_path, scenario)
