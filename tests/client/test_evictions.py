"""Pods are evicted, else deleted, and carry a reason. A batch Job does not count a pod that was healthy."""

import asyncio
import json
from typing import Any

import pytest

from tests.client.scripted_server import Reply, Request, serving
from understudy.client import connect
from understudy.client.evictions import UNTRACK_ATTEMPTS, untrack_from_job
from understudy.objects.resources import PODS
from understudy.ports import PodEviction, Ref, Refused

WHY = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
BUDGET = {"kind": "Status", "code": 429, "reason": "TooManyRequests", "message": "Cannot evict pod"}


def asked(departure: PodEviction, **refusals: int) -> list[tuple[str, Any]]:
    """What is asked, as `method sub-resource` and body, of a server that answers these with these codes."""

    async def answer(request: Request, reply: Reply) -> None:
        code = refusals.get(_name(request), 200)
        await (reply.json({"kind": "Pod"}) if code == 200 else reply.json({**BUDGET, "code": code}, code))

    async def run() -> list[tuple[str, Any]]:
        async with serving(answer) as server, connect(server.config(timeout=5.0)) as client:
            await client.release("team", [departure])
            await client.settled()
            return [(_name(request), json.loads(request.body)) for request in server.requests]

    return asyncio.run(run())


def _name(request: Request) -> str:
    sub = request.path.removeprefix("/api/v1/namespaces/team/pods/worker-0").strip("/")
    return sub or request.method.lower()


def test_a_pod_is_evicted_and_then_told_why_since_an_eviction_writes_over_it() -> None:
    evicted, marked = asked(PodEviction("worker-0", "u-0", WHY))
    assert evicted[0] == "eviction"
    assert evicted[1]["metadata"] == {"name": "worker-0", "namespace": "team"}
    assert evicted[1]["deleteOptions"] == {"preconditions": {"uid": "u-0"}}
    assert marked == ("status", {"metadata": {"uid": "u-0"}, "status": {"conditions": [WHY]}})


@pytest.mark.parametrize("code", [403, 404, 405, 429])
def test_one_that_a_budget_keeps_is_told_why_and_deleted(code: int) -> None:
    names = [name for name, _ in asked(PodEviction("worker-0", "u-0", WHY, grace=5), eviction=code)]
    assert names == ["eviction", "status", "delete"]


def test_pods_on_a_lost_node_get_no_grace_period() -> None:
    marked, deleted = asked(PodEviction("worker-0", "u-0", WHY, grace=0))
    assert marked[0] == "status"
    assert deleted[0] == "delete"
    assert (deleted[1]["gracePeriodSeconds"], deleted[1]["preconditions"]) == (0, {"uid": "u-0"})


@pytest.mark.parametrize("gone", [{"status": 404}, {"status": 409}, {"eviction": 404, "status": 404}])
def test_pods_that_are_gone_or_replaced_are_skipped(gone: dict[str, int]) -> None:
    asked(PodEviction("worker-0", "u-0", WHY), **gone)


def test_a_refused_eviction_is_reported_to_the_caller() -> None:
    with pytest.raises(Refused) as caught:
        asked(PodEviction("worker-0", "u-0", WHY), eviction=403, delete=403)
    assert caught.value.code == 403


def test_a_jobs_pod_is_taken_off_its_books_and_goes_at_once_from_a_lost_node() -> None:
    taken_off, deleted = asked(PodEviction("worker-0", "u-0", WHY, grace=0, excused="7"))
    finalizers = {"$deleteFromPrimitiveList/finalizers": ["batch.kubernetes.io/job-tracking"]}
    assert taken_off == ("patch", {"metadata": {"uid": "u-0", "resourceVersion": "7", **finalizers}})
    assert deleted[0] == "delete"


def test_a_jobs_pod_on_a_node_that_works_is_taken_off_its_books_evicted_and_told_why() -> None:
    assert [name for name, _ in asked(PodEviction("worker-0", "u-0", WHY, excused="7"))] == [
        "patch",
        "eviction",
        "status",
    ]


CHANGED = {"kind": "Status", "code": 409, "reason": "Conflict", "message": "the object has been modified"}


def versions_tried(found: dict[str, Any], newest: str) -> list[str]:
    """The versions that are asked to be changed, of a server that takes only the newest and shows this pod."""

    async def answer(request: Request, reply: Reply) -> None:
        if request.method == "GET":
            await reply.json(found)
        elif json.loads(request.body)["metadata"]["resourceVersion"] == newest:
            await reply.json({"kind": "Pod"})
        else:
            await reply.json(CHANGED, 409)

    async def run() -> list[str]:
        async with serving(answer) as server, connect(server.config(timeout=5.0)) as client:
            await untrack_from_job(client, Ref(PODS, "team", "worker-0"), PodEviction("worker-0", "u-0", {}, 0, "7"))
            asked = [json.loads(request.body) for request in server.requests if request.method == "PATCH"]
            return [body["metadata"]["resourceVersion"] for body in asked]

    return asyncio.run(run())


def pod(version: str, phase: str = "Running", uid: str = "u-0") -> dict[str, Any]:
    return {"kind": "Pod", "metadata": {"uid": uid, "resourceVersion": version}, "status": {"phase": phase}}


def test_one_that_is_as_it_was_seen_is_changed_at_once() -> None:
    assert versions_tried(pod("7"), "7") == ["7"]


def test_one_that_changed_meanwhile_is_read_anew() -> None:
    assert versions_tried(pod("9"), "9") == ["7", "9"]


@pytest.mark.parametrize("found", [pod("9", "Succeeded"), pod("9", "Failed"), pod("9", uid="u-1")])
def test_what_a_pod_ended_with_counts_and_another_is_left_alone(found: dict[str, Any]) -> None:
    assert versions_tried(found, "9") == ["7"]


def test_one_that_changes_all_the_time_is_counted_in_the_end() -> None:
    assert len(versions_tried(pod("8"), "never")) == UNTRACK_ATTEMPTS
