"""Jobs on a cluster: pods are made once, whatever the watch or the connection does."""

import asyncio
from typing import Any

import pytest

from tests.embedded.controllers.controller_runner import job_kind_controller, run_scenario, running_controllers
from tests.embedded.controllers.fake_cluster import BEGIN, FakeCluster, moment, quiet
from tests.objects.documents import job
from understudy.embedded.controllers.child_writer import CONCURRENCY
from understudy.embedded.controllers.job_kinds import JobKindController
from understudy.kinds.children.job.spec import TRACKING
from understudy.kinds.children.partial_objects import PartialObject
from understudy.objects.resources import EVENTS, JOBS, PODS
from understudy.ports import Ref

JOB = job_kind_controller("Job")


def finish(api: FakeCluster, name: str, phase: str = "Succeeded") -> None:
    api.change(PODS, name, {"status": {"phase": phase}})


def test_a_job_of_a_hundred_pods_is_made_and_completes() -> None:
    async def scenario(api: FakeCluster) -> None:
        async with running_controllers(api, JOB):
            api.put(JOBS, job("train", parallelism=100, completions=100))
            await quiet(1000)
            assert len(api.names(PODS)) == 100
            assert api.read(JOBS, "train")["status"]["active"] == 100
            for name in api.names(PODS):
                finish(api, name)
            await api.clock.advance(1)
            status = api.read(JOBS, "train")["status"]
            assert status["succeeded"] == 100
            assert {c["type"] for c in status["conditions"]} == {"SuccessCriteriaMet", "Complete"}
            assert all(TRACKING not in pod["metadata"]["finalizers"] for pod in api.all(PODS))

    run_scenario(scenario)


def test_a_status_is_written_a_few_times_not_once_a_pod() -> None:
    async def scenario(api: FakeCluster) -> None:
        async with running_controllers(api, JOB):
            api.put(JOBS, job("train", parallelism=50, completions=50))
            await quiet(1000)
            for name in api.names(PODS):
                api.change(PODS, name, {"status": {"conditions": [{"type": "Ready", "status": "True"}]}})
                await quiet(2)
            await api.clock.advance(1)
            assert api.read(JOBS, "train")["status"]["ready"] == 50
            assert api.writes("patch", JOBS) <= 5

    run_scenario(scenario)


def test_a_watch_that_lags_makes_no_pod_twice() -> None:
    async def scenario(api: FakeCluster) -> None:
        async with running_controllers(api, JOB):
            api.put(JOBS, job("train", parallelism=3, completions=3))
            await quiet(2)
            with api.held():
                await api.clock.advance(2)
                api.change(JOBS, "train", {"metadata": {"labels": {"touched": "yes"}}})
                await api.clock.advance(2)
            await api.clock.advance(2)
            assert len(api.names(PODS)) == 3

    run_scenario(scenario)


def test_pods_that_went_unseen_are_not_written_to_again_and_again() -> None:
    async def scenario(api: FakeCluster) -> None:
        async with running_controllers(api, JOB):
            api.put(JOBS, job("train", parallelism=2, completions=2))
            await quiet(200)
            for name in api.names(PODS):
                api.change(PODS, name, {"spec": {"nodeName": "a"}, "status": {"phase": "Running"}})
            await api.clock.advance(1)
            with api.deaf():
                for name in api.names(PODS):
                    api.remove(PODS, name)
            before = api.writes("patch", PODS)
            api.change(JOBS, "train", {"spec": {"suspend": True}})
            await api.clock.advance(5)
            assert api.writes("patch", PODS) - before <= 10

    run_scenario(scenario)


def test_a_watch_that_lags_sends_no_pod_home_twice() -> None:
    async def scenario(api: FakeCluster) -> None:
        async with running_controllers(api, JOB):
            api.put(JOBS, job("train", parallelism=2, completions=2))
            await quiet(200)
            for name in api.names(PODS):
                api.change(PODS, name, {"spec": {"nodeName": "a"}, "status": {"phase": "Running"}})
            await api.clock.advance(1)
            api.change(JOBS, "train", {"spec": {"suspend": True}})
            await quiet(3)
            with api.held():
                await api.clock.advance(3)
            await api.clock.advance(1)
            assert api.writes("delete", PODS) == 2

    run_scenario(scenario)


@pytest.mark.parametrize("where", ["before", "after"])
def test_a_connection_that_breaks_makes_neither_too_many_nor_too_few(where: str) -> None:
    async def scenario(api: FakeCluster) -> None:
        broken: list[str] = []

        def fault(verb: str, ref: Ref) -> str:
            if verb == "create" and ref.resource == PODS and len(broken) < 3:
                broken.append(verb)
                return where
            return ""

        api.fault = fault
        async with running_controllers(api, JOB):
            api.put(JOBS, job("train", parallelism=4, completions=4))
            await api.clock.advance(10)
            assert len(broken) == 3
            assert len(api.names(PODS)) == 4

    run_scenario(scenario)


def test_killed_after_any_number_of_writes_it_goes_on_where_it_was() -> None:
    """A pod a Job makes, loses, makes again and completes, with the controller killed after every single write."""

    async def scenario(api: FakeCluster) -> None:
        api.put(JOBS, job("train", parallelism=2, completions=2, backoffLimit=5))
        ended: set[str] = set()
        left = 0

        def fault(_: str, ref: Ref) -> str:
            nonlocal left
            left -= ref.resource != EVENTS
            return "before" if left < 0 else ""

        api.fault = fault
        for _ in range(30):
            left = 1
            async with running_controllers(api, JOB):
                await quiet(100)
            for name in api.names(PODS):
                if name not in ended:
                    ended.add(name)
                    finish(api, name, "Failed" if len(ended) == 1 else "Succeeded")
            await api.clock.advance(11)
        status = api.read(JOBS, "train")["status"]
        assert (status["succeeded"], status["failed"]) == (2, 1)
        assert status["conditions"][-1]["type"] == "Complete"
        assert len(api.names(PODS)) == 3

    run_scenario(scenario)


def test_pods_of_a_deleted_job_are_let_go() -> None:
    async def scenario(api: FakeCluster) -> None:
        async with running_controllers(api, JOB):
            api.put(JOBS, job("train", parallelism=2, completions=2))
            await quiet(200)
            api.remove(JOBS, "train")
            await api.clock.advance(1)
            assert all(TRACKING not in pod["metadata"]["finalizers"] for pod in api.all(PODS))

    run_scenario(scenario)


def test_each_pod_of_a_deleted_job_is_looked_at_a_few_times_however_many_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks: list[str] = []

    def counted(_: JobKindController, child: PartialObject) -> PartialObject:
        looks.append(child.metadata.name)
        return child

    async def scenario(api: FakeCluster) -> None:
        async with running_controllers(api, JOB):
            api.put(JOBS, job("train", parallelism=60, completions=60))
            await quiet(1000)
            monkeypatch.setattr(JobKindController, "_as_leaving", counted)
            api.remove(JOBS, "train")
            await api.clock.advance(1)
            for name in api.names(PODS):
                api.remove(PODS, name)
                await api.clock.advance(0.1)
            assert api.names(PODS) == []
            assert 60 <= len(looks) <= 3 * 60

    run_scenario(scenario)


def test_the_children_of_one_job_leave_connections_to_other_writers(monkeypatch: pytest.MonkeyPatch) -> None:
    under_way: list[int] = []
    create = FakeCluster.create

    async def counted(api: FakeCluster, *arguments: Any, **options: Any) -> bytes:
        under_way.append(1)
        busiest.append(len(under_way))
        await asyncio.sleep(0)
        try:
            return await create(api, *arguments, **options)
        finally:
            under_way.pop()

    busiest: list[int] = []
    monkeypatch.setattr(FakeCluster, "create", counted)

    async def scenario(api: FakeCluster) -> None:
        async with running_controllers(api, JOB):
            api.put(JOBS, job("train", parallelism=100, completions=100))
            await quiet(2000)
            assert len(api.names(PODS)) == 100
            assert 1 < max(busiest) <= CONCURRENCY + 1  # and an event

    run_scenario(scenario)


def test_pods_that_were_orphaned_are_let_go() -> None:
    async def scenario(api: FakeCluster) -> None:
        async with running_controllers(api, JOB):
            api.put(JOBS, job("train"))
            await quiet(200)
            (name,) = api.names(PODS)
            api.change(PODS, name, {"metadata": {"ownerReferences": None}})
            await api.clock.advance(1)
            assert TRACKING not in api.read(PODS, name)["metadata"]["finalizers"]

    run_scenario(scenario)


def test_a_deadline_comes_by_itself() -> None:
    async def scenario(api: FakeCluster) -> None:
        async with running_controllers(api, JOB):
            api.put(JOBS, job("train", activeDeadlineSeconds=30))
            await api.clock.advance(29)
            assert "conditions" not in api.read(JOBS, "train")["status"]
            await api.clock.advance(2)
            assert api.read(JOBS, "train")["status"]["conditions"][-1]["type"] == "Failed"

    run_scenario(scenario)


def test_an_expired_job_is_deleted() -> None:
    async def scenario(api: FakeCluster) -> None:
        async with running_controllers(api, JOB):
            api.put(JOBS, job("train", ttlSecondsAfterFinished=60))
            await api.clock.advance(1)
            finish(api, api.names(PODS)[0])
            await api.clock.advance(59)
            assert api.names(JOBS) == ["train"]
            await api.clock.advance(3)
            assert api.names(JOBS) == []

    run_scenario(scenario)


def test_what_happened_is_told_as_events() -> None:
    async def scenario(api: FakeCluster) -> None:
        async with running_controllers(api, JOB):
            api.put(JOBS, job("train"))
            await api.clock.advance(1)
            (name,) = api.names(PODS)
            finish(api, name)
            await api.clock.advance(2)
            told = {(e["reason"], e["message"], e["involvedObject"]["name"]) for e in api.all(EVENTS)}
            assert told == {
                ("SuccessfulCreate", f"Created pod: {name}", "train"),
                ("Completed", "Job completed", "train"),
            }

    run_scenario(scenario)


def test_a_flood_of_events_is_told_as_one() -> None:
    async def scenario(api: FakeCluster) -> None:
        async with running_controllers(api, JOB):
            api.put(JOBS, job("train", parallelism=100, completions=100))
            await api.clock.advance(5)
            assert len(api.all(EVENTS)) == 11

    run_scenario(scenario)


def test_a_conflicting_write_only_causes_another_try() -> None:
    async def scenario(api: FakeCluster) -> None:
        async with running_controllers(api, JOB):
            api.put(JOBS, job("train"))
            with api.held():
                await quiet(5)
            api.change(JOBS, "train", {"metadata": {"annotations": {"understudy.dev/queued-at": moment(BEGIN)}}})
            await api.clock.advance(1)
            assert api.read(JOBS, "train")["status"]["active"] == 1

    run_scenario(scenario)
