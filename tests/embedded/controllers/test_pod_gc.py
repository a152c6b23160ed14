"""Pods that no other controller deletes."""

from tests.embedded.controllers.controller_runner import (
    ControllerParts,
    job_kind_controller,
    run_scenario,
    running_controllers,
)
from tests.embedded.controllers.fake_cluster import FakeCluster, moment, quiet
from tests.objects.documents import job, node, pod
from understudy.embedded.controllers.pod_gc import MISSING, PodGarbageCollector
from understudy.embedded.controllers.runtime.controller import Controller
from understudy.objects.resources import JOBS, NODES, PODS


def garbage(parts: ControllerParts) -> Controller:
    return PodGarbageCollector(parts.cluster, parts.clock, most_finished=3)


def test_pods_of_a_node_that_is_no_more_are_given_up_after_a_while() -> None:
    async def scenario(api: FakeCluster) -> None:
        async with running_controllers(api, garbage):
            for name in ("a", "b"):
                api.put(NODES, node(name))
                api.put(PODS, pod(f"on-{name}", node=name, meta={"finalizers": ["example.com/record"]}))
            await quiet()
            api.remove(NODES, "a")
            await api.clock.advance(MISSING - 1)
            assert api.read(PODS, "on-a")["status"]["phase"] == "Running"
            await api.clock.advance(2)
            given_up = api.read(PODS, "on-a")
            assert given_up["status"]["phase"] == "Failed"
            assert given_up["status"]["conditions"][0]["reason"] == "DeletionByPodGC"
            assert given_up["metadata"]["deletionGracePeriodSeconds"] == 0
            assert api.read(PODS, "on-b")["status"]["phase"] == "Running"

    run_scenario(scenario)


def test_a_node_that_comes_back_in_time_keeps_its_pods() -> None:
    async def scenario(api: FakeCluster) -> None:
        async with running_controllers(api, garbage):
            api.put(NODES, node("a"))
            api.put(PODS, pod("on-a", node="a"))
            await quiet()
            api.remove(NODES, "a")
            await api.clock.advance(MISSING - 1)
            api.put(NODES, node("a"))
            await api.clock.advance(2 * MISSING)
            assert api.names(PODS) == ["on-a"]

    run_scenario(scenario)


def test_a_pod_bound_to_a_node_that_never_was_is_given_up() -> None:
    async def scenario(api: FakeCluster) -> None:
        api.put(PODS, pod("lost", node="nowhere"))
        async with running_controllers(api, garbage):
            await api.clock.advance(MISSING + 1)
            assert api.names(PODS) == []

    run_scenario(scenario)


def test_a_pod_that_was_given_up_costs_its_job_nothing() -> None:
    async def scenario(api: FakeCluster) -> None:
        async with running_controllers(api, garbage, job_kind_controller("Job")):
            api.put(NODES, node("a"))
            api.put(JOBS, job("train", backoffLimit=0))
            await api.clock.advance(1)
            (name,) = api.names(PODS)
            api.change(PODS, name, {"spec": {"nodeName": "a"}, "status": {"phase": "Running"}})
            api.remove(NODES, "a")
            await api.clock.advance(MISSING + 2)
            assert name not in api.names(PODS)
            assert len(api.names(PODS)) == 1
            assert "conditions" not in api.read(JOBS, "train")["status"]

    run_scenario(scenario)


def test_of_many_finished_pods_the_oldest_go() -> None:
    async def scenario(api: FakeCluster) -> None:
        async with running_controllers(api, garbage):
            for number in range(6):
                meta = {"creationTimestamp": moment(1000 + number)}
                api.put(PODS, pod(f"done-{number}", meta=meta, status={"phase": "Succeeded"}))
            api.put(PODS, pod("waiting", meta={"creationTimestamp": moment(0)}))
            await quiet()
            assert sorted(api.names(PODS)) == ["done-3", "done-4", "done-5", "waiting"]

    run_scenario(scenario)
