"""TrainJobs: the JobSet they make, and how they pause, go on and end with it."""

from typing import Any

import pytest

from tests.kinds.children.trainjob.documents import patch, runtime, train_job
from tests.kinds.children.world import World, moment
from tests.objects.documents import Document
from understudy.objects.resources import JOB_SETS


def world_of(meta: Document | None = None, ref: Document | None = None, **spec: Any) -> World:
    world = World(train_job(meta, ref, **spec))
    world.bring(runtime())
    world.look()
    return world


def jobset(world: World) -> Document:
    return world.children[JOB_SETS.key]["train"]


def goes(world: World, kind: str = "", reason: str = "", **figures: int) -> None:
    """How its JobSet is doing, to be seen by the world."""
    condition = {"type": kind, "status": "True", "reason": reason, "message": "so it is"}
    conditions = [{**condition, "lastTransitionTime": moment(world.now)}] if kind else []
    shown = {"name": "node", **dict.fromkeys(("ready", "succeeded", "failed", "active", "suspended"), 0), **figures}
    jobset(world)["status"] = {"conditions": conditions, "replicatedJobsStatus": [shown]}
    world.look()


def test_a_jobset_is_made_once() -> None:
    world = world_of()
    assert list(world.children[JOB_SETS.key]) == ["train"]
    assert not world.carry_out(world.wanted())


def test_a_running_job_has_figures_and_no_conditions() -> None:
    """Kubeflow's client takes a job for running only as long as there are none."""
    world = world_of()
    goes(world, active=1, ready=1)
    assert world.status == {
        "jobsStatus": [{"name": "node", "ready": 1, "succeeded": 0, "failed": 0, "active": 1, "suspended": 0}]
    }


@pytest.mark.parametrize(
    ("end", "reason", "mine"),
    [("Completed", "AllJobsCompleted", "Complete"), ("Failed", "ReachedMaxRestarts", "Failed")],
)
def test_it_ends_as_its_jobset_does_and_keeps_it(end: str, reason: str, mine: str) -> None:
    world = world_of()
    world.after(60)
    ended = moment(world.now)
    goes(world, end, reason, succeeded=1)
    assert world.status["conditions"] == [
        {"type": mine, "status": "True", "reason": reason, "message": "so it is", "lastTransitionTime": ended}
    ]
    assert world.status["jobsStatus"][0]["succeeded"] == 1
    assert world.told() == [reason]
    assert jobset(world)
    del world.children[JOB_SETS.key]["train"]  # its time may be up
    world.look()
    assert world.children[JOB_SETS.key] == {}


def test_a_jobset_that_is_gone_is_made_again() -> None:
    world = world_of()
    del world.children[JOB_SETS.key]["train"]
    world.look()
    assert jobset(world)


def test_one_that_stands_back_from_the_start_makes_a_jobset_that_does() -> None:
    world = world_of(suspend=True)
    assert jobset(world)["spec"]["suspend"] is True
    assert world.conditions() == {"Suspended": "Suspended"}


def test_it_pauses_and_goes_on_with_its_jobset() -> None:
    world = world_of()
    goes(world, active=1)
    world.parent["spec"]["suspend"] = True
    world.look()
    assert jobset(world)["spec"]["suspend"] is True
    assert world.conditions() == {"Suspended": "Suspended"}
    world.after(10)
    world.parent["spec"]["suspend"] = False
    world.look()
    assert jobset(world)["spec"]["suspend"] is False
    [condition] = world.status["conditions"]
    assert (condition["status"], condition["reason"]) == ("False", "Resumed")
    assert condition["lastTransitionTime"] == moment(world.now)


def test_a_pause_alone_makes_no_other_jobset() -> None:
    world = world_of()
    uid = jobset(world)["metadata"]["uid"]
    for yes in (True, False):
        world.parent["spec"]["suspend"] = yes
        world.look()
    assert jobset(world)["metadata"]["uid"] == uid


def test_what_is_patched_while_it_pauses_holds_when_it_goes_on() -> None:
    world = world_of()
    before = jobset(world)["metadata"]["uid"]
    world.parent["spec"]["runtimePatches"] = [patch("node", nodeSelector={"pool": "b"})]
    world.look()
    assert jobset(world)["metadata"]["uid"] == before  # it runs
    world.parent["spec"]["suspend"] = True
    world.look()
    assert jobset(world)["metadata"]["uid"] != before
    made = jobset(world)["spec"]
    assert made["suspend"] is True
    pods = made["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    assert pods["nodeSelector"] == {"pool": "b"}


@pytest.mark.parametrize("paused", [True, False], ids=["it pauses", "it is to go on"])
def test_pods_that_are_still_there_are_waited_for_before_it_is_made_anew(paused: bool) -> None:
    world = world_of(suspend=True)
    goes(world, active=1)
    before = jobset(world)["metadata"]["uid"]
    world.parent["spec"] |= {"runtimePatches": [patch("node", nodeSelector={"pool": "b"})], "suspend": paused}
    world.look()
    assert jobset(world)["metadata"]["uid"] == before
    assert jobset(world)["spec"]["suspend"] is True
    goes(world, suspended=1)
    assert jobset(world)["metadata"]["uid"] != before


def test_a_patch_that_does_not_fit_does_not_delete_the_jobset() -> None:
    world = world_of(suspend=True)
    before = jobset(world)["metadata"]["uid"]
    world.parent["spec"]["runtimePatches"] = [patch("nosuch", nodeSelector={"pool": "b"})]
    world.look()
    assert jobset(world)["metadata"]["uid"] == before
    assert world.told() == ["TrainJobResourcesCreationFailed"]


def test_a_changed_runtime_changes_no_job_that_is_there() -> None:
    world = world_of()
    before = jobset(world)
    world.bring(runtime(numNodes=7))
    for yes in (True, False):
        world.parent["spec"]["suspend"] = yes
        world.look()
    assert jobset(world)["spec"]["replicatedJobs"] == before["spec"]["replicatedJobs"]


def test_a_runtime_that_comes_later_is_waited_for() -> None:
    world = World(train_job())
    world.look()
    assert world.told() == ["TrainJobResourcesCreationFailed"]
    assert world.children[JOB_SETS.key] == {}
    world.bring(runtime())
    world.look()
    assert jobset(world)


@pytest.mark.parametrize(
    ("ref", "runtime_of", "words"),
    [
        ({"kind": "SlurmRuntime"}, runtime(), "unsupported runtime: SlurmRuntime.trainer.kubeflow.org"),
        ({"apiGroup": "example.com"}, runtime(), "unsupported runtime: ClusterTrainingRuntime.example.com"),
        (
            {},
            runtime(numNodes=2, mpi={"numProcPerNode": 1}),
            (
                "ClusterTrainingRuntime basic has spec.mlPolicy.mpi, which this cluster cannot run; "
                "take a runtime with one of torch, jax, xgboost, or with none of them"
            ),
        ),
    ],
    ids=["kind", "group", "framework"],
)
def test_what_cannot_be_run_fails_at_once(ref: Document, runtime_of: Document, words: str) -> None:
    world = World(train_job(ref=ref))
    world.bring(runtime_of)
    world.look()
    assert world.conditions() == {"Failed": "TrainingRuntimeNotSupported"}
    assert world.status["conditions"][0]["message"] == words
    assert world.children[JOB_SETS.key] == {}


def test_its_time_is_up() -> None:
    world = world_of(activeDeadlineSeconds=60)
    assert world.again_at == world.now + 60
    world.after(59)
    world.look()
    assert jobset(world)
    world.after(1)
    world.look()
    assert world.conditions() == {"Failed": "DeadlineExceeded"}
    assert world.children[JOB_SETS.key] == {}


def test_a_pause_stops_the_clock_and_going_on_starts_it_anew() -> None:
    world = world_of(activeDeadlineSeconds=60)
    world.after(50)
    world.parent["spec"]["suspend"] = True
    world.look()
    assert world.wanted().again_at is None
    world.after(1000)
    world.parent["spec"]["suspend"] = False
    world.look()
    assert world.again_at == world.now + 60
    assert world.conditions() == {}


@pytest.mark.parametrize(
    ("meta", "spec"),
    [({}, {"managedBy": "kueue.x-k8s.io/multikueue"}), ({"deletionTimestamp": moment(0)}, {})],
    ids=["of others", "on its way out"],
)
def test_some_jobs_are_left_alone(meta: Document, spec: Document) -> None:
    world = world_of(meta, **spec)
    assert world.children[JOB_SETS.key] == {}
    assert world.status == {}
