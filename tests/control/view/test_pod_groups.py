"""Groups of pods that others define: when the group is the gang, when its job stays it, and what the group adds."""

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.control.view.test_cluster_view import NOW, facts, gangs, viewed
from tests.examples import examples
from tests.kinds.gangs import CLASSES
from tests.kinds.pod_groups.documents import (
    BY_ANNOTATION,
    BY_FIELD,
    BY_LABEL,
    coscheduling_group,
    grouped,
    job_pod,
    pod_group,
    volcano_group,
)
from tests.objects.documents import MADE_AT, Document, job, jobset, jobset_pod, owner, pod, replicated_job, training_job
from understudy.control.view.cluster_view import ClusterView
from understudy.control.view.invalid_objects import InvalidObjects
from understudy.kinds.decoding import decode
from understudy.model.gangs import Gang, OnPreemption, Topology, TopologyMode
from understudy.objects.meta import KubeObject

GROUP = "PodGroup/default/g"


def names(gang: Gang) -> list[str]:
    return [member.name for member in gang.members()]


def one(*documents: Document, **options: Any) -> Gang:
    (found,) = gangs(*documents, *CLASSES, **options).values()
    return found


@pytest.mark.parametrize(
    ("group", "meta", "spec"),
    [
        (pod_group("g", 2), {}, BY_FIELD),
        ({**pod_group("g", 2), "apiVersion": "scheduling.k8s.io/v1alpha2"}, {}, BY_FIELD),
        (coscheduling_group("g", 2), BY_LABEL, {}),
        (volcano_group("g", 2), BY_ANNOTATION, {}),
        (volcano_group("g", 2), {"annotations": {"scheduling.volcano.sh/group-name": "g"}}, {}),
    ],
)
def test_pods_without_a_job_are_the_gang_of_their_group(group: Document, meta: Document, spec: Document) -> None:
    pods = [pod(f"p-{i}", meta=meta, **spec) for i in range(3)]
    found = one(group, *pods)
    assert (found.key, found.size, found.minimum) == (GROUP, 3, 2)
    assert found.queued_at == MADE_AT
    assert not found.awaits


@pytest.mark.parametrize(
    ("meta", "minimum"),
    [
        (
            {
                "labels": {"kueue.x-k8s.io/pod-group-name": "g"},
                "annotations": {"kueue.x-k8s.io/pod-group-total-count": "2"},
            },
            2,
        ),
        (
            {
                "labels": {"kueue.x-k8s.io/pod-group-name": "g"},
                "annotations": {
                    "kueue.x-k8s.io/pod-group-total-count": "2",
                    "kueue.x-k8s.io/pod-group-fast-admission": "true",
                },
            },
            1,
        ),
        (
            {
                "labels": {
                    "pod-group.scheduling.sigs.k8s.io/name": "g",
                    "pod-group.scheduling.sigs.k8s.io/min-available": "2",
                }
            },
            2,
        ),
    ],
)
def test_groups_of_which_pods_say_all_there_is_to_say(meta: Document, minimum: int) -> None:
    found = one(*(pod(f"p-{i}", meta=meta) for i in range(2)))
    assert (found.key, found.minimum, found.awaits) == (GROUP, minimum, ())
    alone = one(pod("p-0", meta=meta))
    assert bool(alone.awaits) == (minimum == 2)


def test_a_group_that_does_not_exist_yet_is_waited_for() -> None:
    view = viewed(grouped("a"), grouped("b"))
    assert view.snapshot(NOW).gangs[GROUP].awaits == ("PodGroup default/g (scheduling.k8s.io) does not exist yet",)
    view.put(decode(pod_group("g", 2)))
    assert view.snapshot(NOW).gangs[GROUP].awaits == ()
    view.remove(decode(pod_group("g", 2)))
    assert view.snapshot(NOW).gangs[GROUP].awaits


def test_a_group_waits_for_as_many_pods_as_it_wants() -> None:
    view = viewed(pod_group("g", 3), grouped("a"), grouped("b"))
    assert view.snapshot(NOW).gangs[GROUP].awaits == ("PodGroup default/g wants 3 pods, and there are 2",)
    view.put(decode(grouped("c")))
    assert view.snapshot(NOW).gangs[GROUP].awaits == ()


def test_a_group_that_runs_waits_for_nothing() -> None:
    assert one(pod_group("g", 3), grouped("a", "n"), grouped("b")).awaits == ()
    assert one(grouped("a", "n"), grouped("b")).awaits == ()


def test_pods_that_have_finished_were_there() -> None:
    done = pod("c", status={"phase": "Succeeded"}, **BY_FIELD)
    assert one(pod_group("g", 3), grouped("a"), grouped("b"), done).awaits == ()


def test_a_basic_group_may_run_in_part_and_belongs_in_one_domain_all_the_same() -> None:
    constraints = {"topology": [{"key": "rack"}]}
    found = one(pod_group("g", schedulingConstraints=constraints), grouped("a"), grouped("b"))
    assert (found.minimum, found.elastic) == (1, True)
    assert [island.topology for island in found.islands] == [Topology("rack", TopologyMode.REQUIRED)]


@pytest.mark.parametrize(
    ("group", "priority", "preempts"),
    [
        (pod_group("g", 1, priorityClassName="high"), 1000, True),
        (pod_group("g", 1, priorityClassName="high", priority=70), 70, True),
        (pod_group("g", 1, priorityClassName="meek"), 50, False),
        (pod_group("g", 1, preemptionPolicy="Never"), 7, False),
        (pod_group("g", 1), 7, True),
    ],
)
def test_what_a_group_says_of_its_importance_goes_before_what_its_pods_say(
    group: Document, priority: int, preempts: bool
) -> None:
    found = one(group, grouped("a", priority=7))
    assert (found.priority, found.preempts) == (priority, preempts)


@pytest.mark.parametrize(
    ("mode", "whole"), [({"all": {}}, True), ({"single": {}}, False), ("PodGroup", True), ("Pod", False), (None, False)]
)
def test_a_group_that_is_disturbed_as_a_whole(mode: Document | str | None, whole: bool) -> None:
    assert one(pod_group("g", 1, disruptionMode=mode), grouped("a")).whole is whole


@pytest.mark.parametrize(
    ("group", "words"),
    [
        (pod_group("g", 1, parentCompositePodGroupName="tree"), "CompositePodGroup"),
        (pod_group("g", 1, resourceClaims=[{"name": "nvlink"}]), "resource claims"),
    ],
)
def test_what_is_not_supported_is_said_and_not_ignored(group: Document, words: str) -> None:
    (said,) = one(group, grouped("a")).awaits
    assert said.startswith("PodGroup default/g: ")
    assert words in said


def test_tiers_of_volcano_are_refused_unless_the_domain_is_named() -> None:
    hard = {"networkTopology": {"mode": "hard", "highestTierAllowed": 1}}
    member = pod("a", meta=BY_ANNOTATION)
    assert "HyperNodes" in one(volcano_group("g", 1, **hard), member).awaits[0]
    assert not one(volcano_group("g", 1, networkTopology={"mode": "soft"}), member).awaits
    named = {"annotations": {"understudy.dev/required-topology": "rack"}}
    found = one(volcano_group("g", 1, named, **hard), member)
    assert (found.awaits, found.islands[0].topology) == ((), Topology("rack", TopologyMode.REQUIRED))


def test_minimums_of_single_tasks_are_kept_by_starting_whole() -> None:
    pods = [pod(f"p-{i}", meta=BY_ANNOTATION) for i in range(3)]
    assert one(volcano_group("g", 2, minTaskMember={"ps": 1, "worker": 1}), *pods).minimum == 3


def test_annotations_may_stand_on_the_group() -> None:
    notes = {"understudy.dev/exclusive-topology": "rack", "understudy.dev/on-preemption": "fail"}
    found = one(pod_group("g", 1, {"annotations": notes}), grouped("a"))
    assert found.islands[0].topology == Topology("rack", TopologyMode.EXCLUSIVE)
    assert found.on_preemption is OnPreemption.FAIL


def test_a_group_that_makes_no_sense_is_a_trouble_of_its_pods_alone() -> None:
    invalid_objects = InvalidObjects()
    bad = pod_group("g", 1, {"annotations": {"understudy.dev/min-members": "many"}})
    found = gangs(bad, grouped("a"), grouped("b", "n"), pod("other"), invalid_objects=invalid_objects)
    assert {key: gang.managed for key, gang in found.items()} == {GROUP: False, "Pod/default/other": True}


# A job and a group


def test_a_job_that_has_all_pods_of_a_group_stays_the_gang_and_the_group_adds_its_minimum() -> None:
    pods = [job_pod("train", f"train-{i}", **BY_FIELD) for i in range(3)]
    found = one(pod_group("g", 2), job("train", parallelism=3, completions=3), *pods)
    assert (found.key, found.size, found.minimum, found.awaits) == ("Job/default/train", 3, 2, ())


def test_what_the_job_says_itself_goes_before_its_group() -> None:
    policy = {"runPolicy": {"schedulingPolicy": {"minAvailable": 3}}}
    torch = training_job("PyTorchJob", "pytorchReplicaSpecs", {"Worker": 4}, **policy)
    labels = {"training.kubeflow.org/job-name": "train", "training.kubeflow.org/operator-name": "pytorchjob-controller"}
    meta = {"labels": {**labels, "scheduling.x-k8s.io/pod-group": "train"}}
    member = pod("train-worker-0", meta=meta)
    group = coscheduling_group("train", 2, {"ownerReferences": owner("PyTorchJob", "train")})
    assert one(group, torch, member).minimum == 3
    assert one(group, training_job("PyTorchJob", "pytorchReplicaSpecs", {"Worker": 4}), member).minimum == 2


def test_a_group_that_wants_more_than_its_job_can_give_says_so() -> None:
    found = one(pod_group("g", 5), job("train"), job_pod("train", "train-x", **BY_FIELD))
    assert found.awaits == ("PodGroup default/g wants 5 pods, and Job default/train has 1",)


def test_only_a_group_that_is_named_in_the_spec_is_waited_for_by_a_job() -> None:
    by_field = one(job("train"), job_pod("train", "train-x", **BY_FIELD))
    assert by_field.awaits == ("PodGroup default/g (scheduling.k8s.io) does not exist yet",)
    assert one(job("train"), job_pod("train", "train-x", meta=BY_LABEL)).awaits == ()


def test_the_domain_of_a_group_is_one_for_all_islands_of_its_job() -> None:
    group = pod_group("g", 4, schedulingConstraints={"topology": [{"key": "rack"}]})
    made = [jobset_pod("js", "w", replica, 0, **BY_FIELD) for replica in range(2)]
    found = one(group, jobset("js", replicated_job("w", 2, 2)), *made)
    (island,) = found.islands
    assert (island.topology, len(island.members)) == (Topology("rack", TopologyMode.REQUIRED), 4)
    assert sum(member.exists for member in island.members) == 2


def test_each_of_several_groups_of_a_job_says_where_its_own_islands_belong() -> None:
    a = pod_group("a", 1, schedulingConstraints={"topology": [{"key": "rack"}]})
    pods = [jobset_pod("js", role, 0, 0, schedulingGroup={"podGroupName": role}) for role in ("a", "b")]
    found = one(a, pod_group("b", 1), jobset("js", replicated_job("a", 1, 1), replicated_job("b", 1, 1)), *pods)
    assert {i.name: i.topology for i in found.islands} == {
        "js-a-0": Topology("rack", TopologyMode.REQUIRED),
        "js-b-0": None,
    }
    assert (found.minimum, found.awaits) == (2, ())


def test_a_group_of_several_jobs_is_the_gang_and_their_own_again_when_one_is_left() -> None:
    leader, worker = job_pod("leader", "leader-x", **BY_FIELD), job_pod("worker", "worker-x", **BY_FIELD)
    view = viewed(pod_group("g", 1), job("leader"), job("worker"), leader)
    assert set(view.snapshot(NOW).gangs) == {"Job/default/leader", "Job/default/worker"}
    view.put(decode(worker))
    found = view.snapshot(NOW).gangs
    assert set(found) == {GROUP}
    assert names(found[GROUP]) == ["leader-x", "worker-x"]
    assert [p.metadata.name for p in view.pods_of(GROUP)] == ["leader-x", "worker-x"]
    view.remove(decode(leader))
    assert set(view.snapshot(NOW).gangs) == {"Job/default/leader", "Job/default/worker"}


def test_daemons_and_the_like_are_in_no_group() -> None:
    daemon = pod("d", meta={"ownerReferences": owner("DaemonSet", "d")}, **BY_FIELD)
    assert set(gangs(daemon)) == {"Pod/default/d"}


OBJECTS = [
    pod_group("g", 2),
    pod_group("h", 1),
    job("a", parallelism=2),
    job("b"),
    *(job_pod("a", f"a-{i}", **BY_FIELD) for i in range(2)),
    job_pod("b", "b-0", **BY_FIELD),
    job_pod("b", "b-1", schedulingGroup={"podGroupName": "h"}),
    grouped("bare"),
    pod("bare"),
    job_pod("a", "b-0", "n"),
]
EVENTS = st.lists(st.tuples(st.booleans(), st.sampled_from(OBJECTS)), max_size=24)


@settings(max_examples=examples(200), deadline=None)
@given(EVENTS, st.sets(st.integers(0, 23)))
def test_however_pods_and_groups_come_and_go_the_gangs_are_those_of_what_is_there(
    events: list[tuple[bool, Document]], looks: set[int]
) -> None:
    view, there = ClusterView(), dict[tuple[str, str], KubeObject]()
    for count, (comes, document) in enumerate(events):
        obj = decode(document)
        name = (obj.kind, obj.metadata.name)
        if comes:
            view.put(obj)
            there[name] = obj
        elif there.pop(name, None) is not None:
            view.remove(obj)
        if count in looks:
            view.snapshot(NOW)
    afresh = ClusterView()
    for obj in there.values():
        afresh.put(obj)
    assert facts(view.snapshot(NOW)) == facts(afresh.snapshot(NOW))
    members = itertools.chain.from_iterable(gang.members() for gang in view.snapshot(NOW).gangs.values())
    pods = sorted(name for kind, name in there if kind == "Pod")
    assert sorted(member.name for member in members if member.exists) == pods, "every pod counts for one gang"
