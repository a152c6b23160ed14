"""The view: any order of events gives the snapshot one would build from scratch, and no event gives no new snapshot."""

from collections.abc import Iterable
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.objects.documents import (
    MADE_AT,
    Document,
    job,
    jobset,
    jobset_pod,
    lease,
    metadata,
    node,
    owner,
    pod,
    priority_class,
    replicated_job,
    template,
    training_job,
)
from understudy.control.view.cluster_view import ClusterView
from understudy.control.view.gang_parts import PassedOver
from understudy.control.view.invalid_objects import InvalidObjects
from understudy.decide.policy import Policy
from understudy.kinds.annotations import CHECKPOINT_BY, PREFIX, format_time
from understudy.kinds.decoding import decode
from understudy.kinds.pod_labels import EXCLUSIVE
from understudy.model.gangs import Gang, Suspension, Topology, TopologyMode
from understudy.model.snapshot import Snapshot
from understudy.objects.errors import BadObject
from understudy.objects.meta import KubeObject

NOW = MADE_AT + 3600


def viewed(*documents: Document, **options: Any) -> ClusterView:
    view = ClusterView(**options)
    for document in documents:
        view.put(decode(document))
    return view


def gangs(*documents: Document, **options: Any) -> dict[str, Gang]:
    return dict(viewed(*documents, **options).snapshot(NOW).gangs.items())


def facts(snapshot: Snapshot) -> dict[str, Any]:
    """All of a snapshot, in a form that can be compared."""
    return {
        "nodes": dict(snapshot.nodes.items()),
        "gangs": dict(snapshot.gangs.items()),
        "budgets": snapshot.budgets,
        "open": set(snapshot.open),
        "holding": set(snapshot.holding),
        "asked": set(snapshot.asked),
        "with_anti_affinity": set(snapshot.with_anti_affinity),
        "unhealthy": set(snapshot.unhealthy),
        "running": {key: set(names) for key, names in snapshot.running.items()},
        "buckets": {key: set(names) for key, names in snapshot.buckets.items()},
    }


# Lone pods


def test_a_lone_pod_is_a_gang_of_one() -> None:
    found = gangs(pod("x", "n", status={"startTime": "2026-01-01T00:01:00Z"}, priority=5))["Pod/default/x"]
    assert (found.priority, found.queued_at, found.started_at, found.size) == (5, MADE_AT, MADE_AT + 60, 1)
    assert found.islands[0].members[0].node == "n"
    assert not found.infrastructure


def test_a_gang_knows_its_longest_grace_period_and_which_seated_pods_were_asked_to_save() -> None:
    labels, owners = {"job-name": "j"}, owner("Job", "j")
    asked = {"annotations": {CHECKPOINT_BY: format_time(NOW)}}
    pods = [
        pod("j-0", "a", {"labels": labels, "ownerReferences": owners, **asked}, terminationGracePeriodSeconds=5),
        pod("j-1", "a", {"labels": labels, "ownerReferences": owners}, terminationGracePeriodSeconds=90),
        pod("j-2", "", {"labels": labels, "ownerReferences": owners, **asked}, terminationGracePeriodSeconds=7),
    ]
    found = gangs(node("a"), job("j", parallelism=3, completions=3), *pods)["Job/default/j"]
    assert (found.checkpoint_requests, found.grace) == ((("j-0", NOW),), 90.0)


@pytest.mark.parametrize("notes", [{}, {f"{PREFIX}last-checkpoint": "2026-01-01T00:00:00Z"}])
def test_a_lone_pod_knows_them_on_each_way_it_is_read(notes: dict[str, str]) -> None:
    meta = {"annotations": {CHECKPOINT_BY: format_time(NOW), **notes}}
    found = gangs(node("a"), pod("x", "a", meta, terminationGracePeriodSeconds=7))["Pod/default/x"]
    assert (found.checkpoint_requests, found.grace) == ((("x", NOW),), 7.0)


def test_lone_pods_that_wait() -> None:
    found = gangs(pod("x", status={"nominatedNodeName": "m"}, schedulingGates=[{"name": "b"}, {"name": "a"}]))
    assert found["Pod/default/x"].holds == (("x", "m"),)
    assert found["Pod/default/x"].gates == ("a", "b")


def test_lone_pods_that_go() -> None:
    leaving = {"deletionTimestamp": "2026-01-01T01:00:00Z"}
    found = gangs(pod("x", "n", leaving))["Pod/default/x"]
    assert (found.size, [member.name for member in found.leaving]) == (0, ["x"])
    assert gangs(pod("x", "", leaving)) == {}
    assert gangs(pod("x", "n", status={"phase": "Succeeded"})) == {}
    assert gangs(pod("x", "n", leaving, {"phase": "Failed"})) == {}


def test_lone_pods_with_annotations() -> None:
    annotations = {"annotations": {"understudy.dev/on-preemption": "fail", "understudy.dev/required-topology": "rack"}}
    found = gangs(pod("x", "n", annotations))["Pod/default/x"]
    assert found.on_preemption == "fail"
    assert found.islands[0].topology == Topology("rack", TopologyMode.REQUIRED)


@pytest.mark.parametrize("annotations", [{}, {"understudy.dev/on-preemption": "requeue"}])
def test_infrastructure(annotations: Document) -> None:
    found = gangs(pod("x", "n", {"ownerReferences": owner("DaemonSet", "d"), "annotations": annotations}))
    assert found["Pod/default/x"].infrastructure


@pytest.mark.parametrize("spec", [{}, {"parallelism": 1}, {"completions": 1, "completionMode": "Indexed"}])
@pytest.mark.parametrize("seat", ["", "n"])
def test_the_short_way_for_jobs_of_one_pod_leads_to_the_same(spec: Document, seat: str) -> None:
    labels = (
        {"job-name": "j", "batch.kubernetes.io/job-completion-index": "0"}
        if "completions" in spec
        else {"job-name": "j"}
    )
    status = {"nominatedNodeName": "m"} if not seat else {"startTime": "2026-01-01T00:01:00Z"}
    one = pod("j-x", seat, {"labels": labels}, status, priority=3, schedulingGates=[{"name": "z"}, {"name": "a"}])
    remark = {"annotations": {"understudy.dev/on-preemption": "requeue"}}  # says nothing new, but takes the long way
    assert gangs(job("j", **spec), one) == gangs(job("j", remark, **spec), one)
    assert gangs(one | {"metadata": metadata("p")}) == gangs(one | {"metadata": metadata("p", **remark)})


# Gangs of which only pods are known


def test_pods_of_an_unknown_jobset_are_a_gang() -> None:
    pods = [jobset_pod("js", "w", replica, index, f"n{replica}{index}") for replica in (10, 9) for index in (10, 9)]
    for each in pods:
        each["metadata"]["annotations"] = {EXCLUSIVE: "pool"}
    found = gangs(*pods)["JobSet/default/js"]
    assert [island.name for island in found.islands] == ["js-w-9", "js-w-10"]
    assert [member.node for member in found.members()] == ["n99", "n910", "n109", "n1010"]
    assert {island.topology for island in found.islands} == {Topology("pool", TopologyMode.EXCLUSIVE)}


def test_an_unknown_owner_is_not_expected_to_make_more() -> None:
    going = jobset_pod("js", "w", 0, 1, "n1", meta={"deletionTimestamp": "2026-01-01T01:00:00Z"})
    going["metadata"]["labels"] = jobset_pod("js", "w", 0, 1)["metadata"]["labels"]
    found = gangs(jobset_pod("js", "w", 0, 0, "n0"), going)["JobSet/default/js"]
    assert (found.size, len(found.leaving)) == (1, 1)


# One gang, several objects


def test_child_jobs_are_no_gangs_of_their_own() -> None:
    child = job("js-w-0", {"ownerReferences": owner("JobSet", "js")})
    found = gangs(jobset("js", replicated_job("w", 1, 1)), child, jobset_pod("js", "w", 0, 0, "n"))
    assert list(found) == ["JobSet/default/js"]
    assert list(gangs(job("x", {"ownerReferences": owner("CronJob", "nightly")}))) == ["Job/default/x"]


RUNTIME: Document = {
    "apiVersion": "trainer.kubeflow.org/v1alpha1",
    "kind": "ClusterTrainingRuntime",
    "metadata": {"name": "torch"},
    "spec": {"mlPolicy": {"numNodes": 1}, "template": {"spec": {"replicatedJobs": [replicated_job("node", 1, 1)]}}},
}
TRAINJOB: Document = {
    "apiVersion": "trainer.kubeflow.org/v1alpha1",
    "kind": "TrainJob",
    "metadata": metadata("t"),
    "spec": {"runtimeRef": {"name": "torch"}},
}


def test_a_trainjob_speaks_for_its_jobset_and_pods() -> None:
    child = jobset("t", replicated_job("node", 1, 1), meta={"ownerReferences": owner("TrainJob", "t")})
    found = gangs(RUNTIME, child, jobset_pod("t", "node", 0, 0, "n"), TRAINJOB)
    assert list(found) == ["TrainJob/default/t"]
    assert [member.node for member in found["TrainJob/default/t"].members()] == ["n"]


@pytest.mark.parametrize("becomes", ["larger", "gone"])
def test_what_becomes_of_its_runtime_means_nothing_to_a_trainjob_that_has_its_jobset(becomes: str) -> None:
    child = jobset("t", replicated_job("node", 1, 1), meta={"ownerReferences": owner("TrainJob", "t")})
    view = viewed(RUNTIME, TRAINJOB, child, jobset_pod("t", "node", 0, 0, "n"))
    before = view.snapshot(NOW).gangs["TrainJob/default/t"]
    assert before.size == 1
    if becomes == "larger":
        view.put(decode({**RUNTIME, "spec": {**RUNTIME["spec"], "mlPolicy": {"numNodes": 5}}}))
    else:
        view.remove(decode(RUNTIME))
    assert dict(view.snapshot(NOW).gangs) == {"TrainJob/default/t": before}
    view.remove(decode(child))
    view.remove(decode(jobset_pod("t", "node", 0, 0, "n")))
    if becomes == "larger":  # another JobSet will be made, of the runtime as it is now
        assert view.snapshot(NOW).gangs["TrainJob/default/t"].size == 5
    else:
        with pytest.raises(BadObject, match="there is no ClusterTrainingRuntime 'torch'"):
            view.snapshot(NOW)


def test_a_trainjob_itself_says_whether_it_stands_back_and_whether_it_is_over() -> None:
    child = jobset("t", replicated_job("node", 1, 1), meta={"ownerReferences": owner("TrainJob", "t")})
    paused = {**TRAINJOB, "spec": {**TRAINJOB["spec"], "suspend": True}}
    assert gangs(RUNTIME, paused, child)["TrainJob/default/t"].suspension is Suspension.BY_OWNER
    over = {**TRAINJOB, "status": {"conditions": [{"type": "Complete", "status": "True"}]}}
    assert gangs(RUNTIME, over, child) == {}


def test_a_gang_goes_by_its_new_name_once_its_job_is_known() -> None:
    view = viewed(RUNTIME, jobset_pod("t", "node", 0, 0, "n"))
    assert list(view.snapshot(NOW).gangs) == ["JobSet/default/t"]
    view.put(decode(TRAINJOB))
    assert list(view.snapshot(NOW).gangs) == ["TrainJob/default/t"]
    view.remove(decode(TRAINJOB))
    assert list(view.snapshot(NOW).gangs) == ["JobSet/default/t"]


def test_a_pod_may_change_its_gang() -> None:
    view = viewed(job("a"), pod("x", "n"))
    assert set(view.snapshot(NOW).gangs) == {"Job/default/a", "Pod/default/x"}
    view.put(decode(pod("x", "n", {"labels": {"job-name": "a"}})))
    snapshot = view.snapshot(NOW)
    assert set(snapshot.gangs) == {"Job/default/a"}
    assert [seat.gang for seat in snapshot.nodes["n"].seats] == ["Job/default/a"]


# Surroundings


def test_a_changed_priority_class_changes_every_gang() -> None:
    view = viewed(priority_class("high", 5), job("a", template=template(priorityClassName="high")))
    assert view.snapshot(NOW).gangs["Job/default/a"].priority == 5
    view.put(decode(priority_class("high", 7)))
    assert view.snapshot(NOW).gangs["Job/default/a"].priority == 7


def test_a_missing_priority_class_is_complained_about_until_it_is_there() -> None:
    view = viewed(node("n"), lease("n", "2026-01-01T01:00:00Z"), job("a", template=template(priorityClassName="high")))
    for _ in range(2):
        with pytest.raises(BadObject, match="there is no PriorityClass 'high'; there are: none"):
            view.snapshot(NOW)
    view.put(decode(priority_class("high", 7)))
    snapshot = view.snapshot(NOW + 1000)
    assert snapshot.gangs["Job/default/a"].priority == 7
    assert set(snapshot.unhealthy) == {"n"}


def test_volumes_and_namespaces_are_looked_up() -> None:
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
    waiting = pod("x", volumes=volumes)
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": metadata("data"),
        "spec": {"volumeName": "pv"},
    }
    terms = [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]
    affinity = {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}}
    volume = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "pv"}, "spec": affinity}
    view = viewed(waiting)
    seen = []
    for document in (None, claim, volume):
        if document:
            view.put(decode(document))
        (member,) = view.snapshot(NOW).gangs["Pod/default/x"].members()
        seen.append((bool(member.shape.unsupported), bool(member.shape.volumes)))
    assert seen == [(False, False), (True, False), (False, True)]


def test_objects_the_view_has_no_use_for() -> None:
    class Strange(KubeObject, frozen=True):
        pass

    with pytest.raises(TypeError, match="Strange default/x"):
        ClusterView().put(msgspec.convert({"kind": "Strange", "apiVersion": "v1", "metadata": {"name": "x"}}, Strange))


def test_who_schedules() -> None:
    assert not gangs(pod("x", "n"), scheduler_name="understudy")["Pod/default/x"].managed
    assert gangs(pod("x", "n", schedulerName="understudy"), scheduler_name="understudy")["Pod/default/x"].managed


def test_keys_to_index_by() -> None:
    snapshot = viewed(node("n", {"labels": {"rack": "r1"}}), policy=Policy(pool_label="rack")).snapshot(NOW)
    assert dict(snapshot.domains["rack"].items()) == {"r1": ("n",)}


# Nothing new


def test_nothing_new_is_the_same_snapshot() -> None:
    documents = (node("n"), pod("x", "n"), job("a"), jobset("js", replicated_job("w", 2, 2)), RUNTIME)
    view = viewed(*documents)
    first = view.snapshot(NOW)
    assert view.snapshot(NOW + 1) is first
    for document in documents:
        view.put(decode(document))
    assert view.snapshot(NOW + 2) is first
    finished = job("b", status={"conditions": [{"type": "Complete", "status": "True"}]})
    view.put(decode(finished))
    assert view.snapshot(NOW + 3) is first
    view.remove(decode(finished))
    view.remove(decode(pod("stranger")))
    view.remove(decode(job("stranger")))
    view.remove(decode(node("stranger")))
    assert view.snapshot(NOW + 4) is first


def test_a_renewed_lease_is_nothing_new() -> None:
    view = viewed(node("n"), lease("n", "2026-01-01T01:00:00Z"))
    first = view.snapshot(NOW)
    view.put(decode(lease("n", "2026-01-01T01:00:10Z")))
    assert view.snapshot(NOW + 20) is first
    assert set(view.snapshot(NOW + 26).unhealthy) == {"n"}


def test_what_did_not_change_is_shared() -> None:
    view = viewed(pod("x", "n"), pod("y", "n"))
    before = view.snapshot(NOW)
    view.put(decode(pod("x", "m")))
    after = view.snapshot(NOW)
    assert after.gangs["Pod/default/y"] is before.gangs["Pod/default/y"]
    assert after.gangs["Pod/default/x"] is not before.gangs["Pod/default/x"]


# Any order of events

NODES = st.sampled_from(["", "n0", "n1", "n2"])
PHASES: st.SearchStrategy[Document] = st.sampled_from(
    [{}, {"phase": "Succeeded"}, {"phase": "Failed"}, {"nominatedNodeName": "n1"}]
)
LEAVING: st.SearchStrategy[Document] = st.sampled_from([{}, {}, {"deletionTimestamp": "2026-01-01T01:00:00Z"}])
VOLUMES: list[Document] = [
    {"name": "shared", "persistentVolumeClaim": {"claimName": "data"}},
    {"name": "own", "ephemeral": {}},
]
SPECS: st.SearchStrategy[Document] = st.sampled_from(
    [{"priority": 1}, {"priority": 2}, {"priorityClassName": "high"}, *({"volumes": [volume]} for volume in VOLUMES)]
)
CLAIMS = ["data", "lone-0-own", "job-0-own", "job-1-own"]


@st.composite
def pods(draw: st.DrawFn) -> Document:
    index, meta = draw(st.integers(0, 2)), dict(draw(LEAVING))
    owned = draw(st.sampled_from(["js", "t", "job", "train", ""]))
    if owned in ("js", "t"):
        made = jobset_pod(owned, "node", index % 2, index, draw(NODES), status=draw(PHASES), **draw(SPECS))
        made["metadata"] |= meta
        return made
    if owned == "train":
        name, labels = f"train-worker-{index}", {"training.kubeflow.org/job-name": "train"}
        labels["training.kubeflow.org/operator-name"] = "pytorchjob-controller"
    else:
        name, labels = f"{owned or 'lone'}-{index}", {"job-name": owned} if owned else {}
    return pod(name, draw(NODES), {**meta, "labels": labels}, draw(PHASES), **draw(SPECS))


@st.composite
def jobs(draw: st.DrawFn) -> Document:
    count, suspend = draw(st.integers(0, 3)), draw(st.booleans())
    note: Document = {"annotations": draw(st.sampled_from([{}, {"understudy.dev/min-members": "1"}]))}
    return draw(
        st.sampled_from(
            [
                job("job", note, parallelism=count, suspend=suspend),
                job("job", note, parallelism=count, template=template(volumes=VOLUMES)),
                jobset("js", replicated_job("node", count, 2), meta=note, suspend=suspend),
                training_job("PyTorchJob", "pytorchReplicaSpecs", {"Worker": count}, note),
                TRAINJOB,
                {**TRAINJOB, "status": {"conditions": [{"type": "Complete", "status": "True"}]}},
            ]
        )
    )


def storage_class(mode: str) -> Document:
    fields = {"provisioner": "disks.example", "volumeBindingMode": mode}
    return {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "fast"}, **fields}


def claim(name: str, volume: str, node: str) -> Document:
    notes = {"volume.kubernetes.io/selected-node": node} if node else {}
    spec = {"storageClassName": "fast", "volumeName": volume}
    meta = metadata(name, annotations=notes)
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": spec}


def volume(node: str) -> Document:
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}]
    spec = {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "pv"}, "spec": spec}


@st.composite
def surroundings(draw: st.DrawFn) -> Document:
    number = draw(st.integers(0, 2))
    taints = draw(st.sampled_from([[], [{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}]]))
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": metadata("b"),
        "spec": {"selector": {}, "minAvailable": number},
    }
    return draw(
        st.sampled_from(
            [
                node(f"n{number}", taints=taints),
                lease(f"n{number}", f"2026-01-01T00:00:{draw(st.integers(0, 59)):02}Z"),
                budget,
                priority_class("high", 100 + number),
                storage_class(draw(st.sampled_from(["Immediate", "WaitForFirstConsumer"]))),
                claim(draw(st.sampled_from(CLAIMS)), draw(st.sampled_from(["", "pv"])), f"n{number}" if number else ""),
                volume(f"n{number}"),
            ]
        )
    )


DOCUMENTS = st.one_of(pods(), jobs(), surroundings())
EVENTS = st.lists(st.tuples(st.sampled_from(["put", "put", "put", "remove"]), DOCUMENTS), max_size=25)
BASE = (priority_class("high", 50), RUNTIME)


def identity(document: Document) -> tuple[str, str]:
    return (document["kind"], document["metadata"]["name"])


def from_scratch(documents: Iterable[Document], now: float) -> dict[str, Any]:
    return facts(viewed(*documents).snapshot(now))


@settings(max_examples=examples(150))
@given(EVENTS, st.data())
def test_any_order_of_events_gives_what_building_from_scratch_gives(
    events: list[tuple[str, Document]], data: st.DataObject
) -> None:
    view, now, kept = viewed(*BASE), MADE_AT, {identity(d): d for d in BASE}
    for verb, document in events:
        if document["kind"] == "PriorityClass" and verb == "remove":
            continue
        if verb == "put":
            view.put(decode(document))
            kept[identity(document)] = document
        else:
            view.remove(decode(document))
            kept.pop(identity(document), None)
        now += data.draw(st.sampled_from([0.0, 1.0, 20.0]))
        if data.draw(st.booleans()):
            snapshot = view.snapshot(now)
            assert view.snapshot(now) is snapshot
    assert facts(view.snapshot(now)) == from_scratch(kept.values(), now)


@settings(max_examples=examples(60))
@given(st.lists(DOCUMENTS, max_size=15, unique_by=identity), st.randoms())
def test_the_order_of_the_objects_does_not_matter(documents: list[Document], chance: Any) -> None:
    ordered = list({identity(d): d for d in (*BASE, *documents)}.values())
    shuffled = list(ordered)
    chance.shuffle(shuffled)
    assert from_scratch(ordered, MADE_AT) == from_scratch(shuffled, MADE_AT)


# What makes no sense, and what is passed over


def test_with_troubles_a_bad_gang_is_set_aside_and_its_seats_count() -> None:
    invalid_objects = InvalidObjects()
    spoilt = {"annotations": {"understudy.dev/min-members": "some"}}
    view = viewed(node("n"), job("bad", spoilt), invalid_objects=invalid_objects)
    for name, seat in (("bad-x", "n"), ("bad-y", "")):
        view.put(decode(pod(name, seat, {"labels": {"job-name": "bad"}})))
    view.put(decode(pod("good")))
    snapshot = view.snapshot(NOW)
    assert [member.name for member in snapshot.gangs["Job/default/bad"].members()] == ["bad-x"]
    assert not snapshot.gangs["Job/default/bad"].managed
    assert set(snapshot.open) == {"Pod/default/good"}
    ((about, words),) = invalid_objects.news()
    assert about == "Job/default/bad"
    assert "'some' is not a number of members" in words
    assert list(invalid_objects.news()) == []

    view.put(decode(job("bad")))
    assert view.snapshot(NOW).gangs["Job/default/bad"].managed
    assert invalid_objects.known == {}


def test_a_bad_gang_without_seats_is_not_there() -> None:
    view = viewed(
        pod("x", "", {"annotations": {"understudy.dev/on-preemption": "?"}}), invalid_objects=InvalidObjects()
    )
    assert not len(view.snapshot(NOW).gangs)


def test_pods_of_a_bad_gang_that_are_leaving_are_counted_as_leaving() -> None:
    going = {"labels": {"job-name": "bad"}, "deletionTimestamp": "2026-01-01T01:00:00Z"}
    spoilt = {"annotations": {"understudy.dev/min-members": "some"}}
    view = viewed(node("n"), job("bad", spoilt), pod("bad-x", "n", going), invalid_objects=InvalidObjects())
    assert [m.name for m in view.snapshot(NOW).gangs["Job/default/bad"].leaving] == ["bad-x"]


def test_a_gang_that_is_passed_over_is_planned_for_again_when_a_pod_of_it_comes() -> None:
    view = viewed(node("n"), job("j", parallelism=2, completions=2))
    assert set(view.snapshot(NOW).open) == {"Job/default/j"}
    view.pass_over(PassedOver.of("Job/default/j", view.pods_of("Job/default/j"), view.job_of("Job/default/j")))
    assert set(view.snapshot(NOW).open) == set()
    view.put(decode(job("j", {"labels": {"new": "label"}}, parallelism=2, completions=2)))
    assert set(view.snapshot(NOW).open) == set()
    view.put(decode(pod("j-x", "", {"labels": {"job-name": "j"}})))
    assert set(view.snapshot(NOW).open) == {"Job/default/j"}


@pytest.mark.parametrize("change", ["spec", "a pod is gone"])
def test_a_gang_that_is_passed_over_is_planned_for_again_when_it_changes(change: str) -> None:
    first = pod("j-x", "", {"labels": {"job-name": "j"}})
    view = viewed(node("n"), job("j", parallelism=2, completions=2), first)
    view.snapshot(NOW)
    view.pass_over(PassedOver.of("Job/default/j", view.pods_of("Job/default/j"), view.job_of("Job/default/j")))
    assert set(view.snapshot(NOW).open) == set()
    if change == "spec":
        view.put(decode(job("j", parallelism=3, completions=3)))
    else:
        view.remove(decode(first))
    assert set(view.snapshot(NOW).open) == {"Job/default/j"}


def test_only_what_may_change_the_snapshot_stirs_the_view() -> None:
    view = viewed(node("n"), lease("n", "2026-01-01T00:59:58Z"), priority_class("high", 1))
    view.snapshot(NOW)
    assert not view.has_changed
    view.put(decode(lease("n", "2026-01-01T00:59:59Z")))
    view.put(decode(priority_class("high", 1) | {"metadata": {"name": "high", "resourceVersion": "9"}}))
    assert not view.has_changed
    assert view.next_look() == NOW - 2 + 15
    view.put(decode(priority_class("high", 2)))
    assert view.has_changed


def test_what_is_known_of_a_gang_can_be_asked_for() -> None:
    train = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": metadata("t"),
        "spec": {"runtimeRef": {"name": "torch"}},
    }
    view = viewed(RUNTIME, train, jobset_pod("t", "node", 0, 0), pod("x"))
    top_level_job = view.job_of("TrainJob/default/t")
    assert top_level_job is not None
    assert top_level_job.kind == "TrainJob"
    assert [each.metadata.name for each in view.pods_of("TrainJob/default/t")] == ["t-node-0-0-x7k2p"]
    assert view.job_of("Pod/default/x") is None
    assert view.pod("default", "x") is not None
    assert view.pod("default", "y") is None


def test_a_pod_that_its_child_job_counts_as_done_is_not_waited_for_though_it_is_gone() -> None:
    view = ClusterView()
    view.put(decode(jobset("js", replicated_job("w", 1, 2))))
    child = job("js-w-0", {"ownerReferences": owner("JobSet", "js")}, completionMode="Indexed", completions=2)
    view.put(decode(child))
    assert view.snapshot(0.0).gangs["JobSet/default/js"].size == 2
    done = decode({**child, "status": {"completedIndexes": "1"}})
    view.put(done)
    assert [m.name for m in view.snapshot(1.0).gangs["JobSet/default/js"].members()] == ["js-w-0-0"]
    view.remove(done)  # it is made again, by a restart of the JobSet
    assert view.snapshot(2.0).gangs["JobSet/default/js"].size == 2
