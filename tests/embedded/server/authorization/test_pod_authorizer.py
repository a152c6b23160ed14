"""The rights of every pod: to read itself and its jobs, and to report checkpoints on them."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.embedded.server.in_process_server import JSON_PATCH, MERGE, PODS, STRATEGIC, Json, Server, pod, server
from tests.embedded.server.rbac_setup import REVIEWS, As, pod_token, token
from understudy.train.job_client import LAST_CHECKPOINT

JOBS = "/apis/batch/v1/namespaces/default/jobs"
REPORT = {"metadata": {"annotations": {LAST_CHECKPOINT: "2026-01-01T00:00:00Z"}}}


def job(name: str) -> Json:
    template = {"spec": {**pod("x")["spec"], "restartPolicy": "Never"}}
    return {"metadata": {"name": name}, "spec": {"suspend": True, "template": template}}


def child(name: str, owner: Json) -> Json:
    document = pod(name)
    about = {"apiVersion": "batch/v1", "kind": "Job", "controller": True}
    named = {"name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"]}
    document["metadata"]["ownerReferences"] = [{**about, **named}]
    return document


def play(path: Path, scenario: Callable[[Server, As], Awaitable[None]]) -> None:
    """Two jobs with a pod each; the scenario has the token of the first one's."""

    async def whole() -> None:
        async with server(path) as ask:
            for name in ("mine", "other"):
                made = await ask.post(JOBS, job(name))
                member = await ask.post(PODS, child(f"{name}-0", made))
                if name == "mine":
                    first = member
            await scenario(ask, As(ask, await pod_token(ask, first)))

    asyncio.run(whole())


def test_a_pod_reports_on_its_own_job(tmp_path: Path) -> None:
    async def scenario(ask: Server, robot: As) -> None:
        for place in (f"{PODS}/mine-0", f"{JOBS}/mine"):
            assert await robot.code("GET", place) == 200
            assert await robot.code("PATCH", place, REPORT, content_type=MERGE) == 200
            assert await robot.code("PATCH", place, REPORT, content_type=STRATEGIC) == 200
            found = await ask.get(place)
            assert found["metadata"]["annotations"] == REPORT["metadata"]["annotations"]

    play(tmp_path, scenario)


def test_a_pod_has_no_rights_on_other_jobs_and_pods(tmp_path: Path) -> None:
    async def scenario(_: Server, robot: As) -> None:
        for place in (f"{PODS}/other-0", f"{JOBS}/other", "/api/v1/namespaces/kube-system/pods/mine-0"):
            assert await robot.code("GET", place) == 403
            assert await robot.code("PATCH", place, REPORT, content_type=MERGE) == 403

    play(tmp_path, scenario)


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        ({"spec": {"suspend": False}}, MERGE),
        ({**REPORT, "spec": {"suspend": False}}, MERGE),
        ({"metadata": {"annotations": {"understudy.dev/spares": "1"}}}, MERGE),
        ({"metadata": {"annotations": {**REPORT["metadata"]["annotations"], "a": "b"}}}, MERGE),
        ({"metadata": {**REPORT["metadata"], "finalizers": ["a/b"]}}, MERGE),
        ({"metadata": {"annotations": None}}, MERGE),
        ([{"op": "remove", "path": "/spec/template"}], JSON_PATCH),
        (b"{", MERGE),
        (b"", MERGE),
        (b"[" * 50_000, MERGE),
    ],
)
def test_a_pod_may_change_nothing_but_the_report(tmp_path: Path, body: Json, content_type: str) -> None:
    async def scenario(ask: Server, robot: As) -> None:
        before = await ask.get(f"{JOBS}/mine")
        reply = await robot("PATCH", f"{JOBS}/mine", body, content_type=content_type)
        assert (reply.code, LAST_CHECKPOINT in reply.json["message"]) == (403, True)
        assert await ask.get(f"{JOBS}/mine") == before

    play(tmp_path, scenario)


@pytest.mark.parametrize(("method", "sub"), [("DELETE", ""), ("PUT", ""), ("PATCH", "/status"), ("GET", "/status")])
def test_no_other_verb_is_allowed(tmp_path: Path, method: str, sub: str) -> None:
    async def scenario(_: Server, robot: As) -> None:
        assert await robot.code(method, f"{JOBS}/mine{sub}", REPORT, content_type=MERGE) == 403

    play(tmp_path, scenario)


def test_a_job_of_the_same_name_with_another_uid_is_not_its_job(tmp_path: Path) -> None:
    async def scenario(ask: Server, robot: As) -> None:
        await ask.delete(f"{JOBS}/mine?propagationPolicy=Background")
        await ask.post(JOBS, job("mine"))
        assert await robot.code("GET", f"{JOBS}/mine") == 403

    play(tmp_path, scenario)


def test_a_token_without_a_pod_has_no_such_rights(tmp_path: Path) -> None:
    async def scenario(ask: Server, _: As) -> None:
        robot = As(ask, await token(ask, "default"))
        assert await robot.code("GET", f"{PODS}/mine-0") == 403
        assert await robot.code("PATCH", f"{JOBS}/mine", REPORT, content_type=MERGE) == 403

    play(tmp_path, scenario)


def test_reviews_list_the_rights_of_the_pod(tmp_path: Path) -> None:
    async def scenario(_: Server, robot: As) -> None:
        rules = await robot("POST", f"{REVIEWS}/selfsubjectrulesreviews", {"spec": {"namespace": "default"}})
        named = [one for one in rules.json["status"]["resourceRules"] if "resourceNames" in one]
        assert [(one["resources"], one["resourceNames"]) for one in named] == [
            (["pods"], ["mine-0"]),
            (["jobs"], ["mine"]),
        ]
        attributes = {"verb": "patch", "group": "batch", "resource": "jobs", "namespace": "default", "name": "mine"}
        review = {"spec": {"resourceAttributes": attributes}}
        status = (await robot("POST", f"{REVIEWS}/selfsubjectaccessreviews", review)).json["status"]
        assert status["allowed"] is True
        assert "and nothing else" in status["reason"]

    play(tmp_path, scenario)
