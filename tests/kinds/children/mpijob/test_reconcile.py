"""MPIJobs: which pods they make in which order, and what becomes of them when some end."""

from typing import Any

import pytest

from tests.kinds.children.mpijob.documents import (
    OPERATED,
    VERSIONS,
    begun,
    launcher_ends,
    launcher_rests,
    launcher_runs,
    lose,
    mpijob,
    running,
    state,
)
from tests.kinds.children.world import World, moment
from understudy.objects.mpi import LOST_WORKER
from understudy.objects.resources import CONFIG_MAPS, SERVICES

WORKERS = ["train-worker-0", "train-worker-1"]
every_version = pytest.mark.parametrize("version", VERSIONS)
operated = pytest.mark.parametrize("version", OPERATED)


def workers(world: World) -> list[str]:
    return [name for name in world.live() if "worker" in name]


# How it begins


@pytest.mark.parametrize(
    ("version", "pods", "jobs"),
    [
        ("v1alpha1", WORKERS, []),
        ("v1", [*WORKERS, "train-launcher"], []),
        ("v2beta1", WORKERS, ["train-launcher"]),
    ],
)
def test_what_is_made_at_once(version: str, pods: list[str], jobs: list[str]) -> None:
    world = begun(version)
    assert list(world.pods) == pods
    assert list(world.jobs) == jobs
    assert list(world.children[CONFIG_MAPS.key]) == ["train-config"]
    assert list(world.children[SERVICES.key]) == (["train"] if version == "v2beta1" else [])


@pytest.mark.parametrize(
    ("version", "spec"), [("v1alpha1", {}), ("v2beta1", {"launcherCreationPolicy": "WaitForWorkersReady"})]
)
def test_a_launcher_that_waits_for_all_workers(version: str, spec: dict[str, Any]) -> None:
    world = begun(version, **spec)
    world.run("train-worker-0")
    world.look()
    assert not world.jobs
    world.run("train-worker-1")
    world.look()
    assert list(world.jobs) == ["train-launcher"]


def test_a_job_of_another_controller_is_left_alone() -> None:
    world = begun("v2beta1", managedBy="kueue.x-k8s.io/multikueue")
    assert not world.pods
    assert not world.status


@operated
def test_conditions_as_it_starts(version: str) -> None:
    world = begun(version)
    assert world.conditions() == {"Created": "MPIJobCreated"}
    world.run()
    launcher_runs(world)
    world.look()
    assert world.conditions() == {"Created": "MPIJobCreated", "Running": "MPIJobRunning"}
    assert world.status["replicaStatuses"] == {"Launcher": {"active": 1}, "Worker": {"active": 2}}
    assert world.status["startTime"] == moment(world.now)


def test_the_third_version_runs_when_all_of_it_does() -> None:
    world = begun("v2beta1")
    launcher_runs(world)
    world.run("train-worker-0")
    world.look()
    assert "Running" not in world.conditions()


def test_the_words_of_the_first_version() -> None:
    world = begun("v1alpha1")
    world.run("train-worker-0")
    world.look()
    assert (world.status["workerReplicas"], state(world)) == (1, "")
    world.run()
    world.look()
    launcher_runs(world)
    world.look()
    assert (world.status["workerReplicas"], state(world)) == (2, "Active")
    assert "conditions" not in world.status


@every_version
def test_a_name_that_leaves_no_room_for_those_of_its_pods(version: str) -> None:
    document = mpijob(version)
    document["metadata"]["name"] = "x" * 55
    world = World(document)
    world.look()
    assert state(world) == "Failed"
    assert not world.live()
    assert world.notes[-1].message.endswith("use 54 characters at most")


@operated
def test_more_replicas_than_there_are_cannot_be_available(version: str) -> None:
    document = mpijob(version, workers=2)
    document["spec"]["runPolicy"]["schedulingPolicy"] = {"minAvailable": 4}
    world = World(document)
    world.look()
    assert state(world) == "Failed"
    assert world.notes[-1].message.endswith("minAvailable is 4, but the job has 3 replicas: use 3 or less")


# How it ends


@every_version
@pytest.mark.parametrize(("code", "end"), [(0, "Succeeded"), (3, "Failed")])
def test_as_the_launcher_ends_so_does_the_job(version: str, code: int, end: str) -> None:
    world = running(version)
    launcher_ends(world, code)
    world.after(1)
    world.look()
    assert state(world) == end
    assert world.status["completionTime"] == moment(world.now)
    if version != "v1alpha1":
        assert "Running" not in world.conditions()


def test_the_third_version_fails_for_the_reason_of_its_job() -> None:
    world = running("v2beta1")
    launcher_ends(world, 1, "DeadlineExceeded")
    world.look()
    assert world.conditions()["Failed"] == "DeadlineExceeded"


@pytest.mark.parametrize(
    ("version", "policy", "left"),
    [
        ("v1alpha1", None, []),
        ("v1alpha1", "None", WORKERS),
        ("v1", None, WORKERS),
        ("v2beta1", None, WORKERS),
        ("v1", "All", []),
        ("v2beta1", "All", []),
        ("v1", "Running", ["train-worker-1"]),
        ("v2beta1", "Running", ["train-worker-1"]),
    ],
)
def test_which_workers_are_kept(version: str, policy: str | None, left: list[str]) -> None:
    """The launcher always is."""
    spec: dict[str, Any] = {"cleanPodPolicy": policy} if policy else {}
    world = running(version, **spec)
    launcher_ends(world)
    world.end("train-worker-1")
    world.look()
    world.leave()
    world.look()
    assert [name for name in world.pods if "worker" in name] == left
    assert "train-launcher" in (*world.jobs, *world.pods)


@pytest.mark.parametrize("version", ["v1alpha1", "v1"])
def test_time_to_live(version: str) -> None:
    world = running(version, ttlSecondsAfterFinished=60)
    launcher_ends(world)
    world.look()
    world.after(59)
    world.look()
    assert not world.expired
    world.after(1)
    world.look()
    assert world.expired


def test_time_to_live_of_the_third_version_is_that_of_its_launcher() -> None:
    world = running("v2beta1", ttlSecondsAfterFinished=60)
    assert world.jobs["train-launcher"]["spec"]["ttlSecondsAfterFinished"] == 60
    launcher_ends(world)
    world.look()
    del world.jobs["train-launcher"]
    world.after(100)
    world.look()
    assert not world.jobs
    assert not world.expired
    assert world.status["replicaStatuses"]["Launcher"] == {"succeeded": 1}


def test_the_second_version_has_its_own_deadline() -> None:
    world = running("v1", activeDeadlineSeconds=10)
    assert world.again_at == world.now + 10
    world.after(10)
    world.look()
    assert state(world) == "Failed"


# Launchers that fail in the second version


@pytest.mark.parametrize(
    ("policy", "code", "limit", "end"),
    [
        ("Never", 1, None, "Failed"),
        ("OnFailure", 1, None, "Restarting"),
        ("OnFailure", 1, 1, "Restarting"),
        ("OnFailure", 1, 0, "Failed"),
        ("ExitCode", 1, None, "Failed"),
        ("ExitCode", 137, None, "Restarting"),
    ],
)
def test_a_launcher_fails(policy: str, code: int, limit: int | None, end: str) -> None:
    world = running("v1", restartPolicy=policy, **({} if limit is None else {"backoffLimit": limit}))
    launcher_ends(world, code)
    world.look()
    assert state(world) == end


def test_every_failure_counts_once_and_the_next_try_comes_later() -> None:
    world = running("v1", restartPolicy="OnFailure", backoffLimit=2)
    for count, pause in ((1, 10), (2, 20)):
        launcher_ends(world, 1)
        world.look()
        world.look()
        assert world.status["restarts"] == count
        assert world.again_at == world.now + pause
        world.after(pause)
        world.look()
        world.run("train-launcher")
        world.look()
        assert state(world) == "Running"
    launcher_ends(world, 1)
    world.look()
    assert state(world) == "Failed"


# Workers that are lost


@every_version
def test_a_lost_worker_is_made_again(version: str) -> None:
    world = running(version, backoffLimit=0)
    before = world.pods["train-worker-1"]["metadata"]["uid"]
    lose(world, "train-worker-1")
    world.look()
    assert workers(world) == WORKERS
    assert world.pods["train-worker-1"]["metadata"]["uid"] != before
    assert state(world) in ("Active", "Running")


def test_a_launcher_that_lost_its_worker_is_made_again_at_no_cost() -> None:
    world = running("v1", backoffLimit=0)
    lose(world, "train-worker-1")
    world.end("train-launcher", LOST_WORKER)
    world.look()
    assert state(world) == "Restarting"
    assert "train-launcher" not in world.pods  # it has no workers to start processes in
    world.run("train-worker-1")
    world.look()
    assert "train-launcher" in world.live()
    assert "restarts" not in world.status


@pytest.mark.parametrize("version", ["v1alpha1", "v2beta1"])
def test_the_job_of_a_launcher_that_rests_pauses_until_the_workers_are_back(version: str) -> None:
    """So that it starts at once then, however often it failed for want of them."""
    world = running(version)
    launcher_rests(world)
    world.look()
    lose(world, "train-worker-1")
    world.look()
    assert not world.jobs["train-launcher"]["spec"].get("suspend")
    assert world.again_at == world.now + 2
    world.after(2)
    world.look()
    assert world.jobs["train-launcher"]["spec"]["suspend"]
    world.run("train-worker-1")
    world.look()
    assert not world.jobs["train-launcher"]["spec"]["suspend"]
    launcher_runs(world)
    world.look()
    assert "launcherRestsSince" not in world.status


@pytest.mark.parametrize("version", ["v1alpha1", "v2beta1"])
def test_a_launcher_that_its_job_makes_again_by_itself_is_left_to_it(version: str) -> None:
    world = running(version)
    launcher_rests(world)
    lose(world, "train-worker-1")
    world.look()
    launcher_runs(world)
    world.after(10)
    world.look()
    assert not world.jobs["train-launcher"]["spec"].get("suspend")


@every_version
def test_a_launcher_that_goes_on_without_a_worker_is_left_alone(version: str) -> None:
    world = running(version)
    lose(world, "train-worker-1")
    world.look()
    launcher = world.jobs.get("train-launcher") or world.pods["train-launcher"]
    assert not launcher["spec"].get("suspend")
    assert "deletionTimestamp" not in launcher["metadata"]


@pytest.mark.parametrize(("version", "end"), [("v1alpha1", "Active"), ("v1", "Failed"), ("v2beta1", "Running")])
def test_a_worker_that_fails_by_itself(version: str, end: str) -> None:
    world = running(version)
    world.end("train-worker-0", 1)
    world.look()
    assert state(world) == end


@pytest.mark.parametrize(("restarts", "end"), [(6, "Active"), (7, "Failed")])
def test_a_worker_of_the_first_version_that_keeps_dying(restarts: int, end: str) -> None:
    world = running("v1alpha1", backoffLimit=0)
    world.pods["train-worker-0"]["status"]["containerStatuses"] = [{"name": "mpi", "restartCount": restarts}]
    world.look()
    assert state(world) == end


@operated
def test_a_worker_that_is_evicted_is_the_end(version: str) -> None:
    world = running(version)
    world.end("train-worker-0", 1, reason="Evicted")
    world.look()
    assert world.conditions()["Failed"] == "MPIJobEvicted"


# Standing back


@operated
def test_a_suspended_job_keeps_no_pods(version: str) -> None:
    world = running(version)
    world.parent["spec"]["runPolicy"]["suspend"] = True
    world.look()
    world.leave()
    world.look()
    assert not world.pods
    assert all(job["spec"]["suspend"] for job in world.jobs.values())
    assert world.conditions() == {"Created": "MPIJobCreated", "Suspended": "MPIJobSuspended"}
    world.after(60)
    world.parent["spec"]["runPolicy"]["suspend"] = False
    world.look()
    assert workers(world) == WORKERS
    assert not any(job["spec"]["suspend"] for job in world.jobs.values())
    assert world.status["startTime"] == moment(world.now)
    assert world.conditions() == {"Created": "MPIJobCreated"}


@operated
def test_the_launcher_of_a_suspended_job_is_not_active(version: str) -> None:
    world = running(version)
    world.parent["spec"]["runPolicy"]["suspend"] = True
    world.look()
    world.leave()
    if version == "v2beta1":
        launcher_rests(world)
    world.look()
    assert world.status["replicaStatuses"] == {"Launcher": {}, "Worker": {}}


@operated
def test_the_launcher_of_a_job_that_lost_it_for_good_is_not_active(version: str) -> None:
    world = running(version, cleanPodPolicy="All")
    world.status["conditions"].append({"type": "Failed", "status": "True", "reason": "Preempted"})
    world.look()
    world.after(30)
    world.look()
    world.leave()
    if version == "v2beta1":
        launcher_rests(world)
    world.look()
    assert world.status["replicaStatuses"] == {"Launcher": {}, "Worker": {}}


def test_a_launcher_that_waits_for_workers_also_does_when_it_goes_on() -> None:
    world = running("v2beta1", launcherCreationPolicy="WaitForWorkersReady")
    world.parent["spec"]["runPolicy"]["suspend"] = True
    world.look()
    world.leave()
    world.parent["spec"]["runPolicy"]["suspend"] = False
    world.look()
    assert world.jobs["train-launcher"]["spec"]["suspend"]
    world.run()
    world.look()
    assert not world.jobs["train-launcher"]["spec"]["suspend"]


# Ended by another client


@every_version
def test_a_job_that_is_made_to_fail_lets_its_launcher_end_by_itself(version: str) -> None:
    world = running(version, cleanPodPolicy="All")
    if version == "v1alpha1":
        world.status["launcherStatus"] = "Failed"
    else:
        world.status["conditions"].append({"type": "Failed", "status": "True", "reason": "Preempted"})
    world.look()
    assert not workers(world)
    assert all(not job["spec"].get("suspend") for job in world.jobs.values())
    if version == "v1":
        world.end("train-launcher", LOST_WORKER)
    else:
        launcher_rests(world)
    world.leave()
    world.look()
    assert state(world) == "Failed"
    assert all(job["spec"]["suspend"] for job in world.jobs.values())
    assert list(world.pods) == (["train-launcher"] if version == "v1" else [])


@every_version
def test_one_that_does_not_end_is_taken_away_after_a_while(version: str) -> None:
    world = running(version)
    launcher = "launcherStatus" if version == "v1alpha1" else "conditions"
    ended = {"type": "Failed", "status": "True", "reason": "Preempted"}
    world.status[launcher] = "Failed" if version == "v1alpha1" else [ended]
    world.look()
    assert world.again_at == world.now + 30
    world.after(30)
    world.look()
    assert "train-launcher" not in world.live()
    assert all(job["spec"]["suspend"] for job in world.jobs.values())


@every_version
def test_it_comes_to_rest(version: str) -> None:
    world = running(version)
    assert not world.carry_out(world.wanted())


def test_a_job_with_fewer_workers_than_before() -> None:
    world = running("v2beta1")
    world.parent["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"] = 1
    world.look()
    assert workers(world) == ["train-worker-0"]
    assert world.children[CONFIG_MAPS.key]["train-config"]["data"]["hostfile"].count("slots") == 1


def test_unknown_fields_of_the_template_are_kept() -> None:
    document = mpijob("v2beta1")
    document["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]["tolerations"] = [{"operator": "Exists"}]
    world = World(document)
    world.look()
    assert world.pods["train-worker-0"]["spec"]["tolerations"] == [{"operator": "Exists"}]
