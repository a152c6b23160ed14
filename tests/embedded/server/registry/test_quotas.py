"""ResourceQuotas are enforced, and what is used is exact at any moment."""

import asyncio
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from tests.embedded.server.in_process_server import MERGE, Server, config_map, pod, server

PODS = "/api/v1/namespaces/default/pods"
QUOTAS = "/api/v1/namespaces/default/resourcequotas"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
Json = dict[str, Any]


def quota(name: str = "team", hard: Json | None = None, **spec: Any) -> Json:
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": name}, "spec": {"hard": hard, **spec}}


def taking(name: str, requests: Json | None = None, limits: Json | None = None, **spec: Any) -> Json:
    made: Json = pod(name, **spec)
    made["spec"]["containers"][0]["resources"] = {"requests": requests or {}, "limits": limits or {}}
    return made


def on_a_server(path: Path, scenario: Callable[[Server], Awaitable[None]]) -> None:
    async def run() -> None:
        async with server(path) as ask:
            await scenario(ask)

    asyncio.run(run())


async def used(ask: Server, name: str = "team") -> Json:
    return dict((await ask.get(f"{QUOTAS}/{name}"))["status"]["used"])


def test_a_pod_too_many_is_refused_in_the_words_of_kubernetes_and_changes_nothing(tmp_path: Path) -> None:
    async def scenario(ask: Server) -> None:
        await ask.post(QUOTAS, quota(hard={"pods": "1"}))
        await ask.post(PODS, pod("one"))
        refused = await ask("POST", PODS, pod("two"))
        assert refused.code == HTTPStatus.FORBIDDEN
        assert refused.json["message"] == (
            'pods "two" is forbidden: exceeded quota: team, requested: pods=1, used: pods=1, limited: pods=1'
        )
        assert (await ask("GET", f"{PODS}/two")).code == HTTPStatus.NOT_FOUND
        assert await used(ask) == {"pods": "1"}

    on_a_server(tmp_path, scenario)


def test_what_was_there_before_the_quota_is_counted(tmp_path: Path) -> None:
    async def scenario(ask: Server) -> None:
        await ask.post(PODS, pod("one"))
        await ask.post(PODS, pod("two"))
        made = await ask.post(QUOTAS, quota(hard={"pods": "5", "count/configmaps": "3"}))
        assert made["metadata"]["name"] == "team"
        assert await used(ask) == {"pods": "2", "count/configmaps": "0"}
        assert (await ask.get(f"{QUOTAS}/team"))["status"]["hard"] == {"pods": "5", "count/configmaps": "3"}

    on_a_server(tmp_path, scenario)


def test_pods_that_end_or_are_deleted_make_room(tmp_path: Path) -> None:
    async def scenario(ask: Server) -> None:
        await ask.post(QUOTAS, quota(hard={"pods": "1", "count/pods": "2"}))
        await ask.post(PODS, pod("one"))
        ended = {"status": {"phase": "Succeeded"}}
        assert (await ask("PATCH", f"{PODS}/one/status", ended, content_type=MERGE)).code == HTTPStatus.OK
        assert await used(ask) == {"pods": "0", "count/pods": "1"}
        await ask.post(PODS, pod("two"))
        assert await used(ask) == {"pods": "1", "count/pods": "2"}
        assert (await ask("POST", PODS, pod("three"))).code == HTTPStatus.FORBIDDEN
        assert (await ask("DELETE", f"{PODS}/two")).code == HTTPStatus.OK
        assert (await ask("DELETE", f"{PODS}/one")).code == HTTPStatus.OK
        assert await used(ask) == {"pods": "0", "count/pods": "0"}

    on_a_server(tmp_path, scenario)


def test_a_collection_that_is_deleted_is_taken_off_and_answered_alone(tmp_path: Path) -> None:
    async def scenario(ask: Server) -> None:
        await ask.post(QUOTAS, quota(hard={"configmaps": "3"}))
        for name in ("one", "two", "three"):
            await ask.post(CONFIG_MAPS, config_map(name))
        assert await used(ask) == {"configmaps": "3"}
        deleted = await ask("DELETE", CONFIG_MAPS)
        assert sorted(one["metadata"]["name"] for one in deleted.json["items"]) == ["one", "three", "two"]
        assert await used(ask) == {"configmaps": "0"}

    on_a_server(tmp_path, scenario)


def test_amounts_of_pods_are_added_up(tmp_path: Path) -> None:
    hard = {"requests.cpu": "2", "limits.memory": "4Gi", "requests.nvidia.com/gpu": "4"}

    async def scenario(ask: Server) -> None:
        await ask.post(QUOTAS, quota(hard=hard))
        gpus = {"nvidia.com/gpu": "3"}
        await ask.post(PODS, taking("one", {"cpu": "500m", **gpus}, {"cpu": "1", "memory": "1Gi", **gpus}))
        assert await used(ask) == {"requests.cpu": "500m", "limits.memory": "1Gi", "requests.nvidia.com/gpu": "3"}
        refused = await ask("POST", PODS, taking("two", {"cpu": "1"}, {"cpu": "1", "memory": "1Gi", **gpus}))
        assert refused.json["message"].endswith(
            "exceeded quota: team, requested: requests.nvidia.com/gpu=3, used: requests.nvidia.com/gpu=3, "
            "limited: requests.nvidia.com/gpu=4"
        )
        silent = await ask("POST", PODS, taking("three", {"memory": "1Gi"}))
        assert silent.json["message"].endswith(
            "failed quota: team: must specify limits.memory for: main; requests.cpu for: main"
        )

    on_a_server(tmp_path, scenario)


def test_a_quota_that_changes_counts_anew_and_what_is_there_stays(tmp_path: Path) -> None:
    async def scenario(ask: Server) -> None:
        await ask.post(QUOTAS, quota(hard={"pods": "5"}))
        await ask.post(PODS, pod("one"))
        await ask.post(PODS, pod("two"))
        patch = {"spec": {"hard": {"pods": "1", "count/pods": "9"}}}
        assert (await ask("PATCH", f"{QUOTAS}/team", patch, content_type=MERGE)).code == HTTPStatus.OK
        assert await used(ask) == {"pods": "2", "count/pods": "2"}
        assert (await ask("POST", PODS, pod("three"))).code == HTTPStatus.FORBIDDEN
        assert (await ask("DELETE", f"{QUOTAS}/team")).code == HTTPStatus.OK
        await ask.post(PODS, pod("three"))

    on_a_server(tmp_path, scenario)


def test_scopes_choose_the_pods_that_count(tmp_path: Path) -> None:
    low = {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["low"]}]}
    classes = "/apis/scheduling.k8s.io/v1/priorityclasses"

    async def scenario(ask: Server) -> None:
        await ask.post(classes, {"metadata": {"name": "low"}, "value": 1})
        await ask.post(QUOTAS, quota("low", {"pods": "1"}, scopeSelector=low))
        await ask.post(QUOTAS, quota("short", {"pods": "1"}, scopes=["Terminating"]))
        await ask.post(QUOTAS, quota("idle", {"pods": "1"}, scopes=["BestEffort"]))
        await ask.post(PODS, taking("plain", {"cpu": "1"}))
        await ask.post(PODS, taking("lesser", {"cpu": "1"}, priorityClassName="low"))
        await ask.post(PODS, taking("brief", {"cpu": "1"}, activeDeadlineSeconds=60))
        await ask.post(PODS, pod("idle"))
        counted = [await used(ask, name) for name in ("low", "short", "idle")]
        assert counted == [{"pods": "1"}] * 3
        refused = await ask("POST", PODS, taking("another", {"cpu": "1"}, priorityClassName="low"))
        assert "exceeded quota: low" in refused.json["message"]

    on_a_server(tmp_path, scenario)


def test_services_and_claims_have_amounts_of_their_own(tmp_path: Path) -> None:
    hard = {"services": "3", "services.nodeports": "1", "requests.storage": "3Gi", "persistentvolumeclaims": "9"}
    claim = {
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}}},
    }

    async def scenario(ask: Server) -> None:
        await ask.post(QUOTAS, quota(hard=hard))
        service = {"metadata": {"name": "web"}, "spec": {"type": "NodePort", "ports": [{"port": 80}]}}
        await ask.post("/api/v1/namespaces/default/services", service)
        await ask.post("/api/v1/namespaces/default/persistentvolumeclaims", claim)
        taken = {"services": "2", "services.nodeports": "1", "requests.storage": "2Gi", "persistentvolumeclaims": "1"}
        assert await used(ask) == taken
        second = claim | {"metadata": {"name": "more"}}
        refused = await ask("POST", "/api/v1/namespaces/default/persistentvolumeclaims", second)
        assert (
            "requested: requests.storage=2Gi, used: requests.storage=2Gi, limited: requests.storage=3Gi"
            in (refused.json["message"])
        )

    on_a_server(tmp_path, scenario)


def test_what_is_used_is_still_exact_after_a_restart(tmp_path: Path) -> None:
    async def before(ask: Server) -> None:
        await ask.post(QUOTAS, quota(hard={"pods": "2"}))
        await ask.post(PODS, pod("one"))

    async def after(ask: Server) -> None:
        assert await used(ask) == {"pods": "1"}
        await ask.post(PODS, pod("two"))
        assert (await ask("POST", PODS, pod("three"))).code == HTTPStatus.FORBIDDEN

    on_a_server(tmp_path, before)
    on_a_server(tmp_path, after)


def test_of_many_pods_at_once_no_more_are_made_than_the_quota_allows(tmp_path: Path) -> None:
    async def scenario(ask: Server) -> None:
        await ask.post(QUOTAS, quota(hard={"pods": "5"}))
        answers = await asyncio.gather(*(ask("POST", PODS, pod(f"p{i}")) for i in range(20)))
        assert sorted(answer.code for answer in answers) == [HTTPStatus.CREATED] * 5 + [HTTPStatus.FORBIDDEN] * 15
        assert await used(ask) == {"pods": "5"}

    on_a_server(tmp_path, scenario)


def test_a_dry_run_is_refused_and_takes_nothing(tmp_path: Path) -> None:
    async def scenario(ask: Server) -> None:
        await ask.post(QUOTAS, quota(hard={"pods": "1"}))
        await ask.post(f"{PODS}?dryRun=All", pod("one"))
        assert await used(ask) == {"pods": "0"}

    on_a_server(tmp_path, scenario)


@pytest.mark.parametrize(
    ("spec", "field", "said"),
    [
        ({"hard": {"gpus": "1"}}, "spec.hard[gpus]", "standard resource type or fully qualified"),
        ({"hard": {"pods": "-1"}}, "spec.hard[pods]", "greater than or equal to 0"),
        ({"hard": {"pods": "1"}, "scopes": ["BestEffort", "NotBestEffort"]}, "spec.scopes", "conflicting scopes"),
        ({"hard": {"secrets": "1"}, "scopes": ["BestEffort"]}, "spec.scopes", "unsupported scope"),
    ],
)
def test_a_wrong_quota_is_refused_with_its_field(tmp_path: Path, spec: Json, field: str, said: str) -> None:
    async def scenario(ask: Server) -> None:
        refused = await ask("POST", QUOTAS, {"metadata": {"name": "wrong"}, "spec": spec})
        assert refused.code == HTTPStatus.UNPROCESSABLE_ENTITY
        assert [cause["field"] for cause in refused.json["details"]["causes"]] == [field]
        assert said in refused.json["message"]

    on_a_server(tmp_path, scenario)
