"""A batch Job does not count a pod that goes for no fault of its own, unless it ended meanwhile."""

import asyncio
import json
from typing import Any

import pytest

from tests.client.scripted import Reply, Request, serving
from understudy.client import connect
from understudy.client.excusing import ATTEMPTS, excuse
from understudy.objects.resources import PODS
from understudy.ports import Departure, Ref

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
            await excuse(client, Ref(PODS, "team", "worker-0"), Departure("worker-0", "u-0", {}, 0, "7"))
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
    assert len(versions_tried(pod("8"), "never")) == ATTEMPTS
