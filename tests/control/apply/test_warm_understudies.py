"""Warm understudies in the loop: the pod that is bound says who steps in, in the same write; others make room."""

from typing import Any

from tests.control.loop_harness import LoopHarness, run_scenario
from tests.objects.documents import Document, node, pod, pod_spec
from understudy.kinds.annotations import STEPS_IN, WARM_FOR
from understudy.objects.resources import NODES

GPU = {"nvidia.com/gpu": "1"}


def gpu_node(name: str, **labels: str) -> Document:
    meta = {"labels": {"kubernetes.io/hostname": name, **labels}}
    return node(name, meta, allocatable={"cpu": "8", "pods": "110", **GPU})


def gpu_pod(name: str, **meta: Any) -> Document:
    return {**pod(name, meta=meta), "spec": pod_spec(GPU)}


def training() -> Document:
    template = {"metadata": {}, "spec": pod_spec(GPU)}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "train", "namespace": "default", "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": 2, "template": template}}},
    }


def understudy(name: str = "warm") -> Document:
    return gpu_pod(name, annotations={WARM_FOR: "PyTorchJob/default/train"})


async def staged(world: LoopHarness) -> None:
    for name in ("a", "b"):
        world.cluster.put(gpu_node(name))
    world.cluster.put(gpu_node("s", **{"understudy.dev/spare": "keep"}))
    world.cluster.put(training())
    await world.settle()
    world.cluster.put(understudy())
    await world.settle()
    assert world.seats() == {"train-worker-0": "a", "train-worker-1": "b", "warm": "s"}


def lose(world: LoopHarness, name: str) -> None:
    found = world.cluster.find(NODES, name)
    found["status"]["conditions"] = [{"type": "Ready", "status": "Unknown"}]
    world.cluster.change(found)


def test_the_binding_says_who_steps_in() -> None:
    async def scenario(world: LoopHarness) -> None:
        await staged(world)
        uid = world.pod("warm")["metadata"]["uid"]
        before = len(world.cluster.writes)
        lose(world, "b")
        await world.settle()
        assert world.seats() == {"train-worker-0": "a", "train-worker-1": "s"}
        assert world.pod("train-worker-1")["metadata"]["annotations"][STEPS_IN] == uid
        assert ("SteppedIn", "Understudy warm steps in on node s") in world.events("train-worker-1")
        writes = [write for write in world.cluster.writes[before:] if "warm" in write]
        assert writes == []  # its agent takes it away

    run_scenario(scenario)


def test_one_that_steps_in_is_left_alone_until_its_agent_has_seen_to_it() -> None:
    async def scenario(world: LoopHarness) -> None:
        await staged(world)
        world.hands._step_in = lambda _: False  # type: ignore[method-assign,assignment]  # the agent is busy
        lose(world, "b")
        await world.settle()
        assert world.seats()["train-worker-1"] == "s"
        assert world.seats()["warm"] == "s"
        world.cluster.put(gpu_pod("other"))
        await world.settle()
        assert world.seats()["warm"] == "s"

    run_scenario(scenario)


def test_one_in_the_way_is_deleted_before_the_other_is_bound() -> None:
    async def scenario(world: LoopHarness) -> None:
        for name in ("a", "b", "c"):
            world.cluster.put(gpu_node(name))
        world.cluster.put(training())
        await world.settle()
        world.cluster.put(understudy())
        await world.settle()
        assert world.seats()["warm"] == "c"
        world.cluster.put(gpu_pod("other"))
        await world.settle()
        assert world.seats() == {"train-worker-0": "a", "train-worker-1": "b", "other": "c"}
        writes = [w for w in world.cluster.writes if "warm" in w or "other" in w]
        order = [next(i for i, w in enumerate(writes) if w.startswith(verb)) for verb in ("delete", "bind other")]
        assert order == sorted(order)

    run_scenario(scenario)


def test_one_on_a_lost_node_is_let_go_of_at_once() -> None:
    async def scenario(world: LoopHarness) -> None:
        await staged(world)
        lose(world, "s")
        await world.settle()
        assert world.seats() == {"train-worker-0": "a", "train-worker-1": "b"}

    run_scenario(scenario)
