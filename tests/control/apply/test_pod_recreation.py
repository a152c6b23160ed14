"""Pods without an owner that ask to come back when they are preempted."""

import msgspec

from tests.control.apply.test_seat_release import ON_PREEMPTION, notes, with_victim
from tests.control.loop_harness import LoopHarness, run_scenario
from tests.objects.documents import Document, owner, pod, pod_spec
from tests.scenarios.test_random_walks import torch
from understudy.kinds.training_operator.pytorchjob import PYTORCH_JOBS
from understudy.objects.resources import CONFIG_MAPS, PODS
from understudy.ports import Refused


def notebook(**meta: object) -> Document:
    spec = {**pod_spec({"nvidia.com/gpu": "8"}), "priorityClassName": "low", "hostname": "desk"}
    fields = {"annotations": {ON_PREEMPTION: "requeue"}, "labels": {"team": "blue"}, **meta}
    return {**pod("notebook", "", fields), "spec": spec}


def test_it_is_made_again_as_it_was_asked_for_with_its_place_in_line() -> None:
    async def scenario(world: LoopHarness) -> None:
        await with_victim(world, notebook())
        first = world.pod("notebook")["metadata"]
        world.cluster.put(torch("hero", 1, "high"))
        await world.settle()
        again = world.pod("notebook")
        assert again["metadata"]["uid"] != first["uid"]
        assert again["metadata"]["labels"] == {"team": "blue"}
        assert again["spec"] == notebook()["spec"]
        written = notes(world, PODS, "notebook")
        assert (written["queued-at"], written["last-seats"]) == (first["creationTimestamp"], "notebook=a")
        assert world.cluster.all(CONFIG_MAPS) == []
        world.cluster.take_away(world.cluster.find(PYTORCH_JOBS, "hero"))
        await world.settle()
        assert world.seats() == {"notebook": "a"}

    run_scenario(scenario)


def test_it_is_written_down_as_long_as_it_is_leaving() -> None:
    async def scenario(world: LoopHarness) -> None:
        await with_victim(world, notebook())
        world.hands.clinging.add("Pod/default/notebook")
        world.cluster.put(torch("hero", 1, "high"))
        await world.settle()
        (record,) = world.cluster.all(CONFIG_MAPS)
        kept = msgspec.json.decode(record["data"]["pod"])
        assert kept["uid"] == world.pod("notebook")["metadata"]["uid"]
        assert "nodeName" not in kept["manifest"]["spec"]

    run_scenario(scenario)


def test_a_pod_with_an_owner_is_left_to_its_owner() -> None:
    async def scenario(world: LoopHarness) -> None:
        await with_victim(world, notebook(ownerReferences=owner("ReplicaSet", "web")))
        world.cluster.put(torch("hero", 1, "high"))
        await world.settle()
        assert [p["metadata"]["name"] for p in world.cluster.all(PODS)] == ["hero-worker-0"]

    run_scenario(scenario)


def test_a_record_of_a_pod_that_was_not_deleted_after_all_is_thrown_away() -> None:
    async def scenario(world: LoopHarness) -> None:
        await with_victim(world, notebook())

        def before_write(write: str) -> None:
            if write.startswith("delete pods notebook"):
                raise Refused(403, "Forbidden", "not this one")

        world.cluster.before_write = before_write
        world.cluster.put(torch("hero", 1, "high"))
        await world.clock.let_pass(0.05)
        world.cluster.take_away(world.cluster.find(PYTORCH_JOBS, "hero"))
        await world.clock.let_pass(60.0)
        await world.settle()
        assert world.cluster.all(CONFIG_MAPS) == []
        assert world.seats() == {"notebook": "a"}

    run_scenario(scenario)


def test_a_pod_that_another_client_created_again_is_not_created_twice() -> None:
    async def scenario(world: LoopHarness) -> None:
        await with_victim(world, notebook())
        world.hands.clinging.add("Pod/default/notebook")
        world.cluster.put(torch("hero", 1, "high"))
        await world.settle()
        world.cluster.take_away(world.pod("notebook"))
        mine = world.cluster.put({**notebook(), "metadata": {"name": "notebook", "labels": {"made": "by hand"}}})
        await world.settle()
        assert world.pod("notebook") is mine
        assert world.cluster.all(CONFIG_MAPS) == []

    run_scenario(scenario)


def test_records_of_others_are_left_alone() -> None:
    async def scenario(world: LoopHarness) -> None:
        strange = {"labels": {"understudy.dev/requeued": "pod"}, "name": "strange"}
        world.cluster.put({"apiVersion": "v1", "kind": "ConfigMap", "metadata": strange, "data": {"pod": "no JSON"}})
        await world.settle()
        assert len(world.cluster.all(CONFIG_MAPS)) == 1

    run_scenario(scenario)
