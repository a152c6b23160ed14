"""Where a taint drives pods out, Kubernetes deletes them by name: it goes first, or it would hit their successors."""

import pytest

from tests.control.loop_harness import LoopHarness, run_scenario
from tests.objects.documents import Document, job, node, template
from tests.scenarios.test_random_walks import torch
from understudy.control.loop import LoopSettings
from understudy.objects.resources import PODS

READY = [{"type": "Ready", "status": "True"}]
OUT = {"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}
PATIENT = LoopSettings(evictor=0.5)
AT_ONCE = 0.1  # seconds
WORKER = "train-worker-0"


def machine(name: str, *taints: Document) -> Document:
    resources = {"cpu": "64", "pods": "110", "nvidia.com/gpu": "8"}
    return node(name, allocatable=resources, conditions=READY, taints=list(taints))


def training(**spec: object) -> Document:
    made = torch("train", 2, "")
    made["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"] |= spec
    return made


async def driven_out(world: LoopHarness, document: Document) -> Document:
    """A job of two runs on two of three nodes, and one of the two is tainted; the pod that sits there."""
    for name in "abc":
        world.cluster.put(machine(name))
    world.cluster.put(document)
    await world.settle()
    [pod, _] = world.cluster.all(PODS)
    world.cluster.put(machine(pod["spec"]["nodeName"], OUT))
    await world.clock.let_pass(AT_ONCE)
    return pod


def is_there(world: LoopHarness, pod: Document) -> bool:
    return pod["metadata"]["uid"] in [other["metadata"]["uid"] for other in world.cluster.all(PODS)]


def test_the_cluster_deletes_it_and_then_it_need_not_wait_for_the_kubelet() -> None:
    async def scenario(world: LoopHarness) -> None:
        world.hands.clinging.add("PyTorchJob/default/train")  # its kubelet does not answer
        pod = await driven_out(world, training())
        assert is_there(world, pod)
        pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        world.cluster.change(pod)
        await world.clock.let_pass(AT_ONCE)
        assert not is_there(world, pod)
        await world.settle()
        assert len(set(world.seats().values()) - {pod["spec"]["nodeName"]}) == 2
        assert "HotSwapped" in dict(world.events("train"))

    run_scenario(scenario, PATIENT)


def test_a_taint_eviction_that_does_not_happen_is_not_awaited_for_ever() -> None:
    async def scenario(world: LoopHarness) -> None:
        pod = await driven_out(world, training())
        assert is_there(world, pod)
        await world.settle()
        assert len(set(world.seats().values()) - {pod["spec"]["nodeName"]}) == 2
        deletions = [write for write in world.cluster.writes if write == f"delete pods {WORKER} at once"]
        assert len(deletions) == 1

    run_scenario(scenario, PATIENT)


TOLERANT = {"tolerations": [{"operator": "Exists"}]}
WHO = {
    "pods of Jobs, whose names are never used again": (
        job("train", parallelism=2, template=template({"nvidia.com/gpu": "8"})),
        PATIENT,
    ),
    "those who tolerate the taint": (training(**TOLERANT), PATIENT),
    "all, where the cluster deletes nothing by itself": (training(), LoopSettings()),
}


@pytest.mark.parametrize("who", WHO)
def test_others_go_at_once(who: str) -> None:
    document, settings = WHO[who]

    async def scenario(world: LoopHarness) -> None:
        pod = await driven_out(world, document)
        assert not is_there(world, pod)

    run_scenario(scenario, settings)
