"""Jobs that ask for warm understudies have them, as many as they ask for and as long as they run."""

from typing import Any

import pytest

from tests.embedded.controllers.controller_runner import ControllerParts, run_scenario, running_controllers
from tests.embedded.controllers.fake_cluster import FakeCluster, quiet
from tests.objects.documents import Document, container, job, metadata, pod
from understudy.embedded.controllers.runtime.controller import Controller
from understudy.embedded.controllers.warm_understudies import ANEW_AFTER, REST, WarmUnderstudyController
from understudy.kinds.annotations import CAPACITY, UNDERSTUDY_OF, WARM, WARM_FOR, WARM_IMPORTS
from understudy.kinds.training_operator.pytorchjob import PYTORCH_JOBS
from understudy.kinds.understudies import GRACE, understudy_pod
from understudy.objects.resources import EVENTS, JOBS, PODS

GPU = {"limits": {"nvidia.com/gpu": "1"}}


def understudies(parts: ControllerParts) -> Controller:
    return WarmUnderstudyController(parts.cluster, parts.clock, parts.recorder)


def training(warm: str = "1", **meta: Any) -> Document:
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": metadata("train", annotations={WARM: warm, WARM_IMPORTS: "jax"}, **meta),
        "spec": {
            "pytorchReplicaSpecs": {"Worker": {"replicas": 2, "template": {"spec": {"containers": [container()]}}}}
        },
        "status": {},
    }


def member(role: str, index: int, on: str = "a", **more: Any) -> Document:
    labels = {"training.kubeflow.org/job-name": "train", "training.kubeflow.org/replica-type": role,
              "training.kubeflow.org/operator-name": "pytorchjob-controller"}  # fmt: skip
    owners = [{"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": "train", "uid": "u", "controller": True}]
    command = container(command=["python", "train.py"], env=[{"name": "RANK", "value": str(index)}], **more)
    return pod(f"train-{role}-{index}", on, {"labels": labels, "ownerReferences": owners}, containers=[command],
               hostname=f"train-{role}-{index}", subdomain="train", priorityClassName="high", priority=7,
               affinity={"podAntiAffinity": {}, "nodeAffinity": {"x": 1}})  # fmt: skip


def warm(api: FakeCluster) -> list[str]:
    return [name for name in api.names(PODS) if "-warm-" in name]


async def staged(api: FakeCluster, warm: str = "1") -> None:
    api.put(PYTORCH_JOBS, training(warm))
    api.put(PODS, member("master", 0))
    for index in range(2):
        api.put(PODS, member("worker", index, resources=GPU, readinessProbe={"exec": {}}, lifecycle={"postStart": {}}))
    await quiet()


def test_an_understudy_is_made_like_a_member_that_needs_accelerators() -> None:
    async def scenario(api: FakeCluster) -> None:
        async with running_controllers(api, understudies):
            await staged(api)
            made = api.read(PODS, "train-warm-0")
            assert made["metadata"]["annotations"][WARM_FOR] == "PyTorchJob/default/train"
            assert made["metadata"]["annotations"][WARM_IMPORTS] == "jax"
            assert made["metadata"]["labels"] == {UNDERSTUDY_OF: "train"}
            [owner] = made["metadata"]["ownerReferences"]
            assert (owner["kind"], owner["name"], owner["controller"]) == ("PyTorchJob", "train", False)
            [one] = made["spec"].pop("containers")
            assert made["spec"] == {"affinity": {"nodeAffinity": {"x": 1}}, "terminationGracePeriodSeconds": GRACE}
            assert (one["command"], one["resources"]) == (["python", "train.py"], GPU)
            assert {"readinessProbe", "lifecycle"}.isdisjoint(one)

    run_scenario(scenario)


@pytest.mark.parametrize(("of_job", "of_pod", "expected"), [("spot", None, "spot"), ("spot", "on-demand", "on-demand")])
def test_an_understudy_sits_on_the_capacity_on_which_it_may_step_in(
    of_job: str, of_pod: str | None, expected: str
) -> None:
    job, one = training(uid="u"), member("worker", 0)
    job["metadata"]["annotations"][CAPACITY] = of_job
    one["metadata"]["annotations"] = {CAPACITY: of_pod} if of_pod else {}
    made = understudy_pod(job, "PyTorchJob/default/train", one, 0)
    assert made["metadata"]["annotations"][CAPACITY] == expected


def test_as_many_as_asked_for_and_no_more() -> None:
    async def scenario(api: FakeCluster) -> None:
        async with running_controllers(api, understudies):
            await staged(api, "2")
            assert warm(api) == ["train-warm-0", "train-warm-1"]
            api.change(PYTORCH_JOBS, "train", {"metadata": {"annotations": {WARM: "1"}}})
            await quiet()
            assert warm(api) == ["train-warm-0"]
            api.change(PYTORCH_JOBS, "train", {"metadata": {"annotations": {WARM: None}}})
            await quiet()
            assert warm(api) == []

    run_scenario(scenario)


def test_no_understudy_is_created_for_a_job_without_a_seated_member() -> None:
    async def scenario(api: FakeCluster) -> None:
        async with running_controllers(api, understudies):
            api.put(PYTORCH_JOBS, training())
            api.put(PODS, member("worker", 0, on=""))
            await quiet()
            assert warm(api) == []
            api.change(PODS, "train-worker-0", {"spec": {"nodeName": "a"}})
            await quiet()
            assert warm(api) == ["train-warm-0"]

    run_scenario(scenario)


def test_one_that_was_used_is_made_anew() -> None:
    async def scenario(api: FakeCluster) -> None:
        async with running_controllers(api, understudies):
            await staged(api)
            before = api.read(PODS, "train-warm-0")["metadata"]["uid"]
            api.remove(PODS, "train-warm-0")
            await quiet()
            assert warm(api) == []  # the one that stepped in has the machine to itself
            await api.clock.advance(REST + 0.1)
            assert api.read(PODS, "train-warm-0")["metadata"]["uid"] != before

    run_scenario(scenario)


def test_one_that_failed_is_made_anew_but_not_at_once() -> None:
    async def scenario(api: FakeCluster) -> None:
        async with running_controllers(api, understudies):
            await staged(api)
            before = api.read(PODS, "train-warm-0")["metadata"]["uid"]
            api.change(PODS, "train-warm-0", {"status": {"phase": "Failed"}})
            await quiet()
            assert api.read(PODS, "train-warm-0")["metadata"]["uid"] == before
            await api.clock.advance(ANEW_AFTER + 1)
            await api.clock.advance(REST + 1)
            assert api.read(PODS, "train-warm-0")["metadata"]["uid"] != before

    run_scenario(scenario)


def test_those_of_a_job_that_is_paused_or_over_go() -> None:
    async def scenario(api: FakeCluster) -> None:
        over = {"status": {"conditions": [{"type": "Succeeded", "status": "True"}]}}
        for change in ({"spec": {"runPolicy": {"suspend": True}}}, over):
            async with running_controllers(api, understudies):
                await staged(api)
                await api.clock.advance(REST + 1)
                assert warm(api) == ["train-warm-0"]
                api.change(PYTORCH_JOBS, "train", change)
                await quiet()
                assert warm(api) == []
                for name in (*api.names(PODS),):
                    api.remove(PODS, name)
                api.remove(PYTORCH_JOBS, "train")

    run_scenario(scenario)


def test_they_stay_while_all_members_are_made_anew_and_change_with_their_template() -> None:
    async def scenario(api: FakeCluster) -> None:
        async with running_controllers(api, understudies):
            await staged(api)
            before = api.read(PODS, "train-warm-0")["metadata"]["uid"]
            for name in ("train-worker-0", "train-worker-1", "train-master-0"):
                api.remove(PODS, name)
                await quiet()
            api.put(PODS, member("worker", 0, resources=GPU))
            await quiet()
            assert api.read(PODS, "train-warm-0")["metadata"]["uid"] == before
            api.remove(PODS, "train-worker-0")
            api.put(PODS, member("worker", 0, resources={"limits": {"nvidia.com/gpu": "2"}}))
            await api.clock.advance(REST + 1)
            made = api.read(PODS, "train-warm-0")
            assert made["spec"]["containers"][0]["resources"]["limits"] == {"nvidia.com/gpu": "2"}

    run_scenario(scenario)


def test_a_number_that_is_none_is_told_and_nothing_done() -> None:
    async def scenario(api: FakeCluster) -> None:
        async with running_controllers(api, understudies):
            await staged(api, "many")
            await api.clock.advance(1)
            assert warm(api) == []
            [event] = [api.read(EVENTS, name) for name in api.names(EVENTS)]
            assert event["involvedObject"]["name"] == "train"
            assert "'many' is not a number of understudies; write 0 to 64" in event["message"]

    run_scenario(scenario)


def test_a_job_that_asks_later_finds_the_pods_that_were_there_before() -> None:
    async def scenario(api: FakeCluster) -> None:
        async with running_controllers(api, understudies):
            api.put(JOBS, job("j", parallelism=1))
            api.put(PODS, pod("j-x", "a", {"labels": {"job-name": "j"}}))
            await quiet()
            assert warm(api) == []
            api.change(JOBS, "j", {"metadata": {"annotations": {WARM: "1"}}})
            await quiet()
            assert warm(api) == ["j-warm-0"]

    run_scenario(scenario)
