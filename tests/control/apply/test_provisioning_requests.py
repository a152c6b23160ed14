"""Machines are asked for once a gang, in time, from what the objects show, and as long as the gang waits for them."""

from collections.abc import Callable

import pytest

from tests.control.fake_cluster import Document, Killed
from tests.control.loop_harness import LoopHarness, run_scenario
from tests.control.record.test_incidents import begin
from tests.scenarios.test_random_walks import torch
from understudy.control.apply.provisioning_documents import CLASS_NAME, CONSUMES, SCHEDULER, AutoscalerSettings
from understudy.control.apply.provisioning_requests import ABSENT_RETRY, FAILED, RETRY
from understudy.control.loop import LoopSettings
from understudy.kinds.annotations import NOTICE, format_notice, format_time
from understudy.kinds.training_operator.pytorchjob import PYTORCH_JOBS
from understudy.model.nodes import Notice
from understudy.objects.resources import NODES, POD_TEMPLATES, PODS, PROVISIONING_REQUESTS
from understudy.ports import Refused

CLASS = "best-effort-atomic-scale-up.autoscaling.x-k8s.io"
SETTINGS = LoopSettings(autoscaler=AutoscalerSettings(CLASS, {"ValidUntilSeconds": "900"}, retry_after=300.0))
REQUEST = f"create {PROVISIONING_REQUESTS.key}"


def requests(world: LoopHarness) -> list[Document]:
    return world.cluster.all(PROVISIONING_REQUESTS)


def request(world: LoopHarness) -> Document:
    (found,) = requests(world)
    return found


def made(world: LoopHarness) -> int:
    return sum(1 for write in world.cluster.writes if write.startswith(REQUEST))


def counts(found: Document) -> list[int]:
    return [one["count"] for one in found["spec"]["podSets"]]


def conclude(world: LoopHarness, found: Document, kind: str, message: str) -> None:
    now = format_time(world.clock.now())
    condition = {"type": kind, "status": "True", "reason": "x", "message": message, "lastTransitionTime": now}
    found["status"] = {"conditions": [condition]}
    world.cluster.change(found)


def refuse(world: LoopHarness, start: str, error: BaseException) -> Callable[[], int]:
    """From now on such writes fail. Returns what ends that, and says how many did."""
    refused = []

    def look(what: str) -> None:
        if what.startswith(start):
            refused.append(what)
            raise error

    world.cluster.before_write = look

    def end() -> int:
        world.cluster.before_write = lambda _: None
        return len(refused)

    return end


def failures(world: LoopHarness, job: str) -> list[str]:
    return [message for reason, message in world.events(job) if reason == FAILED]


def test_one_request_asks_for_the_whole_gang_and_goes_when_the_gang_is_seated() -> None:
    async def scenario(world: LoopHarness) -> None:
        await begin(world, "a", torch("big", 2, "high"))
        assert made(world) == 1
        found = request(world)
        job = world.cluster.find(PYTORCH_JOBS, "big")
        owner = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": "big", "uid": job["metadata"]["uid"]}
        assert found["metadata"]["ownerReferences"] == [owner]
        assert (found["spec"]["provisioningClassName"], counts(found)) == (CLASS, [2])
        assert found["spec"]["parameters"] == {"ValidUntilSeconds": "900"}
        (template,) = world.cluster.all(POD_TEMPLATES)
        assert template["metadata"]["name"] == found["spec"]["podSets"][0]["podTemplateRef"]["name"]
        assert template["metadata"]["ownerReferences"] == [owner]
        await begin(world, "b")
        await world.settle()
        assert len(world.seats()) == 2
        assert requests(world) == world.cluster.all(POD_TEMPLATES) == []

    run_scenario(scenario, SETTINGS)


def test_without_the_setting_none_is_made() -> None:
    async def scenario(world: LoopHarness) -> None:
        await begin(world, "a", torch("big", 2, "high"))
        assert requests(world) == world.cluster.all(POD_TEMPLATES) == []

    run_scenario(scenario)


def test_pods_that_wait_name_the_request_so_that_no_machines_are_added_twice() -> None:
    async def scenario(world: LoopHarness) -> None:
        await begin(world, "a", torch("big", 2, "high"))
        name = request(world)["metadata"]["name"]
        notes = [pod["metadata"].get("annotations", {}) for pod in world.cluster.all(PODS)]
        assert [(one[CONSUMES], one[CLASS_NAME]) for one in notes] == [(name, CLASS)] * 2

    run_scenario(scenario, SETTINGS)


def test_a_preempted_job_without_pods_asks_for_the_machines_of_all_its_pods() -> None:
    async def scenario(world: LoopHarness) -> None:
        await begin(world, "a b", torch("low", 2, "low"), torch("high", 1, "high"))
        await world.settle()
        assert world.cluster.find(PYTORCH_JOBS, "low")["spec"]["runPolicy"]["suspend"] is True
        assert not [pod for pod in world.cluster.all(PODS) if pod["metadata"]["name"].startswith("low")]
        assert (request(world)["metadata"]["ownerReferences"][0]["name"], counts(request(world))) == ("low", [2])

    run_scenario(scenario, SETTINGS)


def test_a_notice_asks_for_the_replacement_before_the_machine_has_gone() -> None:
    async def scenario(world: LoopHarness) -> None:
        await begin(world, "a b", torch("hero", 2, "high"))
        now = world.clock.now()
        document = world.cluster.find(NODES, "a")
        notice = Notice(deadline=now + 120.0, at=now, source="azure", cause="Preempt")
        document["metadata"].setdefault("annotations", {})[NOTICE] = format_notice(notice)
        world.cluster.change(document)
        await world.settle()
        assert sorted(world.seats().values()) == ["a", "b"]
        assert counts(request(world)) == [1]
        await begin_node(world, "c")
        assert sorted(world.seats().values()) == ["b", "c"]
        assert requests(world) == []

    run_scenario(scenario, SETTINGS)


async def begin_node(world: LoopHarness, name: str) -> None:
    before = world.cluster.find(NODES, "b")
    world.cluster.put({**before, "metadata": {"name": name, "labels": {}}})
    await world.settle()


def test_two_gangs_have_a_request_each() -> None:
    async def scenario(world: LoopHarness) -> None:
        await begin(world, "a")
        for name in ("one", "two"):
            world.cluster.put(torch(name, 2, "high"))
        await world.settle()
        assert sorted(one["metadata"]["ownerReferences"][0]["name"] for one in requests(world)) == ["one", "two"]
        assert made(world) == 2

    run_scenario(scenario, SETTINGS)


def test_a_job_that_is_deleted_takes_its_request_with_it() -> None:
    async def scenario(world: LoopHarness) -> None:
        await begin(world, "a", torch("big", 2, "high"))
        world.cluster.take_away(world.cluster.find(PYTORCH_JOBS, "big"))
        for pod in world.cluster.all(PODS):
            world.cluster.take_away(pod)
        await world.settle()
        assert requests(world) == world.cluster.all(POD_TEMPLATES) == []

    run_scenario(scenario, SETTINGS)


@pytest.mark.parametrize("kind", ["Failed", "BookingExpired", "CapacityRevoked"])
def test_what_failed_stays_and_is_told_until_the_back_off_has_passed(kind: str) -> None:
    async def scenario(world: LoopHarness) -> None:
        await begin(world, "a", torch("big", 2, "high"))
        first = request(world)
        conclude(world, first, kind, "no machines of this size")
        await world.settle()
        await world.clock.let_pass(200.0)
        await world.settle()
        assert requests(world) == [first]
        assert failures(world, "big") == [
            f"No machines are provided: ProvisioningRequest {first['metadata']['name']}: no machines of this size"
        ]
        await world.clock.let_pass(110.0)
        await world.settle()
        second = request(world)
        assert second["metadata"]["name"] == first["metadata"]["name"].removesuffix("-1") + "-2"
        assert len(world.cluster.all(POD_TEMPLATES)) == 1

    run_scenario(scenario, SETTINGS)


def test_a_job_that_changed_after_a_failure_asks_at_once() -> None:
    async def scenario(world: LoopHarness) -> None:
        await begin(world, "a", torch("big", 2, "high"))
        conclude(world, request(world), "Failed", "no machines")
        await world.settle()
        job = world.cluster.find(PYTORCH_JOBS, "big")
        job["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"] = 3
        world.cluster.change(job)
        await world.settle()
        assert counts(request(world)) == [3]
        assert "status" not in request(world)

    run_scenario(scenario, SETTINGS)


@pytest.mark.parametrize("at", [f"create {POD_TEMPLATES.key}", REQUEST, f"patch {PODS.key} "])
def test_a_scheduler_that_is_killed_on_the_way_makes_no_second_one(at: str) -> None:
    async def scenario(world: LoopHarness) -> None:
        await begin(world, "a")
        killed: list[str] = []

        def look(what: str) -> None:
            if what.startswith(at) and not killed:
                killed.append(what)
                raise Killed

        world.cluster.before_write = look
        world.cluster.put(torch("big", 2, "high"))
        await world.settle()
        assert killed
        name = request(world)["metadata"]["name"]
        await world.restart()
        await world.settle()
        assert request(world)["metadata"]["name"] == name
        assert (made(world), len(world.cluster.all(POD_TEMPLATES))) == (1, 1)

    run_scenario(scenario, SETTINGS)


def test_a_gang_that_was_seated_while_no_scheduler_ran_loses_its_request() -> None:
    async def scenario(world: LoopHarness) -> None:
        await begin(world, "a", torch("big", 2, "high"))
        end = refuse(world, f"delete {PROVISIONING_REQUESTS.key}", Killed())
        world.cluster.put({**world.cluster.find(NODES, "a"), "metadata": {"name": "b", "labels": {}}})
        with pytest.raises(AssertionError, match="not at rest"):
            await world.settle()
        assert len(requests(world)) == 1
        end()
        await world.settle()
        assert len(world.seats()) == 2
        assert requests(world) == world.cluster.all(POD_TEMPLATES) == []

    run_scenario(scenario, SETTINGS)


def test_where_the_kind_is_not_served_nothing_is_written_until_it_is() -> None:
    async def scenario(world: LoopHarness) -> None:
        await world.stop()
        world.cluster.absent.add(PROVISIONING_REQUESTS.key)
        await world.restart()
        await begin(world, "a", torch("big", 2, "high"), torch("small", 1, "low"))
        assert len(world.seats()) == 1
        assert not [write for write in world.cluster.writes if POD_TEMPLATES.key in write]
        assert not any(CONSUMES in pod["metadata"].get("annotations", {}) for pod in world.cluster.all(PODS))
        world.cluster.absent.clear()
        await world.clock.let_pass(ABSENT_RETRY + 1.0)
        await world.settle()
        assert counts(request(world)) == [2]

    run_scenario(scenario, SETTINGS)


@pytest.mark.parametrize("code", [403, 422])
def test_a_refusal_is_told_once_and_stops_nothing_else(code: int) -> None:
    async def scenario(world: LoopHarness) -> None:
        end = refuse(world, REQUEST, Refused(code, "Refused", "not like this"))
        await begin(world, "a", torch("big", 2, "high"), torch("small", 1, "low"))
        await world.clock.let_pass(400.0)
        await world.settle()
        assert list(world.seats().values()) == ["a"]
        assert failures(world, "big") == ["No machines are provided: the request for them was refused: not like this"]
        assert not any(CONSUMES in pod["metadata"].get("annotations", {}) for pod in world.cluster.all(PODS))
        assert end() <= 4
        await world.clock.let_pass(301.0)
        await world.settle()
        assert len(requests(world)) == 1

    run_scenario(scenario, SETTINGS)


def test_a_server_in_trouble_is_asked_again_soon() -> None:
    async def scenario(world: LoopHarness) -> None:
        end = refuse(world, REQUEST, Refused(503, "ServiceUnavailable", "not now"))
        await begin(world, "a", torch("big", 2, "high"))
        assert (requests(world), failures(world, "big")) == ([], [])
        end()
        await world.clock.let_pass(RETRY + 0.5)
        await world.settle()
        assert len(requests(world)) == 1

    run_scenario(scenario, SETTINGS)


def test_a_request_of_another_scheduler_and_a_job_with_a_request_of_its_own_are_left_alone() -> None:
    async def scenario(world: LoopHarness) -> None:
        meta = {"name": "understudy-theirs-1", "labels": {SCHEDULER: "another"}}
        theirs = {"apiVersion": PROVISIONING_REQUESTS.api_version, "kind": "ProvisioningRequest", "metadata": meta}
        world.cluster.put({**theirs, "spec": {"provisioningClassName": "x", "podSets": []}})
        own = torch("own", 2, "high")
        worker = own["spec"]["pytorchReplicaSpecs"]["Worker"]
        worker["template"]["metadata"] = {"annotations": {CONSUMES: "made-by-kueue"}}
        await begin(world, "a", own)
        assert [one["metadata"]["name"] for one in requests(world)] == ["understudy-theirs-1"]

    run_scenario(scenario, SETTINGS)
