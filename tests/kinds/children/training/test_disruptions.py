"""What costs a training job nothing: pods the cluster takes away, and peers that fall with them."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.kinds.children.training.documents import Training, role, torch
from tests.kinds.children.world import BEGIN


@pytest.mark.parametrize("reason", ["PreemptionByScheduler", "DeletionByUnderstudy", "EvictionByEvictionAPI"])
@pytest.mark.parametrize("pod", ["train-master-0", "train-worker-1"])
def test_a_pod_the_cluster_takes_away_comes_again_at_no_cost(pod: str, reason: str) -> None:
    world = torch(master="Never", worker="Never", backoffLimit=0)
    before = world.pods[pod]["metadata"]["uid"]
    world.disrupt(pod, reason)
    world.look()
    assert world.states() == ["Created", "Running"]
    world.leave()
    world.look()
    assert world.pods[pod]["metadata"]["uid"] != before
    assert "restarts" not in world.status
    world.run()
    world.look()
    assert world.states() == ["Created", "Running"]


def test_a_pod_of_a_lost_node_is_swept_away_and_comes_again() -> None:
    world = torch(worker="Never", backoffLimit=0)
    told = [{"type": "DisruptionTarget", "status": "True", "reason": "DeletionByPodGC"}]
    world.pods["train-worker-0"]["status"] = {"phase": "Failed", "conditions": told}
    world.look()
    assert world.states() == ["Created", "Running"]
    assert sorted(world.live()) == ["train-master-0", "train-worker-0", "train-worker-1"]


def spread(master: str = "Never", worker: str = "Never", **policy: Any) -> Training:
    """Every pod on a node of its own."""
    roles = {"Master": role(1, master), "Worker": role(2, worker)}
    world = Training("PyTorchJob", roles, {"backoffLimit": 0, **policy}, spread=True)
    world.run()
    world.look()
    return world


def test_who_falls_because_a_peer_is_lost_comes_again_at_no_cost() -> None:
    """The peer's node goes silent, the others fall at once, and only then is it known why."""
    world = spread()
    world.finish("train-master-0", 1)
    world.look()
    assert world.states() == ["Created", "Running"]
    assert world.again_at == BEGIN + 10
    world.after(5)
    world.disrupt("train-worker-1", "DeletionByUnderstudy")
    world.gone("train-worker-1")
    world.look()
    assert sorted(world.live()) == ["train-master-0", "train-worker-0", "train-worker-1"]
    world.run()
    world.after(600)
    world.finish("train-worker-0", 1)  # it waited for the lost one until its patience was over
    world.look()
    world.run()
    world.look()
    assert world.states() == ["Created", "Running"]
    assert "restarts" not in world.status
    world.finish("train-worker-0", 1)
    world.after(10)
    world.look()
    assert world.states() == ["Created", "Failed"]  # the new one has no such excuse


def test_restarts_in_place_that_come_of_a_lost_peer_are_forgiven() -> None:
    world = spread(worker="OnFailure", backoffLimit=2)
    world.restarted("train-worker-0", 2)
    world.look()
    assert world.states() == ["Created", "Running"]
    world.after(5)
    world.disrupt("train-worker-1")
    world.look()
    world.leave()
    world.after(3600)
    world.look()
    assert world.states() == ["Created", "Running"]
    for times, state in ((3, "Running"), (4, "Failed")):
        world.restarted("train-worker-0", times)
        world.after(10)
        world.look()
        assert world.states() == ["Created", state]


@pytest.mark.parametrize(
    ("world", "at_once"),
    [
        (lambda: spread(), False),
        (lambda: torch(worker="Never"), True),  # all on one node, none of them can be lost alone
        (lambda: Training("JAXJob", {"Worker": role()}, spread=True), True),
    ],
    ids=["on several nodes", "on one node", "alone"],
)
def test_a_failure_is_believed_at_once_unless_a_peer_elsewhere_may_be_lost(
    world: Callable[[], Training], at_once: bool
) -> None:
    job = world()
    job.finish("train-worker-0", 1)
    job.look()
    assert ("Failed" in job.states()) is at_once
    job.after(10)
    job.look()
    assert "Failed" in job.states()


def test_a_job_does_not_wait_for_a_pod_that_is_created_again_in_any_case() -> None:
    world = spread(worker="ExitCode", backoffLimit=None)
    before = world.pods["train-worker-0"]["metadata"]["uid"]
    world.finish("train-worker-0", 137)
    world.look()
    assert world.pods["train-worker-0"]["metadata"]["uid"] != before
