"""What becomes of a training job: from created to its end, by its policies and its limits."""

import pytest

from tests.kinds.children.training.documents import Training, role, torch
from tests.kinds.children.world import BEGIN, moment

PREFIX = "training.kubeflow.org/"


def test_a_life_from_created_to_succeeded() -> None:
    world = Training("PyTorchJob", {"Master": role(), "Worker": role(2)})
    assert world.states() == ["Created"]
    assert world.condition("Created") == {
        "type": "Created",
        "status": "True",
        "reason": "PyTorchJobCreated",
        "message": "PyTorchJob train is created.",
        "lastUpdateTime": moment(BEGIN),
        "lastTransitionTime": moment(BEGIN),
    }
    assert world.status["startTime"] == moment(BEGIN)
    world.after(5)
    world.run()
    world.look()
    assert world.states() == ["Created", "Running"]
    assert world.figures("Worker") == {"active": 2}
    assert world.status["replicaStatuses"]["Master"]["selector"] == (
        f"{PREFIX}job-name=train,{PREFIX}operator-name=pytorchjob-controller,{PREFIX}replica-type=master"
    )
    world.after(60)
    world.finish("train-master-0")
    world.look()
    assert world.states() == ["Created", "Succeeded"]
    assert world.condition("Running")["status"] == "False"
    assert world.status["completionTime"] == moment(BEGIN + 65)
    assert world.figures("Worker") == world.figures("Master") | {"succeeded": 2}  # who still ran has done its part
    assert world.told()[-2:] == ["ExitedWithCode", "PyTorchJobSucceeded"]


def test_a_job_without_a_leader_runs_with_any_worker() -> None:
    world = Training("PyTorchJob", {"Worker": role(2)})
    world.run("train-worker-1")
    world.look()
    assert world.states() == ["Created", "Running"]


@pytest.mark.parametrize(
    ("policy", "code", "expected"),
    [
        ("Never", 1, "failed"),
        ("Never", 137, "failed"),
        ("OnFailure", 1, "again"),
        ("Always", 1, "again"),
        ("ExitCode", 1, "failed"),
        ("ExitCode", 127, "failed"),
        ("ExitCode", 128, "again"),
        ("ExitCode", 137, "again"),
    ],
)
def test_the_restart_policy_says_what_a_failed_pod_means(policy: str, code: int, expected: str) -> None:
    world = torch(worker=policy)
    before = world.pods["train-worker-1"]["metadata"]["uid"]
    world.finish("train-worker-1", code)
    assert world.carry_out(world.wanted())
    if expected == "failed":
        assert world.states() == ["Created", "Failed"]
        assert world.condition("Failed")["reason"] == "PyTorchJobFailed"
        world.look()
        assert world.pods["train-worker-1"]["metadata"]["uid"] == before
    else:
        assert world.states() == ["Created", "Restarting"]  # which takes the place of Running
        words = "job train is restarting because Worker replica(s) failed."
        assert world.condition("Restarting")["message"] == words
        assert [note.reason for note in world.notes if note.type == "Warning"] == ["PyTorchJobRestarting"]
        world.look()
        assert world.pods["train-worker-1"]["metadata"]["uid"] != before
        assert world.states() == ["Created", "Running"]  # the master never stopped
        assert world.status["restarts"] == 1


def test_a_failure_is_told_in_the_words_people_look_for() -> None:
    world = torch(worker="Never")
    world.finish("train-worker-0", 3)
    world.look()
    assert world.condition("Failed")["message"] == "PyTorchJob train is failed because 1 Worker replica(s) failed."
    assert world.status["completionTime"] == moment(BEGIN)
    assert ("ExitedWithCode", "Pod: default.train-worker-0 exited with code 3") in [
        (note.reason, note.message) for note in world.notes
    ]


def test_every_pod_that_ends_is_told_once() -> None:
    world = torch(workers=3)
    for number in range(3):
        world.after(1)
        world.finish(f"train-worker-{number}")
        world.look()
        world.look()
    said = [note.message for note in world.notes if note.reason == "ExitedWithCode"]
    assert said == [f"Pod: default.train-worker-{number} exited with code 0" for number in range(3)]


@pytest.mark.parametrize(
    ("limit", "failures", "ends"),
    [(None, 5, False), (0, 1, True), (1, 1, False), (1, 2, True), (3, 3, False), (3, 4, True)],
)
def test_failed_pods_that_are_made_again_spend_the_backoff_limit(limit: int | None, failures: int, ends: bool) -> None:
    world = torch(worker="ExitCode", backoffLimit=limit)
    for _ in range(failures):
        assert "Failed" not in world.states()
        world.finish("train-worker-0", 137)
        world.look()
        world.run()
        world.look()
    assert ("Failed" in world.states()) is ends
    if ends:
        words = "Job train has failed because it has reached the specified backoff limit"
        assert world.condition("Failed")["message"] == words


@pytest.mark.parametrize(
    ("limit", "worker", "restarts", "ends"),
    [
        (0, "OnFailure", 1, True),
        (2, "OnFailure", 1, False),
        (2, "OnFailure", 2, True),
        (2, "Always", 2, True),
        (2, "Never", 2, False),
        (None, "OnFailure", 9, False),
    ],
)
def test_restarts_in_place_spend_it_too(limit: int | None, worker: str, restarts: int, ends: bool) -> None:
    world = torch(worker=worker, backoffLimit=limit)
    world.restarted("train-worker-1", restarts)
    world.look()
    assert ("Failed" in world.states()) is ends


def test_two_pods_that_fail_one_after_the_other_are_counted_once_each() -> None:
    world = torch(worker="ExitCode", backoffLimit=9)
    world.finish("train-worker-0", 137)
    world.carry_out(world.wanted())  # counted and deleted; the next one fails before the next look
    world.finish("train-worker-1", 137)
    world.look()
    assert world.status["restarts"] == 2
    assert sorted(world.live()) == ["train-master-0", "train-worker-0", "train-worker-1"]


def test_a_failure_is_counted_once_however_often_its_controller_is_cut_off() -> None:
    world = torch(worker="ExitCode", backoffLimit=9)
    world.finish("train-worker-0", 137)
    for _ in range(3):
        world.carry_out(world.wanted(), steps=1)  # the status is written, the pod is still there
    world.look()
    assert world.status["restarts"] == 1


@pytest.mark.parametrize(("policy", "state"), [("OnFailure", "Restarting"), ("Never", "Failed")])
def test_a_running_pod_that_is_deleted_by_hand_has_failed(policy: str, state: str) -> None:
    world = torch(worker=policy)
    world.delete("train-worker-0")
    world.look()
    assert world.states() == ["Created", state]
    assert world.figures("Worker") == {"active": 1, "failed": 1}


def test_the_deadline_is_counted_from_the_start() -> None:
    world = torch(activeDeadlineSeconds=60)
    assert world.again_at == BEGIN + 60
    world.after(59)
    world.look()
    assert "Failed" not in world.states()
    world.after(1)
    world.look()
    assert world.condition("Failed")["message"] == (
        "Job train has failed because it was active longer than specified deadline"
    )
