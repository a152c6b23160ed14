"""How seats are taken away: what the victim, its pods and its controller see, for every kind and every wish."""

from typing import Any

import pytest

from tests.control.loop_harness import LoopHarness, run_scenario
from tests.objects.documents import Document, job, node, owner, pod, pod_spec, priority_class
from tests.scenarios.test_random_walks import jobset, torch
from understudy.kinds.annotations import PREFIX
from understudy.kinds.training_operator.pytorchjob import PYTORCH_JOBS
from understudy.objects.resources import EVENTS, JOB_SETS, JOBS, MPI_JOBS_V1ALPHA1, NODES, PODS, TRAIN_JOBS, Resource

ON_PREEMPTION = f"{PREFIX}on-preemption"


def gpus(count: int) -> Document:
    return {"cpu": "64", "pods": "110", "nvidia.com/gpu": str(count)}


async def with_victim(world: LoopHarness, *documents: Document, gpu_count: int = 8) -> None:
    """One node, three classes, and victims that have all of it."""
    world.cluster.put(node("a", allocatable=gpus(gpu_count), conditions=[{"type": "Ready", "status": "True"}]))
    for name, value in (("low", 1), ("middle", 2), ("high", 3)):
        world.cluster.put(priority_class(name, value))
    for document in documents:
        world.cluster.put(document)
    await world.settle()
    world.clock.jump(600.0)


def gpu_job(name: str, priority: str, annotations: Document | None = None, **spec: Any) -> Document:
    template = {"metadata": {}, "spec": {**pod_spec({"nvidia.com/gpu": "8"}), "priorityClassName": priority}}
    return job(name, {"annotations": annotations or {}}, template=template, **spec)


def notes(world: LoopHarness, resource: Resource, name: str) -> Document:
    found = world.cluster.find(resource, name)["metadata"].get("annotations", {})
    return {key.removeprefix(PREFIX): value for key, value in found.items()}


def test_the_victims_pods_say_who_took_their_seat_as_the_seeds_show_it() -> None:
    async def scenario(world: LoopHarness) -> None:
        await with_victim(world, torch("medium", 1, "low"))
        world.hands.clinging.add("PyTorchJob/default/medium")
        world.cluster.put(torch("critical", 1, "high"))
        await world.settle()
        told = dict(world.events("medium-worker-0"))["Preempted"]
        uid = world.pod("critical-worker-0")["metadata"]["uid"]
        assert told == f"Preempted by default/critical-worker-0 on node a (pod uid {uid})"
        condition = world.condition("medium-worker-0", "DisruptionTarget")
        assert (condition["status"], condition["reason"]) == ("True", "PreemptionByScheduler")
        (event,) = [e for e in world.cluster.all(EVENTS) if (e["reason"], e["message"]) == ("Preempted", told)]
        assert event["type"] == "Normal"
        assert (
            "preempt PyTorchJob/default/medium (1 pod) for PyTorchJob/default/critical"
            in dict(world.events("medium"))["Preempted"]
        )

    run_scenario(scenario)


def test_a_preempted_job_is_paused_keeps_its_place_in_line_and_comes_back_to_its_seats() -> None:
    async def scenario(world: LoopHarness) -> None:
        await with_victim(world, torch("victim", 2, "low", gpus=4))
        created = world.cluster.find(PYTORCH_JOBS, "victim")["metadata"]["creationTimestamp"]
        world.cluster.put(torch("hero", 1, "high"))
        await world.settle()
        victim = world.cluster.find(PYTORCH_JOBS, "victim")
        assert victim["spec"]["runPolicy"] == {"suspend": True}
        written = notes(world, PYTORCH_JOBS, "victim")
        assert written["queued-at"] == created
        assert written["requeued-at"].startswith("2026-01-01T00:1")
        assert written["last-seats"] == "victim-worker-0=a,victim-worker-1=a"
        assert not any(write.startswith("delete pods victim") for write in world.cluster.writes)
        assert notes(world, PYTORCH_JOBS, "hero")["preempted-for"] == written["requeued-at"]

        world.cluster.take_away(world.cluster.find(PYTORCH_JOBS, "hero"))
        await world.settle()
        assert victim["spec"]["runPolicy"] == {"suspend": False}
        assert set(notes(world, PYTORCH_JOBS, "victim")) == {"queued-at", "last-seats"}
        assert world.seats() == {"victim-worker-0": "a", "victim-worker-1": "a"}
        assert [reason for reason, _ in world.events("victim")] == ["Preempted", "Waiting", "Resumed"]

    run_scenario(scenario)


def test_while_its_victim_leaves_the_preemptor_has_its_seat_held_where_kubectl_shows_it() -> None:
    async def scenario(world: LoopHarness) -> None:
        await with_victim(world, torch("victim", 1, "low"))
        world.hands.clinging.add("PyTorchJob/default/victim")
        world.cluster.put(torch("hero", 1, "high"))
        await world.settle()
        assert notes(world, PYTORCH_JOBS, "hero")["holds"] == "hero-worker-0=a"
        assert world.pod("hero-worker-0")["status"]["nominatedNodeName"] == "a"
        world.hands.clinging.clear()
        await world.settle()
        assert world.seats() == {"hero-worker-0": "a"}
        assert "holds" not in notes(world, PYTORCH_JOBS, "hero")
        assert "nominatedNodeName" not in world.pod("hero-worker-0")["status"]

    run_scenario(scenario)


def test_a_lone_pods_hold_is_its_nomination() -> None:
    async def scenario(world: LoopHarness) -> None:
        await with_victim(world, torch("victim", 1, "low"))
        world.hands.clinging.add("PyTorchJob/default/victim")
        hero = {**pod("hero"), "spec": {**pod_spec({"nvidia.com/gpu": "8"}), "priorityClassName": "high"}}
        world.cluster.put(hero)
        await world.settle()
        assert world.pod("hero")["status"]["nominatedNodeName"] == "a"
        assert set(notes(world, PODS, "hero")) == {"preempted-for"}
        world.hands.clinging.clear()
        await world.settle()
        assert world.seats() == {"hero": "a"}

    run_scenario(scenario)


def test_unneeded_holds_are_given_up_with_their_nominations() -> None:
    async def scenario(world: LoopHarness) -> None:
        await with_victim(world, torch("victim", 1, "low"))
        world.hands.clinging.add("PyTorchJob/default/victim")
        world.cluster.put(torch("hero", 1, "middle"))
        await world.settle()
        world.cluster.put(torch("boss", 1, "high"))
        await world.settle()
        assert notes(world, PYTORCH_JOBS, "boss")["holds"] == "boss-worker-0=a"
        assert "holds" not in notes(world, PYTORCH_JOBS, "hero")
        assert "nominatedNodeName" not in world.pod("hero-worker-0")["status"]

    run_scenario(scenario)


def test_a_job_that_asked_to_fail_fails_with_the_reason_and_makes_no_more_pods() -> None:
    async def scenario(world: LoopHarness) -> None:
        await with_victim(world, gpu_job("victim", "low", {ON_PREEMPTION: "fail"}))
        world.cluster.put(torch("hero", 1, "high"))
        await world.settle()
        conditions = world.cluster.find(JOBS, "victim")["status"]["conditions"]
        assert [(c["type"], c["reason"]) for c in conditions] == [
            ("FailureTarget", "Preempted"),
            ("Failed", "Preempted"),
        ]
        assert "for PyTorchJob/default/hero" in conditions[0]["message"]
        assert world.seats() == {"hero-worker-0": "a"}
        world.cluster.take_away(world.cluster.find(PYTORCH_JOBS, "hero"))
        await world.settle()
        assert world.seats() == {}

    run_scenario(scenario)


def test_a_jobset_and_a_training_job_that_asked_to_fail_keep_the_conditions_they_have() -> None:
    async def scenario(world: LoopHarness) -> None:
        await with_victim(world, jobset("slices", 1, "low", on_preemption="fail"), gpu_count=16)
        victim = world.cluster.find(JOB_SETS, "slices")
        victim["status"] = {"conditions": [{"type": "StartupPolicyCompleted", "status": "True", "extra": "kept"}]}
        world.cluster.change(victim)
        world.cluster.put(torch("hero", 1, "high"))
        await world.settle()
        first, failed = victim["status"]["conditions"]
        assert first == {"type": "StartupPolicyCompleted", "status": "True", "extra": "kept"}
        assert (failed["type"], failed["status"], failed["reason"]) == ("Failed", "True", "Preempted")
        assert world.seats() == {"hero-worker-0": "a"}

    run_scenario(scenario)


def test_the_first_mpijob_has_no_switch_and_no_conditions() -> None:
    def mpi(name: str, priority: str, **annotations: str) -> Document:
        template = {"spec": {**pod_spec({"nvidia.com/gpu": "8"}), "priorityClassName": priority}}
        meta = {"name": name, "annotations": {f"{PREFIX}{k.replace('_', '-')}": v for k, v in annotations.items()}}
        spec = {"replicas": 1, "template": template}
        return {"apiVersion": "kubeflow.org/v1alpha1", "kind": "MPIJob", "metadata": meta, "spec": spec}

    async def scenario(world: LoopHarness) -> None:
        await with_victim(world, mpi("brief", "low", on_preemption="fail"))
        assert sorted(world.seats()) == ["brief-launcher", "brief-worker-0"]
        world.cluster.put(mpi("patient", "middle"))
        await world.settle()
        assert world.cluster.find(MPI_JOBS_V1ALPHA1, "brief")["status"] == {"launcherStatus": "Failed"}
        ended = "brief-launcher"  # it ended by itself when it noticed that its workers were gone
        assert world.cluster.find(PODS, ended)["status"]["phase"] == "Failed"
        assert sorted(world.seats()) == [ended, "patient-launcher", "patient-worker-0"]
        world.cluster.put(torch("hero", 1, "high"))
        await world.settle()
        assert world.seats() == {ended: "a", "hero-worker-0": "a"}
        assert set(notes(world, MPI_JOBS_V1ALPHA1, "patient")) == {"queued-at", "last-seats", "preempted-for"}
        assert "nodeName" not in world.pod("patient-worker-0")["spec"]

    run_scenario(scenario)


def test_a_trainjob_fails_through_its_jobset() -> None:
    runtime = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "ClusterTrainingRuntime",
        "metadata": {"name": "torch"},
        "spec": {"template": jobset("none", 1, "low")},
    }
    train = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "train", "annotations": {ON_PREEMPTION: "fail"}},
        "spec": {"runtimeRef": {"name": "torch"}},
    }

    async def scenario(world: LoopHarness) -> None:
        made = jobset("train", 1, "low")
        made["metadata"]["ownerReferences"] = owner("TrainJob", "train")
        world.hands.idle.add("JobSet/default/train")
        labels = {
            "jobset.sigs.k8s.io/jobset-name": "train",
            "jobset.sigs.k8s.io/replicatedjob-name": "job",
            "jobset.sigs.k8s.io/job-index": "0",
        }
        pods = [
            pod(
                f"train-job-0-{index}-x",
                "a",
                {"labels": {**labels, "batch.kubernetes.io/job-completion-index": str(index)}},
                **{**pod_spec({"nvidia.com/gpu": "8"}), "priorityClassName": "low"},
            )
            for index in range(2)
        ]
        await with_victim(world, runtime, train, made, *pods, gpu_count=16)
        world.cluster.put(torch("hero", 1, "high"))
        await world.settle()
        (failed,) = world.cluster.find(JOB_SETS, "train")["status"]["conditions"]
        assert (failed["type"], failed["reason"]) == ("Failed", "Preempted")
        assert "status" not in world.cluster.find(TRAIN_JOBS, "train")

    run_scenario(scenario)


def test_of_an_elastic_gang_only_the_surplus_is_deleted() -> None:
    async def scenario(world: LoopHarness) -> None:
        await with_victim(world, torch("wide", 2, "low", gpus=4, min_members="1"))
        assert len(world.seats()) == 2
        world.cluster.put(torch("hero", 1, "high", gpus=4))
        await world.settle()
        assert world.seats() == {"wide-worker-0": "a", "hero-worker-0": "a"}
        assert "runPolicy" not in world.cluster.find(PYTORCH_JOBS, "wide")["spec"]
        assert [w for w in world.cluster.writes if w.startswith("delete")] == ["delete pods wide-worker-1"]

    run_scenario(scenario)


def test_a_bare_pod_is_gone_as_in_kubernetes() -> None:
    async def scenario(world: LoopHarness) -> None:
        bare = {**pod("bare"), "spec": {**pod_spec({"nvidia.com/gpu": "8"}), "priorityClassName": "low"}}
        await with_victim(world, bare)
        world.cluster.put(torch("hero", 1, "high"))
        await world.settle()
        assert [p["metadata"]["name"] for p in world.cluster.all(PODS)] == ["hero-worker-0"]

    run_scenario(scenario)


# Nodes that are lost


def lose(world: LoopHarness, name: str) -> None:
    document = world.cluster.find(NODES, name)
    document["status"]["conditions"] = [{"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}]
    world.cluster.change(document)


def test_a_pod_on_a_lost_node_is_deleted_at_once_and_its_successor_takes_the_spare() -> None:
    async def scenario(world: LoopHarness) -> None:
        await with_victim(world, torch("hero", 1, "high"))
        world.cluster.put(
            node(
                "spare",
                {"labels": {f"{PREFIX}spare": "true"}},
                allocatable=gpus(8),
                conditions=[{"type": "Ready", "status": "True"}],
            )
        )
        first = world.pod("hero-worker-0")["metadata"]["uid"]
        lose(world, "a")
        await world.settle()
        assert world.seats() == {"hero-worker-0": "spare"}
        assert world.pod("hero-worker-0")["metadata"]["uid"] != first
        assert "delete pods hero-worker-0 at once" in world.cluster.writes
        (message,) = [message for reason, message in world.events("hero") if reason == "HotSwapped"]
        assert "hero-worker-0 a -> spare (spare); a lost" in message
        assert "holds" not in notes(world, PYTORCH_JOBS, "hero")

    run_scenario(scenario)


def test_a_gang_that_cannot_be_repaired_is_paused_and_its_lost_pods_are_not_waited_for() -> None:
    async def scenario(world: LoopHarness) -> None:
        await with_victim(world, torch("hero", 1, "high"))
        lose(world, "a")
        await world.settle()
        assert world.cluster.find(PYTORCH_JOBS, "hero")["spec"]["runPolicy"] == {"suspend": True}
        assert world.cluster.all(PODS) == []
        assert [reason for reason, _ in world.events("hero")][:2] == ["NodeLost", "Requeued"]

    run_scenario(scenario)


def test_pods_that_were_leaving_when_their_node_was_lost_are_let_go() -> None:
    async def scenario(world: LoopHarness) -> None:
        await with_victim(world, torch("victim", 1, "low"))
        world.hands.clinging.add("PyTorchJob/default/victim")
        world.cluster.put(torch("hero", 1, "high"))
        await world.settle()
        assert "deletionTimestamp" in world.pod("victim-worker-0")["metadata"]
        lose(world, "a")
        await world.settle()
        assert [p["metadata"]["name"] for p in world.cluster.all(PODS)] == ["hero-worker-0"]

    run_scenario(scenario)


@pytest.mark.parametrize(("annotations", "seat"), [({}, "a"), ({ON_PREEMPTION: "requeue"}, "b")])
def test_a_bare_pod_is_moved_off_a_node_that_still_works_only_if_it_comes_back(
    annotations: Document, seat: str
) -> None:
    async def scenario(world: LoopHarness) -> None:
        spec = {**pod_spec({"nvidia.com/gpu": "8"}), "priorityClassName": "low"}
        await with_victim(world, {**pod("bare", "", {"annotations": annotations}), "spec": spec})
        world.cluster.put(node("b", allocatable=gpus(8), conditions=[{"type": "Ready", "status": "True"}]))
        leaving = world.cluster.find(NODES, "a")
        leaving["metadata"]["annotations"] = {f"{PREFIX}drain-deadline": "2026-01-01T01:00:00Z"}
        world.cluster.change(leaving)
        await world.settle()
        assert world.seats() == {"bare": seat}

    run_scenario(scenario)


# Exclusive domains


def test_no_pod_enters_an_exclusive_domain_while_its_owner_is_leaving_it() -> None:
    async def scenario(world: LoopHarness) -> None:
        for name in ("a", "b"):
            labels = {"labels": {"rack": "r"}}
            world.cluster.put(node(name, labels, allocatable=gpus(8), conditions=[{"type": "Ready", "status": "True"}]))
        for name, value in (("low", 1), ("middle", 2), ("high", 3)):
            world.cluster.put(priority_class(name, value))
        world.cluster.put(jobset("alone", 1, "low", exclusive_topology="rack"))
        await world.settle()
        world.clock.jump(600.0)
        world.hands.clinging.add("JobSet/default/alone")
        world.cluster.put(torch("hero", 1, "high"))
        await world.settle()
        small = {**pod("small"), "spec": {**pod_spec({"cpu": "1"}), "priorityClassName": "low"}}
        world.cluster.put(small)
        await world.settle()
        assert world.seats() == {}
        world.hands.clinging.clear()
        await world.settle()
        assert sorted(world.seats()) == ["hero-worker-0", "small"]

    run_scenario(scenario)


def test_a_job_does_not_pay_for_a_pod_that_others_told_to_leave_a_lost_node() -> None:
    """A taint that says so drives pods out by itself, and may have been quicker than we are."""

    async def scenario(world: LoopHarness) -> None:
        await with_victim(world, gpu_job("train", "low"))
        world.hands.clinging.add("Job/default/train")  # its kubelet does not answer
        [leaving] = world.cluster.all(PODS)
        name = leaving["metadata"]["name"]
        leaving["metadata"] |= {"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 30}
        world.cluster.change(leaving)
        lost = world.cluster.find(NODES, "a")
        lost["spec"]["taints"] = [{"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}]
        before = len(world.cluster.writes)
        world.cluster.change(lost)
        await world.settle()
        about = [write for write in world.cluster.writes[before:] if name in write]
        assert about == [f"patch pods {name}", f"delete pods {name} at once"]

    run_scenario(scenario)
