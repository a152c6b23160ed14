"""Drain requests of NVSentinel: the gang moves first, then the request is answered, once and only for an empty node."""

from typing import Any

import pytest

from tests.control.loop_harness import LoopHarness, run_scenario
from tests.control.record.test_incidents import begin
from tests.objects.documents import Document, pod
from tests.scenarios.test_random_walks import torch
from understudy.control.loop import LoopSettings
from understudy.kinds.annotations import format_time
from understudy.objects.resources import DRAIN_REQUESTS, PODS
from understudy.ports import Refused

NAME, SENTINEL = "drain-a-69ba", "nvsentinel"


def drain_request(node: str, **fields: Any) -> Document:
    """As NVSentinel's node drainer makes it from its template."""
    spec = {
        "nodeName": node,
        "checkName": "SysLogsXIDError",
        "errorCode": ["79"],
        "recommendedAction": "RESTART_BM",
        "entitiesImpacted": [{"type": "PCI", "value": "0002:00:00"}],
        "reason": "GPU has fallen off the bus.",
        **fields,
    }
    meta = {"name": NAME, "namespace": SENTINEL, "labels": {"nvsentinel.nvidia.com/node-name": node}}
    return {"apiVersion": DRAIN_REQUESTS.api_version, "kind": "DrainRequest", "metadata": meta, "spec": spec}


def answer(world: LoopHarness) -> Document | None:
    conditions = world.cluster.find(DRAIN_REQUESTS, NAME, SENTINEL).get("status", {}).get("conditions", ())
    return next((one for one in conditions if one["type"] == "DrainComplete"), None)


def answers(world: LoopHarness) -> int:
    return world.cluster.writes.count(f"patch {DRAIN_REQUESTS.key}/status {NAME}")


def test_the_gang_moves_and_then_the_request_is_answered_once() -> None:
    async def scenario(world: LoopHarness) -> None:
        await begin(world, "a b spare", torch("hero", 2, "high"))
        left: list[str] = []

        def look(what: str) -> None:
            if what.startswith(f"patch {DRAIN_REQUESTS.key}"):
                left.extend(
                    one["metadata"]["name"] for one in world.cluster.all(PODS) if one["spec"]["nodeName"] == "a"
                )

        world.cluster.before_write = look
        world.cluster.put(drain_request("a"))
        await world.settle()
        assert sorted(world.seats().values()) == ["b", "spare"]
        told = answer(world)
        assert told is not None
        assert (told["status"], told["reason"]) == ("True", "PodsMoved")
        assert told["lastTransitionTime"] <= format_time(world.clock.now())
        assert (answers(world), left) == (1, [])
        await world.restart()
        await world.settle()
        assert answers(world) == 1

    run_scenario(scenario)


def test_a_node_without_pods_is_answered_at_once_and_gets_none_while_the_request_stands() -> None:
    async def scenario(world: LoopHarness) -> None:
        await begin(world, "a")
        made = world.cluster.put(drain_request("a"))
        await world.settle()
        assert answer(world) is not None
        world.cluster.put(torch("late", 1, "high"))
        await world.settle()
        assert world.seats() == {}
        world.cluster.take_away(made)
        await world.settle()
        assert list(world.seats().values()) == ["a"]

    run_scenario(scenario)


def test_a_pod_of_others_that_the_request_names_has_to_go_first() -> None:
    async def scenario(world: LoopHarness) -> None:
        await begin(world, "a")
        other = world.cluster.put(pod("theirs", "a", schedulerName="other"))
        world.cluster.put(drain_request("a", podsToDrain={"default": ["theirs", "gone"]}))
        await world.settle()
        assert answer(world) is None
        world.cluster.take_away(other)
        await world.settle()
        assert answer(world) is not None

    run_scenario(scenario, LoopSettings(scheduler_name="default-scheduler"))


def test_a_pod_that_has_ended_or_belongs_to_the_node_is_not_waited_for() -> None:
    async def scenario(world: LoopHarness) -> None:
        await begin(world, "a")
        world.cluster.put(pod("done", "a", status={"phase": "Succeeded"}, schedulerName="other"))
        owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "d", "controller": True}
        world.cluster.put(pod("daemon", "a", meta={"ownerReferences": [owner]}, schedulerName="other"))
        world.cluster.put(drain_request("a", podsToDrain={"default": ["done", "daemon"]}))
        await world.settle()
        assert answer(world) is not None

    run_scenario(scenario, LoopSettings(scheduler_name="default-scheduler"))


def test_other_conditions_of_the_request_stay() -> None:
    async def scenario(world: LoopHarness) -> None:
        await begin(world, "a")
        pending = {"type": "DrainComplete", "status": "False", "reason": "Pending", "observedGeneration": 1}
        theirs = {"type": "Seen", "status": "True", "reason": "x", "message": "y", "observedGeneration": 3}
        world.cluster.put({**drain_request("a"), "status": {"conditions": [theirs, pending]}})
        await world.settle()
        conditions = world.cluster.find(DRAIN_REQUESTS, NAME, SENTINEL)["status"]["conditions"]
        assert conditions[0] == theirs
        assert [(one["type"], one["status"]) for one in conditions] == [("Seen", "True"), ("DrainComplete", "True")]

    run_scenario(scenario)


def test_an_answer_that_a_server_in_trouble_refused_is_given_later() -> None:
    async def scenario(world: LoopHarness) -> None:
        await begin(world, "a")

        def refuse(what: str) -> None:
            if what.startswith(f"patch {DRAIN_REQUESTS.key}"):
                raise Refused(503, "ServiceUnavailable", "not now")

        world.cluster.before_write = refuse
        world.cluster.put(drain_request("a"))
        await world.clock.let_pass(5.0)
        assert answer(world) is None
        world.cluster.before_write = lambda _: None
        await world.settle()
        assert answer(world) is not None

    run_scenario(scenario)


def test_an_answer_that_is_forbidden_stops_nothing_else() -> None:
    async def scenario(world: LoopHarness) -> None:
        await begin(world, "a b")

        def refuse(what: str) -> None:
            if what.startswith(f"patch {DRAIN_REQUESTS.key}"):
                raise Refused(403, "Forbidden", "no right to it")

        world.cluster.before_write = refuse
        world.cluster.put(drain_request("a"))
        world.cluster.put(torch("hero", 1, "high"))
        await world.settle()
        assert list(world.seats().values()) == ["b"]

    run_scenario(scenario)


@pytest.mark.parametrize("spec", [{"node": "a"}, {"nodeName": "a", "podsToDrain": {"default": "x"}}])
def test_a_request_of_another_form_is_reported_and_drains_nothing(spec: Document) -> None:
    async def scenario(world: LoopHarness) -> None:
        await begin(world, "a", torch("hero", 1, "high"))
        world.cluster.put({**drain_request("a"), "spec": spec})
        await world.settle()
        assert list(world.seats().values()) == ["a"]
        assert [reason for reason, _ in world.events(NAME)] == ["InvalidObject"]
        assert len(world.cluster.all(PODS)) == 1

    run_scenario(scenario)
