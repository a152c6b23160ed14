"""The benchmark of hot swaps measures what it says it does, and its monitor sees what must not be."""

from collections.abc import Iterator

import msgspec
import pytest

from bench.hotswap import api_objects
from bench.hotswap.__main__ import main
from bench.hotswap.api_objects import Job, Pod
from bench.hotswap.invariants import IN_FLIGHT, InvariantChecker
from bench.hotswap.process_table import PodProcess
from bench.hotswap.timeline import Incident, Trace, by_step, recorded
from understudy.model import incidents as records

JOB = "batch.kubernetes.io/job-name"
INDEX = "batch.kubernetes.io/job-completion-index"
SURE = ("accelerator_twice", "two_of_a_name", "jobs_lost")  # what no lack of time excuses


def pod(
    index: int,
    uid: str,
    node: str = "",
    *,
    leaving: str = "",
    running: bool = False,
    job: str = "train",
    revision: int = 0,
) -> Pod:
    meta = {"name": f"{job}-{index}-{uid}", "namespace": "default", "uid": uid, "labels": {JOB: job, INDEX: str(index)}}
    meta["resourceVersion"] = str(revision)
    statuses: list[dict[str, object]] = [{"state": {"running": {}}}] if running else []
    return msgspec.convert(
        {
            "metadata": meta | ({"deletionTimestamp": leaving} if leaving else {}),
            "spec": {"nodeName": node},
            "status": {"phase": "Running" if running else "Pending", "containerStatuses": statuses},
        },
        Pod,
    )


def train(size: int = 2, *, holds: str = "", revision: int = 0) -> Job:
    notes = {"understudy.dev/holds": holds} if holds else {}
    meta = {"name": "train", "resourceVersion": str(revision), "annotations": notes}
    return msgspec.convert({"metadata": meta, "spec": {"parallelism": size}}, Job)


def seated(judge: InvariantChecker, *pods: Pod, at: float) -> None:
    for one in pods:
        judge.pod(one, False, at)


def looked_at(judge: InvariantChecker, at: float, *bodies: PodProcess) -> list[tuple[str, ...]]:
    living: dict[str, list[PodProcess]] = {}
    for body in bodies:
        living.setdefault(body.uid, []).append(body)
    return list(judge.processes(living, at, wall=0.0))


@pytest.fixture
def judge() -> Iterator[InvariantChecker]:
    """Of a gang of two that sits on nodes a and b."""
    judge = InvariantChecker()
    seated(judge, pod(0, "first", "a", running=True), pod(1, "second", "b", running=True), at=0.0)
    yield judge
    assert set(judge.counts()) == {"partial_start", "partly_seated", *SURE}


def test_a_swap_is_no_violation(judge: InvariantChecker) -> None:
    judge.fail(["b"])
    judge.pod(pod(1, "second", "b"), True, 1.0)
    judge.pod(pod(1, "third"), False, 2.0)
    assert judge.uneven(60.0) == []
    judge.pod(pod(1, "third", "c", running=True), False, 61.0)
    assert judge.uneven(120.0) == []
    judge.end([pod(0, "first", "a", running=True), pod(1, "third", "c", running=True)])
    assert judge.violations == []


def test_a_gang_without_a_failed_node_that_lost_a_member_is_partly_seated(judge: InvariantChecker) -> None:
    judge.pod(pod(1, "second", "b"), True, 1.0)
    assert judge.uneven(1.0 + IN_FLIGHT) == []
    assert judge.uneven(1.1 + IN_FLIGHT) == ["train"]
    judge.ask_again("train", [pod(0, "first", "a", running=True)])
    looked_at(judge, 9.0)
    assert judge.uneven(9.0) == []
    assert judge.counts()["partly_seated"] == 1


def test_a_gang_of_which_the_news_are_late_is_not_partly_seated(judge: InvariantChecker) -> None:
    judge.pod(pod(1, "second", "b"), True, 1.0)
    assert judge.uneven(9.0) == ["train"]
    judge.ask_again("train", [pod(0, "first", "a"), pod(1, "third", "c"), pod(0, "other", job="other")])
    assert judge.uneven(9.0) == []
    looked_at(judge, 10.0)  # and the loss is still not reported
    assert judge.uneven(10.0 + IN_FLIGHT) == []
    assert judge.uneven(10.1 + IN_FLIGHT) == ["train"]
    assert not judge.violations


def test_of_those_on_failed_nodes_all_have_new_seats_or_none(judge: InvariantChecker) -> None:
    judge.fail(["a", "b"])
    for index, uid, node in ((0, "first", "a"), (1, "second", "b")):
        judge.pod(pod(index, uid, node), True, 1.0)
    seated(judge, pod(0, "third", "c"), pod(1, "fourth"), at=2.0)
    assert judge.uneven(2.1 + IN_FLIGHT) == ["train"]
    judge.ask_again("train", [pod(0, "third", "c"), pod(1, "fourth")])
    assert judge.counts()["partly_seated"] == 1


def test_those_that_are_noticed_later_get_their_seats_later(judge: InvariantChecker) -> None:
    seated(judge, pod(2, "more", "b"), pod(3, "still more", "c"), at=0.0)
    judge.fail(["a", "b", "c"])
    judge.pod(pod(0, "first", "a"), True, 1.0)
    judge.pod(pod(1, "second", "b"), True, 1.0)
    judge.pod(pod(0, "third", "d"), False, 2.0)
    judge.pod(pod(3, "still more", "c"), True, 2.0)  # before all of the first lot sit
    assert judge.uneven(2.1 + IN_FLIGHT) == ["train"]
    judge.pod(pod(1, "fourth", "d"), False, 3.0)
    assert judge.uneven(60.0) == []
    judge.pod(pod(2, "more", "b"), True, 60.0)  # of one lot with the last one, which has no seat yet either
    judge.pod(pod(3, "fifth", "d"), False, 60.0)
    assert judge.uneven(60.1 + IN_FLIGHT) == ["train"]
    judge.pod(pod(2, "sixth", "d"), False, 61.0)
    assert judge.uneven(90.0) == []


def test_an_undetected_loss_takes_no_seat_away(judge: InvariantChecker) -> None:
    judge.fail(["a", "b"])
    judge.pod(pod(0, "first", "a"), True, 1.0)
    seated(judge, pod(0, "third", "c"), at=1.1)
    assert judge.uneven(9.0) == []
    judge.pod(pod(1, "second", "b"), True, 10.0)
    assert judge.uneven(40.0) == []
    assert not judge.violations


def test_a_process_that_outlives_its_grace_while_others_are_gone_is_told(judge: InvariantChecker) -> None:
    judge.pod(pod(0, "first", "a", leaving="1969-12-31T23:59:50Z"), False, 1.0)
    judge.pod(pod(1, "second", "b"), True, 1.0)
    looked_at(judge, 1.0)
    assert not judge.violations
    looked_at(judge, 1.0, PodProcess(1, "1", "first"))
    assert judge.counts()["partly_seated"] == 1


@pytest.fixture
def fresh() -> InvariantChecker:
    """Of a gang of two that has no pods yet."""
    judge = InvariantChecker()
    judge.job("Job train", train(revision=1), gone=False)
    return judge


BOTH = [pod(0, "first", "a", running=True), pod(1, "second", "b", running=True)]


def test_a_process_that_runs_before_the_others_have_seats_is_told(fresh: InvariantChecker) -> None:
    """A check only at the end, or one that takes the pods seen so far for all pods, sees a whole gang here."""
    fresh.pod(pod(0, "first", "a", revision=2), False, 1.0)
    fresh.pod(pod(0, "first", "a", running=True, revision=3), False, 1.01)
    fresh.pod(pod(1, "second", revision=4), False, 1.02)
    fresh.pod(pod(1, "second", "b", revision=5), False, 1.03)
    fresh.pod(pod(1, "second", "b", running=True, revision=6), False, 1.04)
    assert fresh.uneven(60.0) == [], "it lasted too short for that"
    fresh.end(BOTH)
    assert fresh.counts() == {kind: int(kind == "partial_start") for kind in fresh.counts()}
    assert "with seats for 1 of 2 members" in fresh.violations[0][1]


def test_a_process_that_runs_when_all_have_seats_is_none(fresh: InvariantChecker) -> None:
    """News in another order than things happened, which their revisions tell."""
    fresh.pod(pod(0, "first", "a", running=True, revision=4), False, 1.0)
    fresh.pod(pod(1, "second", "b", revision=3), False, 1.1)
    fresh.pod(pod(0, "first", "a", revision=2), False, 1.2)
    fresh.pod(pod(1, "second", "b", running=True, revision=5), False, 1.3)
    fresh.end(BOTH)
    assert fresh.violations == []


@pytest.mark.parametrize(("holds", "told"), [("train-1=b", 0), ("train-0=a", 1), ("", 1)])
def test_a_seat_that_is_held_counts_for_the_member_it_is_held_for(
    fresh: InvariantChecker, holds: str, told: int
) -> None:
    fresh.job("Job train", train(holds=holds, revision=2), gone=False)
    fresh.pod(pod(0, "first", "a", revision=3), False, 1.0)
    fresh.pod(pod(0, "first", "a", running=True, revision=4), False, 1.0)
    assert bool(fresh.uneven(60.0)) == bool(told), "the pod of the second member was never seen, and still counts"
    fresh.pod(pod(1, "second", "b", revision=5), False, 60.0)
    fresh.job("Job train", train(revision=6), gone=False)
    fresh.pod(pod(1, "second", "b", running=True, revision=7), False, 60.0)
    fresh.end(BOTH)
    assert fresh.counts()["partial_start"] == told


def test_a_gang_that_was_requeued_has_to_be_whole_again(fresh: InvariantChecker) -> None:
    for index, uid, node in ((0, "first", "a"), (1, "second", "b")):
        fresh.pod(pod(index, uid, node, revision=2 + index), False, 1.0)
        fresh.pod(pod(index, uid, node, running=True, revision=4 + index), False, 1.0)
        fresh.pod(pod(index, uid, node, revision=6 + index), True, 2.0)
    fresh.pod(pod(0, "third", "c", revision=10), False, 3.0)
    fresh.pod(pod(0, "third", "c", running=True, revision=11), False, 3.0)
    fresh.pod(pod(1, "fourth", "d", running=True, revision=12), False, 3.0)
    fresh.end([pod(0, "third", "c", running=True), pod(1, "fourth", "d", running=True)])
    assert fresh.counts()["partial_start"] == 1


def test_members_that_are_repaired_start_when_they_have_their_own_seat(fresh: InvariantChecker) -> None:
    for index, uid, node in ((0, "first", "a"), (1, "second", "b")):
        fresh.pod(pod(index, uid, node, revision=2 + index), False, 1.0)
        fresh.pod(pod(index, uid, node, running=True, revision=4 + index), False, 1.0)
    fresh.fail(["b"])
    fresh.pod(pod(1, "second", "b", revision=6), True, 2.0)
    fresh.pod(pod(1, "third", "c", revision=7), False, 2.0)
    fresh.pod(pod(1, "third", "c", running=True, revision=8), False, 2.0)
    fresh.end([pod(0, "first", "a", running=True), pod(1, "third", "c", running=True)])
    assert fresh.violations == []


def test_a_job_says_how_many_pods_it_will_have() -> None:
    indexed = {"template": {"spec": {"parallelism": 3}}, "replicas": 2}
    sizes = [
        ({"parallelism": 4}, 4),
        ({"replicatedJobs": [indexed, {"template": {"spec": {}}}]}, 7),
        ({"pytorchReplicaSpecs": {"Master": {"replicas": 1}, "Worker": {"replicas": 3}}}, 4),
    ]
    for spec, size in sizes:
        raw = msgspec.json.encode({"metadata": {"name": "train"}, "spec": spec})
        assert api_objects.job(raw).spec.pods == size


def test_two_that_live_in_one_place_are_suspected(judge: InvariantChecker) -> None:
    judge.pod(pod(1, "third", "c"), False, 1.0)
    (suspicion,) = looked_at(
        judge, 1.0, PodProcess(1, "1", "second"), PodProcess(2, "2", "third"), PodProcess(3, "3", "first")
    )
    assert suspicion == ("two_of_a_name", "default/train/1", "second", "third")
    judge.report_violation(suspicion)
    judge.report_violation(suspicion)
    assert judge.counts()["two_of_a_name"] == 1


def test_two_that_hold_one_accelerator_are_suspected(judge: InvariantChecker) -> None:
    one, two = PodProcess(1, "1", "first", ("GPU=0", "GPU=1")), PodProcess(2, "2", "second", ("GPU=1",))
    forked = PodProcess(3, "3", "second", ("GPU=1",))
    assert looked_at(judge, 1.0, one, two, forked) == [("accelerator_twice", "GPU=1", "first", "second")]


def test_processes_of_other_clusters_are_ignored(judge: InvariantChecker) -> None:
    assert (
        looked_at(judge, 1.0, PodProcess(1, "1", "first", ("GPU=0",)), PodProcess(2, "2", "elsewhere", ("GPU=0",)))
        == []
    )


def test_the_processes_of_an_understudy_are_those_of_the_pod_it_became(judge: InvariantChecker) -> None:
    became = pod(1, "third", "c", running=True)
    notes = {"understudy.dev/steps-in": "understudy"}
    became = msgspec.structs.replace(became, metadata=msgspec.structs.replace(became.metadata, annotations=notes))
    judge.pod(became, False, 1.0)
    (suspicion,) = looked_at(judge, 1.0, PodProcess(1, "1", "second"), PodProcess(2, "2", "understudy"))
    assert suspicion == ("two_of_a_name", "default/train/1", "second", "understudy")


def test_jobs_that_fail_or_go_or_are_not_whole_at_the_end_are_lost(judge: InvariantChecker) -> None:
    failed = msgspec.convert(
        {"metadata": {"name": "x"}, "status": {"conditions": [{"type": "Failed", "status": "True"}]}}, Job
    )
    judge.job("Job x", failed, gone=False)
    judge.job("Job y", msgspec.structs.replace(failed, status=Job(failed.metadata).status), gone=True)
    whole = [pod(0, "first", "a", running=True), pod(1, "second", "b", running=True)]
    judge.end(whole)
    assert judge.counts()["jobs_lost"] == 2
    judge.end(whole[:1])
    assert judge.counts()["jobs_lost"] == 3


def trace(**moments: float) -> Trace:
    found = Trace("p", "g", ("", ""))
    for name, at in moments.items():
        setattr(found, name, at)
    return found


def test_a_step_ends_with_the_last_pod_it_is_about() -> None:
    incident = Incident(
        10.0,
        [10.5],
        failed=[trace(disrupted=10.4, leaving=10.6), trace(gone=10.7)],
        replacements=[trace(added=10.8, bound=11.0, running=11.2), trace(added=10.9, bound=11.0, running=11.1)],
        victims=[trace(gone=10.95)],
    )
    moments = {step: round(ms) for step, ms in incident.moments().items()}
    expected = {"detected": 400, "fenced": 700, "created": 900, "victims_out": 950, "bound": 1000, "running": 1200}
    assert moments == expected


def test_of_each_step_it_is_told_when_it_was_done_and_how_long_it_took() -> None:
    steps = by_step([{"detected": 10.0, "fenced": 30.0, "running": 25.0}, {"detected": 20.0, "running": 50.0}])
    assert steps["detected"] == {"p50_ms": 20.0, "p99_ms": 20.0, "took_p50_ms": 20.0, "took_p99_ms": 20.0}
    assert steps["fenced"]["took_p50_ms"] == 20.0
    assert steps["running"] == {"p50_ms": 50.0, "p99_ms": 50.0, "took_p50_ms": 30.0, "took_p99_ms": 30.0}
    assert "victims_out" not in steps


def test_the_cluster_s_own_record_is_told_by_the_clock_of_the_strike() -> None:
    record = records.Incident("i", "Job/default/train", "", "", (), (), 1, 10.5, decided_at=10.6, running_at=11.0)
    moments = {step: round(ms) for step, ms in recorded(record, 10.0).items()}
    assert moments == {"detected": 500, "decided": 600, "running": 1000}


def test_a_pod_is_known_by_its_outermost_job() -> None:
    labels = {JOB: "set-worker-0", INDEX: "3", "jobset.sigs.k8s.io/jobset-name": "set"}
    raw = msgspec.json.encode({"metadata": {"name": "x", "namespace": "default", "uid": "1", "labels": labels}})
    assert api_objects.pod(raw).gang == "set"
    assert api_objects.pod(raw).place == ("default", "set-worker-0/3")


def test_nodes_die_and_every_step_is_seen(capsys: pytest.CaptureFixture[str]) -> None:
    """Whether a swap was quick enough, or looked whole to a monitor that got no turn for a while, is not asked here."""
    arguments = ["--scenario", "kill-spare", "victim", "--incidents", "1", "--processes", "2", "--json"]
    code = main(arguments)
    spare, victim = map(msgspec.json.decode, capsys.readouterr().out.splitlines())
    assert list(spare["steps"]) == ["detected", "fenced", "created", "bound", "running"]
    assert "victims_out" in victim["steps"]
    for found in (spare, victim):
        assert found["incidents"] == 1
        assert all(found["violations"][kind] == 0 for kind in SURE), found["violated"]
        assert found["plans"]["fewest"] >= 1
        assert found["recorded"]["running"]["p50_ms"] > 0
        assert 0 < found["p50_ms"] == found["steps"]["running"]["p50_ms"] <= found["p99_ms"]
    assert code == any(any(found["violations"].values()) for found in (spare, victim))
