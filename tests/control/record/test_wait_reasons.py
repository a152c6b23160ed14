"""Why gangs wait is said where it lasts: on pods that stay, and on the job of those that do not."""

from tests.control.loop_harness import LoopHarness, run_scenario
from tests.objects.documents import node, priority_class
from tests.scenarios.test_random_walks import torch
from understudy.kinds.annotations import REQUEUED_AT, format_time
from understudy.kinds.training_operator.pytorchjob import PYTORCH_JOBS
from understudy.objects.resources import PODS

READY = {"type": "Ready", "status": "True"}


def test_a_requeued_job_is_told_itself_while_its_last_pods_are_taken_away() -> None:
    async def scenario(world: LoopHarness) -> None:
        world.cluster.put(priority_class("high", 3))
        world.cluster.put(node("a", allocatable={"cpu": "4", "pods": "9", "nvidia.com/gpu": "1"}, conditions=[READY]))
        world.cluster.put(torch("hero", 1, "high"))
        await world.settle()
        world.hands.idle.add("PyTorchJob/default/hero")  # its controller has yet to take the pod away
        job = world.cluster.find(PYTORCH_JOBS, "hero")
        job["metadata"]["annotations"][REQUEUED_AT] = format_time(world.clock.now())
        job["spec"]["runPolicy"] = {"suspend": True}
        world.cluster.change(job)
        await world.settle()
        assert world.cluster.all(PODS)
        told = [message for reason, message in world.events("hero") if reason == "Waiting"]
        assert len(told) == 1
        assert "has only 1 nvidia.com/gpu" in told[0]

    run_scenario(scenario)
