"""The loop as people meet it: pods get seats, reasons, events; bursts make one plan; nothing stops the others."""

from collections.abc import Callable, Sequence

import pytest

from tests.control.loop_harness import LoopHarness, run_scenario
from tests.objects.documents import Document, job, lease, metadata, node, owner, pod, pod_spec, priority_class
from understudy.control.loop import LoopSettings
from understudy.control.record.wait_reasons import EVENTS as EVENTS_OF_A_GANG
from understudy.control.view.forming_pause import LARGE
from understudy.kinds.annotations import PREFIX, format_time
from understudy.model.plans import Start
from understudy.objects.resources import EVENTS, JOBS, PODS
from understudy.ports import PodBinding, Refused, Unreachable


def gpu_node(name: str, gpus: int = 1) -> Document:
    return node(name, allocatable={"cpu": "8", "pods": "110", "nvidia.com/gpu": str(gpus)})


def gpu_pod(name: str, **spec: object) -> Document:
    return {**pod(name), "spec": {**pod_spec({"nvidia.com/gpu": "1"}), **spec}}


def test_a_pod_gets_a_seat_and_is_told_so() -> None:
    async def scenario(world: LoopHarness) -> None:
        world.cluster.put(node("a"))
        world.cluster.put(pod("x"))
        await world.settle()
        assert world.seats() == {"x": "a"}
        assert world.events("x") == [("Scheduled", "Successfully assigned default/x to a")]
        (event,) = world.cluster.all(EVENTS)
        assert event["involvedObject"]["uid"] == world.pod("x")["metadata"]["uid"]
        assert (event["type"], event["source"], event["count"]) == ("Normal", {"component": "understudy"}, 1)

    run_scenario(scenario)


def test_a_pod_without_room_says_why_and_gets_its_seat_when_there_is_one() -> None:
    async def scenario(world: LoopHarness) -> None:
        world.cluster.put(gpu_node("a", 0))
        world.cluster.put(gpu_pod("x"))
        await world.settle()
        condition = world.condition("x", "PodScheduled")
        assert (condition["status"], condition["reason"]) == ("False", "Unschedulable")
        assert "needs 1 pod with 1 nvidia.com/gpu" in condition["message"]
        assert world.events("x") == [("FailedScheduling", condition["message"])]
        world.cluster.put(gpu_node("b"))
        await world.settle()
        assert world.seats() == {"x": "b"}
        assert world.condition("x", "PodScheduled")["status"] == "True"

    run_scenario(scenario)


def test_a_gated_pod_says_so() -> None:
    async def scenario(world: LoopHarness) -> None:
        world.cluster.put(node("a"))
        world.cluster.put(pod("x", schedulingGates=[{"name": "example.com/quota"}]))
        await world.settle()
        assert world.condition("x", "PodScheduled")["reason"] == "SchedulingGated"

    run_scenario(scenario)


def test_a_job_without_pods_says_itself_why_it_waits() -> None:
    async def scenario(world: LoopHarness) -> None:
        world.hands.idle.add("Job/default/j")
        world.cluster.put(job("j", parallelism=2, completions=2))
        await world.settle()
        ((reason, message),) = world.events("j")
        assert reason == "Waiting"
        assert message.startswith("needs 2 pods with 1 cpu each; room for 0 of 2 pods")

    run_scenario(scenario)


def test_a_burst_of_pods_is_planned_once_and_bound_by_few_calls() -> None:
    async def scenario(world: LoopHarness) -> None:
        world.cluster.put(node("a", allocatable={"cpu": "500", "pods": "500"}))
        await world.settle()
        before = len(world.cycles)
        for number in range(100):
            world.cluster.put(pod(f"p{number}"))
        await world.clock.let_pass(0.01)
        assert len(world.seats()) == 100
        assert sum(write.startswith("bind") for write in world.cluster.writes) == 2
        assert sum(bool(cycle.done) for cycle in world.cycles[before:]) == 1

    run_scenario(scenario)


def test_a_gang_is_bound_by_one_call_once_all_of_its_pods_are_there() -> None:
    async def scenario(world: LoopHarness) -> None:
        world.cluster.put(node("a"))
        world.hands.idle.add("Job/default/j")
        made = world.cluster.put(job("j", parallelism=3, completions=3, completionMode="Indexed"))
        for index in range(3):
            await world.settle()
            assert world.seats() == {}
            labels = {"job-name": "j", "batch.kubernetes.io/job-completion-index": str(index)}
            owners = [{**owner("Job", "j")[0], "uid": made["metadata"]["uid"]}]
            world.cluster.put(pod(f"j-{index}-x", "", {"labels": labels, "ownerReferences": owners}))
        await world.settle()
        assert world.seats() == {"j-0-x": "a", "j-1-x": "a", "j-2-x": "a"}
        assert [w for w in world.cluster.writes if w.startswith("bind")] == ["bind j-0-x a, j-1-x a, j-2-x a"]
        notes = world.cluster.find(JOBS, "j")["metadata"]["annotations"]
        assert notes == {f"{PREFIX}last-seats": "j-0=a,j-1=a,j-2=a"}

    run_scenario(scenario)


def test_a_huge_gang_is_not_touched_before_it_is_seen_as_it_is() -> None:
    """While it waits, it is seen late. The room comes between the loss of a pod and its return."""

    async def scenario(world: LoopHarness) -> None:
        world.hands.idle.add("Job/default/j")
        made = world.cluster.put(job("j", parallelism=LARGE, completions=LARGE, completionMode="Indexed"))
        owners = [{**owner("Job", "j")[0], "uid": made["metadata"]["uid"]}]
        places = [{"job-name": "j", "batch.kubernetes.io/job-completion-index": str(n)} for n in range(LARGE)]
        members = [pod(f"j-{n}-x", "", {"labels": place, "ownerReferences": owners}) for n, place in enumerate(places)]
        for member in members[1:]:
            world.cluster.put(member)
        await world.settle()
        world.cluster.put(members[0])
        await world.clock.let_pass(0.01)
        world.cluster.take_away(members[0])
        world.cluster.put(node("a", allocatable={"cpu": "1000", "pods": "1000"}))
        await world.settle()
        assert world.seats() == {}
        planned = [c.snapshot.gangs[a.gang] for c in world.cycles for a in c.plan.actions if isinstance(a, Start)]
        assert {sum(member.exists for member in gang.members()) for gang in planned} == {LARGE - 1}
        world.cluster.put({**members[0], "metadata": {**members[0]["metadata"], "name": "j-0-y"}})
        await world.settle()
        assert len(world.seats()) == LARGE
        assert len([write for write in world.cluster.writes if write.startswith("bind")]) == 1

    run_scenario(scenario)


def test_of_a_huge_gang_that_waits_a_hundred_pods_get_an_event_and_all_get_the_condition() -> None:
    async def scenario(world: LoopHarness) -> None:
        world.hands.idle.add("Job/default/j")
        made = world.cluster.put(job("j", parallelism=EVENTS_OF_A_GANG + 20, completions=EVENTS_OF_A_GANG + 20))
        owners = [{**owner("Job", "j")[0], "uid": made["metadata"]["uid"]}]
        for index in range(EVENTS_OF_A_GANG + 20):
            world.cluster.put(pod(f"j-{index}", "", {"labels": {"job-name": "j"}, "ownerReferences": owners}))
        await world.settle()
        told = {event["involvedObject"]["name"] for event in world.cluster.all(EVENTS)}
        assert len(told) == EVENTS_OF_A_GANG
        reasons = [world.condition(f"j-{index}", "PodScheduled")["reason"] for index in range(EVENTS_OF_A_GANG + 20)]
        assert set(reasons) == {"Unschedulable"}

    run_scenario(scenario)


def test_seats_are_kept_for_pods_that_are_about_to_be_made_but_not_for_ever() -> None:
    async def scenario(world: LoopHarness) -> None:
        world.cluster.put(gpu_node("a", 2))
        world.hands.idle.add("Job/default/j")
        template = {"metadata": {}, "spec": pod_spec({"nvidia.com/gpu": "1"})}
        world.cluster.put(job("j", parallelism=2, completions=2, template=template))
        await world.settle()
        world.clock.jump(1.0)
        world.cluster.put({**gpu_pod("late"), "metadata": metadata("late", creationTimestamp="2026-01-01T00:00:02Z")})
        await world.settle()
        assert world.seats() == {}
        await world.clock.let_pass(LoopSettings().patience.make)
        await world.settle()
        assert world.seats() == {"late": "a"}
        words = "2 of its 2 pods have not been made by its controller; nothing is kept for it"
        assert ("Waiting", words) in world.events("j")
        world.hands.idle.clear()
        world.cluster.put(gpu_node("b", 2))
        await world.settle()
        assert len(world.seats()) == 3

    run_scenario(scenario)


def test_no_gang_is_preempted_for_pods_that_do_not_exist() -> None:
    async def scenario(world: LoopHarness) -> None:
        world.cluster.put(gpu_node("a"))
        world.cluster.put(priority_class("high", 1000))
        world.cluster.put(gpu_pod("low"))
        await world.settle()
        world.hands.idle.add("Job/default/j")
        template = {"metadata": {}, "spec": {**pod_spec({"nvidia.com/gpu": "1"}), "priorityClassName": "high"}}
        world.cluster.put(job("j", template=template))
        await world.settle()
        assert world.seats() == {"low": "a"}
        world.hands.idle.clear()
        await world.settle()
        assert list(world.seats()) == ["j-0-x1"]

    run_scenario(scenario)


def test_other_schedulers_pods_are_left_alone() -> None:
    async def scenario(world: LoopHarness) -> None:
        world.cluster.put(node("a"))
        world.cluster.put(pod("ours", schedulerName="understudy"))
        world.cluster.put(pod("theirs"))
        await world.settle()
        assert world.seats() == {"ours": "a"}
        assert world.condition("theirs", "PodScheduled") == {}

    run_scenario(scenario, LoopSettings(scheduler_name="understudy"))


def test_a_node_that_falls_silent_is_noticed_by_the_clock_alone() -> None:
    async def scenario(world: LoopHarness) -> None:
        for name in ("a", "b"):
            world.cluster.put(node(name, conditions=[{"type": "Ready", "status": "True"}]))
            world.cluster.put(lease(name, format_time(world.clock.now())))
        made = world.cluster.put(job("j", completionMode="Indexed", completions=1))
        await world.settle()
        assert made["metadata"]["uid"]
        assert list(world.seats().values()) == ["a"]
        for _ in range(4):
            await world.clock.let_pass(9.0)
            world.cluster.put(lease("b", format_time(world.clock.now())))
        await world.settle()
        assert list(world.seats().values()) == ["b"]

    run_scenario(scenario)


# What makes no sense does not stop the others


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        pytest.param(
            {**pod("bad"), "spec": pod_spec(priorityClassName="missing")},
            "there is no PriorityClass 'missing'",
            id="class",
        ),
        pytest.param(
            pod("bad", meta={"annotations": {f"{PREFIX}on-preemption": "never"}}),
            "is neither requeue nor fail",
            id="note",
        ),
        pytest.param({**pod("bad"), "spec": pod_spec({"cpu": "one"})}, "'one' is not a quantity", id="unreadable"),
    ],
)
def test_a_pod_that_makes_no_sense_is_told_so_once_and_set_aside(bad: Document, words: str) -> None:
    async def scenario(world: LoopHarness) -> None:
        world.cluster.put(node("a"))
        world.cluster.put(bad)
        world.cluster.put(pod("good"))
        await world.settle()
        assert world.seats() == {"good": "a"}
        told = [message for _, message in world.events("bad")]
        assert told
        assert all(words in message for message in told)
        world.cluster.put(pod("another"))
        await world.settle()
        assert [message for _, message in world.events("bad")] == told
        assert all(event["count"] == 1 for event in world.cluster.all(EVENTS))

    run_scenario(scenario)


def test_what_made_no_sense_is_looked_at_again_when_its_surroundings_change() -> None:
    async def scenario(world: LoopHarness) -> None:
        world.cluster.put(node("a"))
        world.cluster.put({**pod("x"), "spec": pod_spec({"cpu": "1"}, priorityClassName="later")})
        await world.settle()
        assert world.seats() == {}
        world.cluster.put(priority_class("later", 5))
        await world.settle()
        assert world.seats() == {"x": "a"}

    run_scenario(scenario)


def test_a_running_job_whose_annotations_are_spoilt_keeps_its_seats() -> None:
    async def scenario(world: LoopHarness) -> None:
        world.cluster.put(gpu_node("a"))
        template = {"metadata": {}, "spec": pod_spec({"nvidia.com/gpu": "1"})}
        made = world.cluster.put(job("j", template=template))
        await world.settle()
        world.hands.idle.add("Job/default/j")  # it could not make sense of this either
        made["metadata"]["annotations"] = {f"{PREFIX}min-members": "some"}
        world.cluster.change(made)
        world.cluster.put({**gpu_pod("x"), "metadata": metadata("x", creationTimestamp="2026-01-02T00:00:00Z")})
        await world.settle()
        assert list(world.seats()) == ["j-0-x1"]
        assert any(reason == "InvalidObject" for reason, _ in world.events("j"))

    run_scenario(scenario)


@pytest.mark.parametrize("spoil", [{"labels": {f"{PREFIX}spare": "yes"}}, {"annotations": {f"{PREFIX}failed-at": "x"}}])
def test_a_node_whose_labels_make_no_sense_is_not_lost(spoil: Document) -> None:
    async def scenario(world: LoopHarness) -> None:
        made = world.cluster.put(node("a"))
        world.cluster.put(job("j"))
        await world.settle()
        made["metadata"] |= spoil
        world.cluster.change(made)
        world.cluster.put(pod("x"))
        await world.settle()
        assert world.seats() == {"j-0-x1": "a"}
        assert [reason for reason, _ in world.events("a")] == ["InvalidObject"]

    run_scenario(scenario)


def test_a_node_that_cannot_be_read_gets_nothing_and_loses_nothing() -> None:
    async def scenario(world: LoopHarness) -> None:
        spoilt = {**node("a"), "spec": {"taints": [{"key": "k", "effect": "Sometimes"}]}}
        world.cluster.put(spoilt)
        world.cluster.put(node("b"))
        made = job("j", parallelism=1, completions=1)
        world.cluster.put(made)
        world.hands.idle.add("Job/default/j")
        owned = {"labels": {"job-name": "j"}, "ownerReferences": [{**owner("Job", "j")[0], "uid": "uid-3"}]}
        world.cluster.put(pod("j-x", "a", owned))
        world.cluster.put(pod("x"))
        await world.settle()
        assert world.seats() == {"j-x": "a", "x": "b"}
        assert [reason for reason, _ in world.events("a")] == ["InvalidObject"]
        world.cluster.take_away(spoilt)
        await world.settle()
        assert world.seats() == {"x": "b"}

    run_scenario(scenario)


def test_a_pod_that_can_no_longer_be_read_keeps_its_seat_until_it_is_gone() -> None:
    async def scenario(world: LoopHarness) -> None:
        world.cluster.put(gpu_node("a"))
        first = world.cluster.put(gpu_pod("first"))
        await world.settle()
        first["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "one"
        world.cluster.change(first)
        world.cluster.put(gpu_pod("second"))
        await world.clock.let_pass(5.0)
        assert "nodeName" not in world.pod("second")["spec"]
        assert "InvalidObject" in [reason for reason, _ in world.events("first")]
        world.cluster.take_away(first)
        await world.settle()
        assert world.seats() == {"second": "a"}

    run_scenario(scenario)


# Writes that fail


def failing(world: LoopHarness, error: Exception, what: str, times: int = 1) -> Callable[[], int]:
    """The next writes that begin like this fail; returns how many there were."""
    count = 0

    def before_write(write: str) -> None:
        nonlocal count
        if write.startswith(what):
            count += 1
            if count <= times:
                raise error

    world.cluster.before_write = before_write
    return lambda: count


def test_a_refused_write_is_tried_again_later_and_does_not_hold_up_the_others() -> None:
    async def scenario(world: LoopHarness) -> None:
        world.cluster.put(node("a"))
        tries = failing(world, Refused(422, "Invalid", "not like this"), "bind poor", times=5)
        world.cluster.put({**pod("poor"), "metadata": metadata("poor", namespace="sad")})
        world.cluster.put(pod("lucky"))
        await world.clock.let_pass(0.05)
        assert world.seats() == {"lucky": "a"}
        assert tries() == 1
        await world.clock.let_pass(0.5)
        assert tries() == 3
        await world.clock.let_pass(10.0)
        assert world.seats() == {"lucky": "a", "poor": "a"}
        [told] = [event for event in world.cluster.all(EVENTS) if event["reason"] == "WriteRefused"]
        assert (told["involvedObject"]["name"], told["type"], told["count"]) == ("poor", "Warning", 5)
        assert "not like this" in told["message"]

    run_scenario(scenario)


def test_one_stale_pod_in_a_burst_does_not_spoil_it_for_the_rest() -> None:
    async def scenario(world: LoopHarness) -> None:
        world.cluster.put(node("a"))
        await world.settle()

        def before_write(write: str) -> None:
            if "p1 a" in write:
                raise Refused(409, "Conflict", "p1 is not what it was")

        world.cluster.before_write = before_write
        for number in range(3):
            world.cluster.put(pod(f"p{number}"))
        await world.clock.let_pass(0.05)
        assert world.seats() == {"p0": "a", "p2": "a"}
        assert "WriteRefused" not in {event["reason"] for event in world.cluster.all(EVENTS)}

    run_scenario(scenario)


def test_who_was_seated_while_others_of_his_gang_were_refused_is_waited_for_and_the_rest_follow() -> None:
    async def scenario(world: LoopHarness) -> None:
        world.cluster.put(node("a"))
        await world.settle()
        first, bind = [True], world.cluster.bind

        async def half_way(namespace: str, bindings: Sequence[PodBinding]) -> None:
            if not first:
                return await bind(namespace, bindings)
            first.clear()
            await bind(namespace, bindings[:2])
            refusal = Refused(409, "Conflict", "not this one")
            refusal.done = frozenset(binding.uid for binding in bindings[:2])
            raise refusal

        world.cluster.bind = half_way  # type: ignore[method-assign]
        world.cluster.put(job("j", parallelism=4, completions=4, completionMode="Indexed"))
        await world.clock.let_pass(5.0)
        await world.settle()
        assert set(world.seats().values()) == {"a"}
        assert len(world.seats()) == 4
        binds = [write for write in world.cluster.writes if write.startswith("bind")]
        assert [write.count(" a") for write in binds] == [2, 2]
        assert sum(event["reason"] == "Scheduled" for event in world.cluster.all(EVENTS)) == 4

    run_scenario(scenario)


def test_a_cluster_that_does_not_answer_is_asked_again_ever_more_slowly() -> None:
    async def scenario(world: LoopHarness) -> None:
        world.cluster.put(node("a"))
        tries = failing(world, Unreachable("no answer"), "bind", times=8)
        world.cluster.put(pod("x"))
        await world.clock.let_pass(1.0)
        assert 2 <= tries() <= 5
        await world.clock.let_pass(30.0)
        await world.settle()
        assert world.seats() == {"x": "a"}

    run_scenario(scenario)


def test_nothing_is_done_twice_while_the_watch_is_behind() -> None:
    async def scenario(world: LoopHarness) -> None:
        world.cluster.put(node("a"))
        await world.settle()
        world.cluster.hold_back(PODS)
        world.cluster.put(pod("x"))
        world.cluster.let_through(PODS)
        await world.clock.let_pass(0.001)
        world.cluster.hold_back(PODS)
        await world.clock.let_pass(0.01)
        assert world.cluster.writes[-1].startswith(("bind", "create events"))
        world.cluster.put({**node("a"), "metadata": {"name": "a", "labels": {"new": "label"}}})
        await world.clock.let_pass(2.0)
        assert sum(write.startswith("bind") for write in world.cluster.writes) == 1
        world.cluster.let_through(PODS)
        await world.settle()
        assert sum(write.startswith("bind") for write in world.cluster.writes) == 1

    run_scenario(scenario)


def test_a_seat_is_not_given_twice_however_long_the_watch_stays_behind() -> None:
    async def scenario(world: LoopHarness) -> None:
        world.cluster.put(gpu_node("a"))
        world.cluster.put(job("j", parallelism=1, completions=1))
        world.cluster.put({**gpu_pod("x"), "metadata": metadata("x", ownerReferences=owner("Job", "j"))})
        await world.clock.let_pass(0.001)
        world.cluster.hold_back(PODS)
        await world.clock.let_pass(0.01)
        assert world.seats() == {"x": "a"}
        world.cluster.put(job("j", parallelism=1, completions=1, suspend=True))
        await world.clock.let_pass(600.0)
        assert [write for write in world.cluster.writes if write.startswith("bind")] == ["bind x a"]
        world.cluster.put(gpu_pod("y"))
        world.cluster.let_through(PODS)
        await world.settle()
        assert world.seats() == {"y": "a"}  # x has gone: its job is suspended

    run_scenario(scenario)


def test_a_seat_whose_answer_was_lost_is_not_given_twice() -> None:
    async def scenario(world: LoopHarness) -> None:
        world.cluster.put(gpu_node("a"))
        await world.settle()
        bind = world.cluster.bind

        async def bind_without_answer(namespace: str, bindings: Sequence[PodBinding]) -> None:
            world.cluster.hold_back(PODS)
            await bind(namespace, bindings)
            raise Unreachable("the answer was lost")

        world.cluster.bind = bind_without_answer  # type: ignore[method-assign]
        world.cluster.put(gpu_pod("x"))
        await world.clock.let_pass(0.02)
        assert world.seats() == {"x": "a"}
        world.cluster.bind = bind  # type: ignore[method-assign]
        world.cluster.put({**priority_class("urgent", 1000)})
        await world.clock.let_pass(60.0)
        assert [write for write in world.cluster.writes if write.startswith("bind")] == ["bind x a"]
        world.cluster.let_through(PODS)
        await world.settle()
        assert world.seats() == {"x": "a"}

    run_scenario(scenario)


def test_a_restart_repeats_no_reasons() -> None:
    async def scenario(world: LoopHarness) -> None:
        world.cluster.put(gpu_node("a", 0))
        world.cluster.put(gpu_pod("x"))
        await world.settle()
        told = list(world.cluster.writes)
        await world.restart()
        await world.settle()
        assert world.cluster.writes == told

    run_scenario(scenario)


def test_kinds_the_cluster_does_not_serve_are_found_when_it_does() -> None:
    async def scenario(world: LoopHarness) -> None:
        world.cluster.put(node("a"))
        await world.settle()
        world.cluster.absent.clear()
        spec = {"pytorchReplicaSpecs": {"Worker": {"replicas": 1, "template": {"spec": pod_spec({"cpu": "1"})}}}}
        world.cluster.put(
            {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "t"}, "spec": spec}
        )
        await world.clock.let_pass(16.0)
        await world.settle()
        assert world.seats() == {"t-worker-0": "a"}
        assert "PyTorchJob/default/t" in world.loop.view.snapshot(world.clock.now()).gangs

    async def without_operators(world: LoopHarness) -> None:
        world.cluster.absent.update({"pytorchjobs.kubeflow.org", "jobsets.jobset.x-k8s.io", "mpijobs.kubeflow.org"})
        await world.restart()
        await scenario(world)

    run_scenario(without_operators)


def test_a_kind_that_is_served_no_longer_takes_its_jobs_with_it() -> None:
    async def scenario(world: LoopHarness) -> None:
        spec = {"pytorchReplicaSpecs": {"Worker": {"replicas": 1, "template": {"spec": pod_spec({"cpu": "1"})}}}}
        world.hands.idle.add("PyTorchJob/default/t")
        world.cluster.put(
            {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "t"}, "spec": spec}
        )
        await world.settle()
        assert "PyTorchJob/default/t" in world.loop.view.snapshot(world.clock.now()).gangs
        world.cluster.break_off("pytorchjobs.kubeflow.org")
        await world.clock.let_pass(2.0)
        assert "PyTorchJob/default/t" not in world.loop.view.snapshot(world.clock.now()).gangs

    run_scenario(scenario)
