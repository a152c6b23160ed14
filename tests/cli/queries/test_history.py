"""Attempts of a job that have ended count: in its training time, its attempts, and its instances once it has failed."""

from msgspec.structs import replace

from tests.cli.queries.documents import NOW, conditions, job, pod, summary
from understudy.cli.queries.instance_choice import choose_ended
from understudy.cli.queries.instances import EndedAttempt, Instance
from understudy.cli.queries.jobs import JobSummary
from understudy.cli.verbs.jobs.get import job_lines
from understudy.cli.verbs.jobs.list_jobs import list_lines, wide_list_lines


def ended(number: int, begin: float, end: float, place: str = "train") -> EndedAttempt:
    """`begin` and `end` are seconds ago."""
    name = f"{place}-{number}abcd"
    one = Instance(name=name, uid=name, status="FAILED", place=place, node="node-a", created=NOW - begin)
    return EndedAttempt(number, replace(one, started=NOW - begin, ended=NOW - end))


def with_history(found: JobSummary, *history: EndedAttempt) -> JobSummary:
    return replace(found, history=history)


PAUSED = {"suspend": True, "replicatedJobs": []}
QUEUING = summary(job("JobSet", spec=PAUSED, requeued_at="2026-01-01T11:59:00Z"))


def test_a_job_that_is_queuing_has_trained_in_its_attempts() -> None:
    found = with_history(QUEUING, ended(1, 100, 70), ended(2, 60, 50))
    assert (found.status, found.duration(NOW), found.attempts(NOW)) == ("QUEUING", 40, 2)
    assert "ATTEMPTS: 2" in job_lines(found, NOW)
    assert "TRAINING DURATION: 40s" in job_lines(found, NOW)


def test_the_pods_of_a_gang_are_one_attempt_and_so_is_one_that_was_swapped() -> None:
    gang = [ended(1, 100, 70, "train-0"), ended(1, 100, 90, "train-1"), ended(2, 90, 70, "train-1")]
    found = with_history(QUEUING, *gang)
    assert (found.duration(NOW), found.attempts(NOW)) == (30, 1)


def test_attempts_in_the_same_second_and_attempts_that_are_not_kept_any_more_count() -> None:
    assert with_history(QUEUING, ended(1, 50, 50, "train-0"), ended(1, 50, 50, "train-1")).attempts(NOW) == 1
    assert with_history(QUEUING, ended(4, 100, 70), ended(5, 60, 50)).attempts(NOW) == 5
    twice = [ended(number, 50, until, name) for number, until in ((1, 50), (2, 30)) for name in ("train-0", "train-1")]
    assert with_history(QUEUING, *twice).attempts(NOW) == 2


def test_pods_that_share_a_place_are_not_attempts_each() -> None:
    assert with_history(QUEUING, *(ended(number, 100, 70) for number in (2, 3, 4))).attempts(NOW) == 1


def test_a_job_that_failed_keeps_its_last_instances() -> None:
    failed = with_history(summary(job("Job", status=conditions(Failed="True"))), ended(1, 100, 70), ended(2, 60, 50))
    assert job_lines(failed, NOW)[-1].split()[-2:] == ["train-2abcd", "node-a"]
    assert list_lines([failed], NOW)[1].split()[-1] == "node-a"
    [head, line] = wide_list_lines([failed], {}, NOW)
    assert dict(zip(head.split(), line.split(), strict=False))["INSTANCES"] == "0/1"


def test_the_attempts_of_the_instance_that_is_named() -> None:
    gang = with_history(
        QUEUING, ended(2, 60, 50, "train-1"), ended(1, 100, 70, "train-1"), ended(1, 100, 70, "train-0")
    )
    assert [one.number for one in choose_ended(gang, "train-1")] == [1, 2]
    present = replace(gang, instances=summary(job("Job"), pod("train-0")).instances)
    assert [one.number for one in choose_ended(present, None)] == [1]
