"""Jobs: which pods they make, when they are done, and what they forgive."""

from typing import Any

import pytest

from tests.kinds.children.world import BEGIN, World, documents, moment
from tests.objects.documents import Document, job
from understudy.kinds.children.actions import ObservedChildren
from understudy.kinds.children.job.reconcile import release_orphans
from understudy.kinds.children.job.spec import TRACKING

INDEX = "batch.kubernetes.io/job-completion-index"


def started(**spec: Any) -> World:
    spec.setdefault("backoffLimit", 6)
    spec.setdefault("completions", spec.get("parallelism", 1))
    world = World(job("train", **spec))
    world.look()
    return world


def indexed(pods: int, **spec: Any) -> World:
    return started(completionMode="Indexed", parallelism=pods, completions=pods, **spec)


def at(world: World, index: int) -> str:
    """The live pod of an index."""
    return next(name for name in world.live() if world.pods[name]["metadata"]["labels"][INDEX] == str(index))


def failure_condition(kind: str, reason: str) -> list[Document]:
    return [{"type": kind, "status": "True", "reason": reason}]


def test_a_job_makes_its_pods_at_once_and_says_so() -> None:
    world = started(parallelism=3)
    assert len(world.live()) == 3
    assert all(name.startswith("train-") for name in world.pods)
    assert world.status == {
        "active": 3,
        "ready": 0,
        "terminating": 0,
        "startTime": moment(BEGIN),
        "uncountedTerminatedPods": {},
    }


def test_a_pod_is_the_template_with_its_owner_and_labels() -> None:
    world = World(job("train"))
    world.parent["spec"]["template"]["metadata"] = {"labels": {"app": "x"}, "annotations": {"note": "y"}}
    (made,) = documents(world.wanted().creates)
    metadata = made["metadata"]
    assert metadata["labels"] == {
        "app": "x",
        "batch.kubernetes.io/controller-uid": "parent-uid",
        "controller-uid": "parent-uid",
        "batch.kubernetes.io/job-name": "train",
        "job-name": "train",
    }
    assert metadata["annotations"] == {"note": "y"}
    assert metadata["finalizers"] == [TRACKING]
    assert metadata["generateName"] == "train-"
    (owner,) = metadata["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"]) == ("Job", "parent-uid", True)
    assert made["spec"] == world.parent["spec"]["template"]["spec"]


def test_pods_of_an_indexed_job_know_their_index() -> None:
    world = World(job("train", completionMode="Indexed", parallelism=2, completions=2))
    first, second = documents(world.wanted().creates)
    assert [p["metadata"]["generateName"] for p in (first, second)] == ["train-0-", "train-1-"]
    assert [p["spec"]["hostname"] for p in (first, second)] == ["train-0", "train-1"]
    assert second["metadata"]["labels"][INDEX] == second["metadata"]["annotations"][INDEX] == "1"
    (variable,) = second["spec"]["containers"][0]["env"]
    assert variable["name"] == "JOB_COMPLETION_INDEX"
    assert variable["valueFrom"]["fieldRef"]["fieldPath"] == f"metadata.labels['{INDEX}']"


def test_a_container_that_sets_its_index_itself_keeps_it() -> None:
    world = World(job("train", completionMode="Indexed", completions=1))
    own = [{"name": "JOB_COMPLETION_INDEX", "value": "7"}]
    world.parent["spec"]["template"]["spec"]["containers"][0]["env"] = own
    (made,) = documents(world.wanted().creates)
    assert made["spec"]["containers"][0]["env"] == own


def test_a_long_name_leaves_room_for_index_and_chance() -> None:
    world = World(job("x" * 63, completionMode="Indexed", completions=1))
    (made,) = documents(world.wanted().creates)
    assert made["metadata"]["generateName"] == "x" * 55 + "-0-"


def test_a_job_completes_once_its_pods_have_succeeded() -> None:
    world = started(parallelism=2, completions=3)
    for _ in range(3):
        world.run()
        world.after(5)
        world.end(world.live()[0])
        world.look()
    assert world.conditions() == {"SuccessCriteriaMet": "CompletionsReached", "Complete": "CompletionsReached"}
    assert world.status["succeeded"] == 3
    assert world.status["completionTime"] == moment(BEGIN + 15)
    assert "active" not in world.status
    assert world.told() == ["Completed"]
    assert all(TRACKING not in pod["metadata"]["finalizers"] for pod in world.pods.values())


def test_success_is_on_record_before_the_pod_may_vanish() -> None:
    world = started()
    (name,) = world.live()
    world.end(name)
    wanted = world.wanted()
    assert wanted.status is not None
    assert wanted.status["uncountedTerminatedPods"] == {"succeeded": [world.pods[name]["metadata"]["uid"]]}
    assert "succeeded" not in wanted.status
    assert [patch.name for patch in wanted.patches] == [name]


def test_an_indexed_job_runs_each_index_until_it_has_succeeded() -> None:
    world = started(completionMode="Indexed", parallelism=2, completions=4)
    world.end(at(world, 1))
    world.look()
    assert {world.pods[n]["metadata"]["labels"][INDEX] for n in world.live()} == {"0", "2"}
    world.end(at(world, 0), code=1)
    world.after(11)
    world.look()
    assert {world.pods[n]["metadata"]["labels"][INDEX] for n in world.live()} == {"0", "2"}
    for index in (0, 2, 3):
        world.end(at(world, index))
        world.after(20)
        world.look()
    assert world.status["completedIndexes"] == "0-3"
    assert (world.status["succeeded"], world.status["failed"]) == (4, 1)
    assert "Complete" in world.conditions()


def test_a_work_queue_starts_no_more_pods_after_the_first_success() -> None:
    world = World(job("queue", parallelism=3))
    world.look()
    first, second, third = world.live()
    world.end(first)
    world.look()
    assert world.live() == [second, third]
    assert not world.conditions()
    world.end(second)
    world.end(third)
    world.look()
    assert "Complete" in world.conditions()
    assert world.status["succeeded"] == 3


def test_nothing_to_complete_is_complete() -> None:
    world = started(completions=0)
    assert "Complete" in world.conditions()
    assert not world.pods


def test_a_job_of_no_parallelism_waits() -> None:
    world = started(parallelism=0, completions=2)
    assert not world.pods
    assert not world.conditions()


def test_lower_parallelism_sends_those_home_who_have_the_least_to_lose() -> None:
    world = started(parallelism=3)
    older = world.live()[0]
    world.run(older)
    world.parent["spec"]["parallelism"] = 1
    world.look()
    assert world.live() == [older]
    world.leave()
    world.look()
    assert "failed" not in world.status


def test_a_failed_pod_is_replaced_after_a_pause_that_doubles() -> None:
    world = started()
    for pause in (10, 20, 40):
        world.end(world.live()[0], code=1)
        world.look()
        assert world.live() == []
        assert world.again_at == world.now + pause
        world.after(pause - 1)
        world.look()
        assert world.live() == []
        world.after(1)
        world.look()
        assert len(world.live()) == 1
    assert world.status["failed"] == 3


def test_a_success_ends_the_pauses() -> None:
    world = started(parallelism=1, completions=3)
    world.end(world.live()[0], code=1)
    world.look()
    world.after(10)
    world.look()
    world.after(1)
    world.end(world.live()[0])
    world.look()
    assert len(world.live()) == 1


def test_a_job_fails_once_its_backoff_limit_is_exceeded() -> None:
    world = started(parallelism=2, backoffLimit=0)
    world.run()
    world.end(world.live()[0], code=1)
    world.look()
    assert world.conditions() == {"FailureTarget": "BackoffLimitExceeded"}
    assert (world.live(), world.status["terminating"]) == ([], 1)
    world.leave()
    world.look()
    assert world.conditions()["Failed"] == "BackoffLimitExceeded"
    assert world.status["failed"] == 2
    assert "completionTime" not in world.status
    assert [(n.reason, n.type) for n in world.notes] == [("BackoffLimitExceeded", "Warning")]


def test_restarts_in_place_count_too() -> None:
    world = started(backoffLimit=2, template={"spec": {"restartPolicy": "OnFailure", "containers": [{"name": "main"}]}})
    (name,) = world.live()
    world.run()
    world.pods[name]["status"]["containerStatuses"] = [{"name": "main", "restartCount": 1}]
    world.look()
    assert not world.conditions()
    world.pods[name]["status"]["containerStatuses"] = [{"name": "main", "restartCount": 2}]
    world.look()
    assert world.conditions()["FailureTarget"] == "BackoffLimitExceeded"


def test_a_pod_deleted_by_another_client_counts_as_failed_and_is_replaced_at_once() -> None:
    world = started()
    (name,) = world.live()
    world.run()
    world.delete(name)
    world.look()
    assert len(world.live()) == 1
    assert (world.status["failed"], world.status["terminating"]) == (1, 1)


def test_with_the_replacement_policy_failed_the_old_pod_has_to_end_first() -> None:
    world = started(podReplacementPolicy="Failed")
    (name,) = world.live()
    world.run()
    world.delete(name)
    world.look()
    assert (world.live(), world.status.get("failed")) == ([], None)
    world.end(name, code=143)
    world.after(10)
    world.look()
    assert (len(world.live()), world.status["failed"]) == (1, 1)


@pytest.mark.parametrize("how", ["cut off", "never bound"])
def test_a_pod_that_can_no_longer_say_how_it_ended_is_not_waited_for(how: str) -> None:
    world = started(podReplacementPolicy="Failed")
    (name,) = world.live()
    if how == "never bound":
        del world.pods[name]["spec"]["nodeName"]
    world.delete(name, grace=0 if how == "cut off" else 30)
    world.look()
    assert (len(world.live()), world.status["failed"]) == (1, 1)


def test_a_suspended_job_lets_its_pods_go_and_comes_back() -> None:
    world = started(parallelism=2, backoffLimit=0)
    world.run()
    world.parent["spec"]["suspend"] = True
    world.after(60)
    world.look()
    assert (world.live(), world.conditions()) == ([], {"Suspended": "JobSuspended"})
    world.leave()
    world.look()
    assert world.pods == {}
    world.parent["spec"]["suspend"] = False
    world.after(60)
    world.look()
    assert len(world.live()) == 2
    assert world.status["startTime"] == moment(BEGIN + 120)
    assert world.conditions() == {}
    assert world.told() == ["Suspended", "Resumed"]
    assert "failed" not in world.status


def test_pods_that_still_leave_when_the_job_comes_back_cost_nothing() -> None:
    world = started(parallelism=2, backoffLimit=0)
    world.run()
    for suspended in (True, False):
        world.parent["spec"]["suspend"] = suspended
        world.look()
    assert (len(world.live()), world.status["terminating"]) == (2, 2)
    assert "failed" not in world.status


def test_peers_that_fall_while_the_job_stands_back_cost_nothing() -> None:
    world = started(parallelism=2, backoffLimit=0)
    world.run()
    first, second = world.live()
    world.parent["spec"]["suspend"] = True
    world.delete(first)
    world.end(second, code=1)
    world.look()
    world.leave()
    world.look()
    assert world.conditions() == {"Suspended": "JobSuspended"}
    assert "failed" not in world.status


def test_a_job_that_is_born_suspended_makes_no_pods() -> None:
    world = started(suspend=True)
    assert (world.pods, world.conditions()) == ({}, {"Suspended": "JobSuspended"})
    assert "startTime" not in world.status


def test_a_pod_taken_away_by_the_scheduler_spends_no_budget() -> None:
    world = started(parallelism=2, backoffLimit=0)
    world.run()
    (first, _) = world.live()
    world.pods[first]["status"]["conditions"] = failure_condition("DisruptionTarget", "PreemptionByScheduler")
    world.delete(first)
    world.look()
    assert len(world.live()) == 2
    assert "failed" not in world.status
    assert not world.conditions()


def test_an_eviction_by_another_component_counts() -> None:
    world = started(parallelism=2, backoffLimit=0)
    world.run()
    (first, _) = world.live()
    world.pods[first]["status"]["conditions"] = failure_condition("DisruptionTarget", "EvictionByEvictionAPI")
    world.delete(first)
    world.look()
    assert world.conditions() == {"FailureTarget": "BackoffLimitExceeded"}


def policy(*rules: Document) -> Document:
    return {"rules": list(rules)}


def test_a_policy_may_fail_the_job_by_exit_code() -> None:
    rule = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}
    world = started(parallelism=2, podFailurePolicy=policy(rule))
    name = world.live()[0]
    world.end(name, code=42)
    world.look()
    world.leave()
    world.look()
    assert world.conditions()["Failed"] == "PodFailurePolicy"
    (condition,) = (c for c in world.status["conditions"] if c["type"] == "Failed")
    why = f"Container main for pod default/{name} failed with exit code 42 matching FailJob rule at index 0"
    assert condition["message"] == why


def test_a_policy_may_ignore_disruptions_and_count_the_rest() -> None:
    ignore = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}
    count = {"action": "Count", "onExitCodes": {"operator": "NotIn", "values": [42], "containerName": "main"}}
    world = started(backoffLimit=1, podFailurePolicy=policy(ignore, count))
    world.end(world.live()[0], code=143, conditions=failure_condition("DisruptionTarget", "EvictionByEvictionAPI"))
    world.look()
    assert "failed" not in world.status
    world.end(world.live()[0], code=1)
    world.look()
    assert world.status["failed"] == 1
    assert not world.conditions()


def test_each_index_may_fail_on_its_own() -> None:
    world = indexed(2, backoffLimitPerIndex=1)
    for pause in (10, 20):
        world.end(at(world, 0), code=1)
        world.look()
        world.after(pause)
        world.look()
    assert world.status["failedIndexes"] == "0"
    assert [world.pods[n]["metadata"]["labels"][INDEX] for n in world.live()] == ["1"]
    assert not world.conditions()
    world.end(at(world, 1))
    world.look()
    assert world.conditions()["Failed"] == "FailedIndexes"
    assert (world.status["succeeded"], world.status["failed"]) == (1, 2)


def test_the_next_pod_of_an_index_is_told_how_often_it_failed() -> None:
    world = indexed(1, backoffLimitPerIndex=2)
    world.end(at(world, 0), code=1)
    world.look()
    assert world.again_at == world.now + 10
    world.after(10)
    world.look()
    count = "batch.kubernetes.io/job-index-failure-count"
    assert world.pods[at(world, 0)]["metadata"]["annotations"][count] == "1"
    world.end(at(world, 0), code=1)
    world.look()
    assert world.again_at == world.now + 20


def test_a_policy_may_fail_one_index() -> None:
    rule = {"action": "FailIndex", "onExitCodes": {"operator": "In", "values": [3]}}
    world = indexed(2, backoffLimitPerIndex=5, podFailurePolicy=policy(rule))
    world.end(at(world, 1), code=3)
    world.look()
    assert world.status["failedIndexes"] == "1"


def test_too_many_failed_indexes_fail_the_job() -> None:
    world = indexed(3, backoffLimitPerIndex=0, maxFailedIndexes=1)
    world.end(at(world, 0), code=1)
    world.look()
    assert not world.conditions()
    world.end(at(world, 1), code=1)
    world.look()
    assert world.conditions() == {"FailureTarget": "MaxFailedIndexesExceeded"}
    assert world.live() == []


@pytest.mark.parametrize(
    ("rule", "winners"),
    [
        ({"succeededIndexes": "0"}, [0]),
        ({"succeededCount": 2}, [1, 2]),
        ({"succeededIndexes": "0-2", "succeededCount": 1}, [2]),
    ],
    ids=["the leader", "any two", "one of three"],
)
def test_a_success_policy_may_end_the_job_early(rule: Document, winners: list[int]) -> None:
    world = indexed(4, successPolicy=policy(rule))
    world.run()
    for index in winners:
        assert not world.conditions()
        world.end(at(world, index))
        world.look()
    assert world.conditions() == {"SuccessCriteriaMet": "SuccessPolicy"}
    world.leave()
    world.look()
    assert world.conditions()["Complete"] == "SuccessPolicy"
    assert "failed" not in world.status


def test_a_job_past_its_deadline_fails() -> None:
    world = started(activeDeadlineSeconds=60)
    world.look()
    assert world.again_at == BEGIN + 60
    world.after(60)
    world.look()
    world.leave()
    world.look()
    assert world.conditions()["Failed"] == "DeadlineExceeded"


def test_a_finished_job_expires() -> None:
    world = started(ttlSecondsAfterFinished=100)
    world.end(world.live()[0])
    world.look()
    assert (world.expired, world.again_at) == (False, BEGIN + 100)
    world.after(100)
    world.look()
    assert world.expired


def test_a_job_managed_by_another_controller_is_left_alone() -> None:
    world = started(managedBy="example.com/queue")
    assert (world.pods, world.status) == ({}, {})


def test_a_job_that_is_being_deleted_lets_go_of_its_pods() -> None:
    world = started(parallelism=2)
    world.parent["metadata"]["deletionTimestamp"] = moment(BEGIN)
    for name in list(world.pods):
        world.delete(name)
    world.look()
    world.leave()
    assert world.pods == {}


def test_pods_without_their_job_lose_their_finalizers() -> None:
    world = started(parallelism=2)
    wanted = release_orphans(ObservedChildren.read({"pods": list(world.pods.values())}))
    assert sorted(patch.name for patch in wanted.patches) == sorted(world.pods)


def test_of_two_pods_of_one_index_the_further_one_stays() -> None:
    world = indexed(2)
    keeper = at(world, 0)
    world.run(keeper)
    double = {**world.pods[keeper], "metadata": {**world.pods[keeper]["metadata"], "name": "double", "uid": "double"}}
    world.pods["double"] = {**double, "status": {"phase": "Pending"}}
    world.look()
    assert "double" not in world.live()
    assert keeper in world.live()


def test_fewer_completions_drop_the_highest_indexes() -> None:
    world = indexed(4)
    world.parent["spec"] |= {"parallelism": 2, "completions": 2}
    world.look()
    assert {world.pods[n]["metadata"]["labels"][INDEX] for n in world.live()} == {"0", "1"}
