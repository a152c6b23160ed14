"""JobSets: the Jobs they make, what they do when one fails, and when they are done."""

import hashlib
from typing import Any

import pytest

from tests.kinds.children.world import BEGIN, World, documents, moment
from tests.objects.documents import Document, jobset, replicated_job
from understudy.kinds.children.jobset.spec import ATTEMPT, JOB_ATTEMPT
from understudy.objects.resources import CLAIMS, SERVICES

MARK = "jobset.sigs.k8s.io/"


def world_of(*groups: Document, meta: Document | None = None, **spec: Any) -> World:
    parent = jobset("train", *groups, meta=meta)
    parent["spec"] |= spec
    world = World(parent)
    world.look()
    return world


def end(world: World, name: str, kind: str = "Complete", reason: str = "BackoffLimitExceeded") -> None:
    condition = {"type": kind, "status": "True", "reason": reason, "lastTransitionTime": moment(world.now)}
    world.jobs[name]["status"] = {"conditions": [condition]}


def fail(world: World, name: str, reason: str = "BackoffLimitExceeded") -> None:
    end(world, name, "Failed", reason)


def run(world: World, *names: str) -> None:
    for name in names or list(world.jobs):
        parallelism = world.jobs[name]["spec"]["parallelism"]
        world.jobs[name]["status"] = {"active": parallelism, "ready": parallelism}


def attempts(world: World) -> set[str]:
    return {job["metadata"]["labels"][ATTEMPT] for job in world.jobs.values()}


def test_each_replica_is_a_job_that_knows_its_place() -> None:
    world = World(jobset("train", replicated_job("leader", 1, 1), replicated_job("worker", 2, 4)))
    service, *jobs = documents(world.wanted().creates)
    assert [made["metadata"]["name"] for made in jobs] == ["train-leader-0", "train-worker-0", "train-worker-1"]
    last = jobs[-1]
    marks = {
        f"{MARK}jobset-name": "train",
        f"{MARK}jobset-uid": "parent-uid",
        f"{MARK}replicatedjob-name": "worker",
        f"{MARK}replicatedjob-replicas": "2",
        f"{MARK}global-replicas": "3",
        f"{MARK}job-index": "1",
        f"{MARK}job-global-index": "2",
        f"{MARK}job-key": hashlib.sha1(b"default/train-worker-1").hexdigest(),
        f"{MARK}restart-attempt": "0",
        f"{MARK}group-name": "default",
        f"{MARK}group-replicas": "3",
        f"{MARK}job-group-index": "2",
    }
    pods = last["spec"]["template"]
    for found in (last["metadata"], pods["metadata"]):
        assert found["labels"].items() >= marks.items()
        assert found["annotations"].items() >= marks.items()
    assert last["metadata"]["ownerReferences"][0]["kind"] == "JobSet"
    assert (last["spec"]["completionMode"], last["spec"]["suspend"]) == ("Indexed", False)
    assert (pods["spec"]["subdomain"], pods["spec"]["restartPolicy"]) == ("train", "OnFailure")
    assert service["metadata"]["name"] == "train"
    assert service["spec"] == {
        "clusterIP": "None",
        "selector": {f"{MARK}jobset-name": "train"},
        "publishNotReadyAddresses": True,
    }


def test_what_is_made_is_made_once() -> None:
    world = world_of(replicated_job("worker", 2, 2))
    assert len(world.jobs) == 2
    assert list(world.children[SERVICES.key]) == ["train"]
    assert not world.carry_out(world.wanted())


def test_without_names_there_is_no_service() -> None:
    world = world_of(replicated_job("worker", 1, 1), network={"enableDNSHostnames": False})
    assert world.children[SERVICES.key] == {}
    assert "subdomain" not in world.jobs["train-worker-0"]["spec"]["template"]["spec"]


def test_the_coordinator_is_told_to_all() -> None:
    world = world_of(replicated_job("worker", 1, 2), coordinator={"replicatedJob": "worker", "podIndex": 1})
    labels = world.jobs["train-worker-0"]["spec"]["template"]["metadata"]["labels"]
    assert labels[f"{MARK}coordinator"] == "train-worker-0-1.train"


def test_placement_on_the_jobset_holds_for_its_pods() -> None:
    exclusive = {"alpha.jobset.sigs.k8s.io/exclusive-topology": "rack"}
    world = world_of(replicated_job("worker", 1, 1), meta={"annotations": {**exclusive, "other": "x"}})
    notes = world.jobs["train-worker-0"]["spec"]["template"]["metadata"]["annotations"]
    assert notes.items() >= exclusive.items()
    assert "other" not in notes


def test_the_node_selector_strategy_selects_nodes_by_job() -> None:
    notes = {"alpha.jobset.sigs.k8s.io/exclusive-topology": "rack", "alpha.jobset.sigs.k8s.io/node-selector": "true"}
    world = world_of(replicated_job("worker", 1, 1), meta={"annotations": notes})
    spec = world.jobs["train-worker-0"]["spec"]["template"]["spec"]
    assert spec["nodeSelector"] == {"alpha.jobset.sigs.k8s.io/namespaced-job": "default_train-worker-0"}
    assert spec["tolerations"][0]["key"] == "alpha.jobset.sigs.k8s.io/no-schedule"


def test_it_is_completed_when_all_its_jobs_are() -> None:
    world = world_of(replicated_job("worker", 2, 1))
    end(world, "train-worker-0")
    world.look()
    assert not world.conditions()
    end(world, "train-worker-1")
    world.look()
    assert world.conditions() == {"Completed": "AllJobsCompleted"}
    assert world.status["terminalState"] == "Completed"
    assert world.status["replicatedJobsStatus"][0]["succeeded"] == 2


@pytest.mark.parametrize(
    ("policy", "winner"),
    [
        ({"operator": "Any"}, "train-worker-1"),
        ({"operator": "All", "targetReplicatedJobs": ["leader"]}, "train-leader-0"),
    ],
    ids=["any", "the leader"],
)
def test_a_success_policy_ends_it_earlier(policy: Document, winner: str) -> None:
    world = world_of(replicated_job("leader", 1, 1), replicated_job("worker", 2, 1), successPolicy=policy)
    run(world)
    end(world, winner)
    world.look()
    assert "Completed" in world.conditions()
    assert list(world.jobs) == [winner]


def test_without_a_failure_policy_the_first_failed_job_fails_it() -> None:
    world = world_of(replicated_job("worker", 2, 1))
    run(world)
    fail(world, "train-worker-1")
    world.look()
    assert world.conditions() == {"Failed": "FailedJobs"}
    assert "train-worker-1" in world.status["conditions"][0]["message"]
    assert list(world.jobs) == ["train-worker-1"]
    assert [(n.reason, n.type) for n in world.notes] == [("FailedJobs", "Warning")]


def test_with_restarts_left_all_jobs_are_made_anew() -> None:
    world = world_of(replicated_job("worker", 2, 1), failurePolicy={"maxRestarts": 1})
    run(world)
    uids = {job["metadata"]["uid"] for job in world.jobs.values()}
    fail(world, "train-worker-0")
    world.look()
    assert (world.status["restarts"], world.status["restartsCountTowardsMax"]) == (1, 1)
    assert attempts(world) == {"1"}
    assert not uids & {job["metadata"]["uid"] for job in world.jobs.values()}
    fail(world, "train-worker-0")
    world.look()
    assert world.conditions() == {"Failed": "ReachedMaxRestarts"}


def test_a_name_is_used_again_only_when_its_old_job_is_gone() -> None:
    world = world_of(replicated_job("worker", 2, 1), failurePolicy={"maxRestarts": 1})
    for name in world.jobs:
        world.jobs[name]["metadata"]["finalizers"] = ["foregroundDeletion"]
    fail(world, "train-worker-0")
    world.look()
    assert attempts(world) == {"0"}
    world.jobs["train-worker-0"]["metadata"]["finalizers"] = []
    world.delete("train-worker-0", "jobs.batch")
    world.look()
    assert world.jobs["train-worker-0"]["metadata"]["labels"][ATTEMPT] == "1"
    assert world.jobs["train-worker-1"]["metadata"]["labels"][ATTEMPT] == "0"


def test_a_blocking_restart_waits_for_all_old_jobs() -> None:
    policy = {"maxRestarts": 1, "restartStrategy": "BlockingRecreate"}
    world = world_of(replicated_job("worker", 2, 1), failurePolicy=policy)
    world.jobs["train-worker-1"]["metadata"]["finalizers"] = ["foregroundDeletion"]
    fail(world, "train-worker-0")
    world.look()
    assert list(world.jobs) == ["train-worker-1"]
    world.jobs["train-worker-1"]["metadata"]["finalizers"] = []
    world.delete("train-worker-1", "jobs.batch")
    world.look()
    assert attempts(world) == {"1"}
    assert len(world.jobs) == 2


@pytest.mark.parametrize(
    ("rule", "reason", "conditions", "restarts"),
    [
        ({"action": "FailJobSet"}, "Any", {"Failed": "FailJobSetFailurePolicyAction"}, (0, 0)),
        ({"action": "FailJobSet", "onJobFailureReasons": ["PodFailurePolicy"]}, "Other", {}, (1, 1)),
        ({"action": "FailJobSet", "targetReplicatedJobs": ["leader"]}, "Any", {}, (1, 1)),
        ({"action": "RestartJobSetAndIgnoreMaxRestarts"}, "Any", {}, (1, 0)),
    ],
)
def test_rules_decide_by_reason_and_group(
    rule: Document, reason: str, conditions: Document, restarts: tuple[int, int]
) -> None:
    policy = {"maxRestarts": 5, "rules": [rule]}
    world = world_of(replicated_job("leader", 1, 1), replicated_job("worker", 1, 1), failurePolicy=policy)
    fail(world, "train-worker-0", reason)
    world.look()
    assert world.conditions() == conditions
    assert (world.status["restarts"], world.status.get("restartsCountTowardsMax", 0)) == restarts


def test_a_job_may_be_restarted_alone() -> None:
    policy = {"maxRestarts": 1, "rules": [{"action": "RestartJob"}]}
    world = world_of(replicated_job("worker", 2, 1), failurePolicy=policy)
    other = world.jobs["train-worker-1"]["metadata"]["uid"]
    fail(world, "train-worker-0")
    world.look()
    alone = world.jobs["train-worker-0"]["metadata"]
    assert (alone["labels"][ATTEMPT], alone["labels"][JOB_ATTEMPT]) == ("0", "1")
    assert alone["annotations"][JOB_ATTEMPT] == "1"
    [figures] = world.status["replicatedJobsStatus"]
    assert (figures["jobRestarts"], figures["jobRestartsCountTowardsMax"]) == ([1, 0], [1, 0])
    assert "restartsCountTowardsMax" not in world.status
    assert world.jobs["train-worker-1"]["metadata"]["uid"] == other
    assert world.status["restarts"] == 0
    fail(world, "train-worker-0")
    world.look()
    assert world.conditions() == {"Failed": "ReachedMaxRestarts"}


def test_it_pauses_and_goes_on_with_its_jobs() -> None:
    world = world_of(replicated_job("worker", 2, 1), failurePolicy={"maxRestarts": 0})
    run(world)
    world.parent["spec"]["suspend"] = True
    world.look()
    assert all(job["spec"]["suspend"] for job in world.jobs.values())
    assert world.conditions() == {"Suspended": "SuspendedJobs"}
    world.parent["spec"]["suspend"] = False
    world.look()
    assert not any(job["spec"]["suspend"] for job in world.jobs.values())
    assert world.conditions() == {}
    assert world.told() == ["SuspendedJobs", "ResumeJobs"]
    assert world.status["restarts"] == 0


def test_a_restart_of_a_job_alone_need_not_count() -> None:
    policy = {"maxRestarts": 1, "rules": [{"action": "RestartJobAndIgnoreMaxRestarts"}]}
    world = world_of(replicated_job("worker", 2, 1), failurePolicy=policy)
    for _ in range(3):
        fail(world, "train-worker-1")
        world.look()
    [figures] = world.status["replicatedJobsStatus"]
    assert (figures["jobRestarts"], "jobRestartsCountTowardsMax" in figures) == ([0, 3], False)
    assert not world.conditions()


GATE = {"name": "example.com/quota"}


def template_of(document: Document) -> Document:
    template: Document = document["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    return template


@pytest.mark.parametrize("has_run", [False, True])
def test_what_the_patch_that_resumes_it_says_of_places_reaches_the_pods(has_run: bool) -> None:
    """Kueue changes the template of a suspended JobSet."""
    world = world_of(replicated_job("worker", 2, 1), suspend=True)
    if has_run:
        for job in world.jobs.values():
            job["status"] = {"startTime": moment(BEGIN)}
    template = template_of(world.parent)
    template["spec"] |= {"schedulingGates": [GATE], "nodeSelector": {"pool": "a"}, "tolerations": [{"key": "spot"}]}
    template["metadata"] = {"annotations": {"kueue.x-k8s.io/workload": "w"}}
    world.parent["spec"]["suspend"] = False
    world.look()
    for job in world.jobs.values():
        assert not job["spec"]["suspend"]
        assert "startTime" not in job.get("status", {})
        pods = job["spec"]["template"]
        assert (pods["spec"]["schedulingGates"], pods["spec"]["nodeSelector"]) == ([GATE], {"pool": "a"})
        assert pods["spec"]["tolerations"] == [{"key": "spot"}]
        assert pods["metadata"]["annotations"]["kueue.x-k8s.io/workload"] == "w"
        assert pods["metadata"]["labels"][ATTEMPT] == "0"


def test_a_job_that_goes_on_as_it_was_is_resumed_in_one_step() -> None:
    world = world_of(replicated_job("worker", 1, 1), suspend=True)
    world.jobs["train-worker-0"]["status"] = {"startTime": moment(BEGIN)}
    world.parent["spec"]["suspend"] = False
    [patch] = world.wanted().patches
    assert (patch.sub, patch.patch) == ("", {"metadata": {"uid": "uid-1"}, "spec": {"suspend": False}})


def with_claims(mount: str = "cache", **policy: Any) -> World:
    parent = jobset("train", replicated_job("worker", 2, 1), replicated_job("other", 1, 1))
    template_of(parent)["spec"]["containers"][0]["volumeMounts"] = [{"name": mount, "mountPath": "/cache"}]
    storage = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    claim = {"metadata": {"name": "cache", "labels": {"mine": "yes"}}, "spec": storage}
    parent["spec"]["volumeClaimPolicies"] = [{"templates": [claim], **policy}]
    world = World(parent)
    world.look()
    return world


def test_claims_of_its_policies_are_made_once_and_mounted_where_a_container_names_them() -> None:
    world = with_claims()
    [claim] = world.children[CLAIMS.key].values()
    assert claim["metadata"]["name"] == "cache-train"
    assert claim["metadata"]["labels"] == {"mine": "yes", "jobset.sigs.k8s.io/jobset-name": "train"}
    assert claim["metadata"]["ownerReferences"][0]["kind"] == "JobSet"
    volumes = {name: job["spec"]["template"]["spec"].get("volumes") for name, job in world.jobs.items()}
    mounted = [{"name": "cache", "persistentVolumeClaim": {"claimName": "cache-train"}}]
    assert volumes == {"train-worker-0": mounted, "train-worker-1": mounted, "train-other-0": None}
    assert not world.carry_out(world.wanted())


def test_claims_that_are_retained_have_no_owner() -> None:
    world = with_claims(retentionPolicy={"whenDeleted": "Retain"})
    [claim] = world.children[CLAIMS.key].values()
    assert "ownerReferences" not in claim["metadata"]


def test_a_claim_that_no_container_mounts_fails_it_in_words() -> None:
    world = with_claims(mount="cach")
    assert world.conditions() == {"Failed": "InvalidSpec"}
    assert world.notes[-1].message == (
        "spec.volumeClaimPolicies[0].templates[0]: no container mounts 'cache': give one a volumeMount of this name"
    )
    assert not world.jobs


def test_in_order_a_group_waits_for_the_one_before_it() -> None:
    order = {"startupPolicyOrder": "InOrder"}
    world = world_of(replicated_job("leader", 1, 1), replicated_job("worker", 1, 2), startupPolicy=order)
    assert list(world.jobs) == ["train-leader-0"]
    assert list(world.conditions()) == ["StartupPolicyInProgress"]
    run(world)
    world.look()
    assert list(world.jobs) == ["train-leader-0", "train-worker-0"]
    run(world)
    world.look()
    assert list(world.conditions()) == ["StartupPolicyCompleted"]


def test_a_group_waits_for_what_it_depends_on() -> None:
    trainer = {**replicated_job("trainer", 1, 1), "dependsOn": [{"name": "loader", "status": "Complete"}]}
    world = world_of(replicated_job("loader", 1, 1), trainer)
    run(world)
    world.look()
    assert list(world.jobs) == ["train-loader-0"]
    end(world, "train-loader-0")
    world.look()
    assert "train-trainer-0" in world.jobs


def test_its_figures_tell_how_its_jobs_are() -> None:
    world = world_of(replicated_job("worker", 3, 2))
    run(world, "train-worker-0")
    world.jobs["train-worker-1"]["status"] = {"active": 2, "ready": 1}
    world.look()
    (figures,) = world.status["replicatedJobsStatus"]
    expected = {"name": "worker", "ready": 1, "active": 2, "succeeded": 0, "failed": 0, "suspended": 0}
    assert figures == expected


def test_a_jobset_ended_by_another_client_deletes_its_jobs() -> None:
    world = world_of(replicated_job("worker", 2, 1))
    ended = {"type": "Failed", "status": "True", "reason": "Preempted", "lastTransitionTime": moment(BEGIN)}
    world.status["conditions"] = [ended]
    world.look()
    assert world.jobs == {}
    assert world.status["terminalState"] == "Failed"


def test_a_finished_one_expires() -> None:
    world = world_of(replicated_job("worker", 1, 1), ttlSecondsAfterFinished=60)
    end(world, "train-worker-0")
    world.look()
    assert (world.expired, world.again_at) == (False, BEGIN + 60)
    world.after(60)
    world.look()
    assert world.expired


def test_a_jobset_managed_by_another_controller_is_left_alone() -> None:
    assert world_of(replicated_job("worker", 1, 1), managedBy="example.com/queue").jobs == {}
