"""A training job that stands back and goes on, and what is left of one that is over."""

import pytest

from tests.kinds.children.training.documents import Training, role, torch
from tests.kinds.children.world import BEGIN, moment


def test_a_suspended_job_keeps_nothing_and_its_clock_starts_anew() -> None:
    world = torch(activeDeadlineSeconds=60, backoffLimit=0, cleanPodPolicy="None")
    world.after(50)
    world.suspend()
    assert world.states() == ["Created", "Suspended"]
    assert world.condition("Suspended")["reason"] == world.condition("Running")["reason"] == "PyTorchJobSuspended"
    assert world.figures("Master") == {"active": 0}
    assert not world.live()
    assert not world.services
    world.leave()
    world.look()
    assert not world.pods
    world.after(500)
    world.suspend(False)
    assert world.states() == ["Created"]
    assert world.condition("Suspended")["reason"] == "PyTorchJobResumed"
    assert world.status["startTime"] == moment(BEGIN + 550)
    assert len(world.live()) == len(world.services) == 3
    world.run()
    world.look()
    assert world.states() == ["Created", "Running"]
    assert [reason for reason in world.told() if "Suspended" in reason or "Resumed" in reason] == [
        "PyTorchJobSuspended",
        "PyTorchJobResumed",
    ]


def test_a_job_that_is_made_suspended_waits() -> None:
    world = Training("JAXJob", {"Worker": role(2)}, {"suspend": True})
    assert world.states() == ["Created", "Suspended"]
    assert not world.pods
    assert "startTime" not in world.status


def test_it_goes_on_only_when_the_last_pod_of_the_old_run_has_left() -> None:
    """Those fail on their way out, and that means nothing for the new run."""
    world = torch(master="Never", worker="Never", backoffLimit=0)
    world.suspend()
    world.suspend(False)
    world.finish("train-worker-0", 143)
    world.pods["train-worker-0"]["metadata"]["deletionTimestamp"] = moment(world.now)
    world.look()
    assert world.states() == ["Created", "Suspended"]
    assert not world.live()
    for name in list(world.pods):
        world.gone(name)
    world.look()
    assert world.states() == ["Created"]
    assert len(world.live()) == 3


@pytest.mark.parametrize(
    ("policy", "left"),
    [
        ("", ["train-master-0", "train-worker-0", "train-worker-1"]),
        ("None", ["train-master-0", "train-worker-0", "train-worker-1"]),
        ("Running", ["train-worker-0"]),
        ("All", []),
    ],
)
def test_what_is_left_of_a_job_is_a_matter_of_policy(policy: str, left: list[str]) -> None:
    """The master runs, one worker has failed and one waits for a seat."""
    world = Training("PyTorchJob", {"Master": role(), "Worker": role(2, "Never")}, {"cleanPodPolicy": policy})
    world.run("train-master-0", "train-worker-0")
    world.look()
    world.finish("train-worker-0", 1)
    world.look()
    world.leave()
    world.look()
    assert "Failed" in world.states()
    assert sorted(world.pods) == sorted(world.services) == left


def test_a_job_goes_when_its_time_after_the_end_is_over() -> None:
    world = torch(ttlSecondsAfterFinished=30)
    world.finish("train-master-0")
    world.look()
    assert world.again_at == BEGIN + 30
    assert not world.expired
    world.after(30)
    world.look()
    assert world.expired


def test_a_job_that_another_client_ends_is_cleaned_up() -> None:
    world = torch(cleanPodPolicy="Running")
    ended = {"type": "Failed", "status": "True", "reason": "Preempted", "lastTransitionTime": moment(BEGIN + 7)}
    world.status["conditions"].append(ended)
    world.after(9)
    world.look()
    world.leave()
    world.look()
    assert world.states() == ["Created", "Failed"]
    assert world.condition("Running")["status"] == "False"
    assert world.status["completionTime"] == moment(BEGIN + 7)
    assert not world.pods
    assert "active" not in world.figures("Worker")


def test_nothing_changes_once_it_is_over() -> None:
    world = torch(worker="Never")
    world.finish("train-worker-0", 1)
    world.look()
    world.finish("train-master-0")
    world.suspend()
    assert world.states() == ["Created", "Failed"]
