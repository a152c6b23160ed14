"""What is said when a job that is followed changes, and what a view of it looks like."""

import pytest

from tests.cli.jobs.documents import NOW, conditions, event, job, pod, spec_of, summary
from understudy.cli.jobs.changes import changes, noteworthy
from understudy.cli.jobs.frames import frame


def test_the_first_look_tells_everything_and_the_same_look_again_nothing() -> None:
    found = summary(job("Job"), pod("a"), pod("b", "Pending", node="", waits="needs 1 GPU"))
    assert changes(None, found, NOW) == ["a RUNNING on node-a", "b PENDING", "train PENDING: needs 1 GPU"]
    assert changes(found, found, NOW) == []


def test_what_changed_is_told_and_what_is_gone() -> None:
    before = summary(job("Job"), pod("a"), pod("b", "Pending", node=""))
    after = summary(job("Job", status=conditions(Failed="True")), pod("b", "Failed", exit_code=3, restarts=1))
    assert changes(before, after, NOW) == [
        "b FAILED on node-a, started again 1 time, exit code 3",
        "a gone",
        "train FAILED after 55s: JobFailed",
    ]


@pytest.mark.parametrize(
    ("reason", "kind", "told"),
    [
        ("Started", "Normal", False),
        ("BackOff", "Warning", True),
        ("Preempted", "Normal", True),
        ("Resumed", "Normal", True),
    ],
)
def test_of_events_only_trouble_and_our_own_deeds_are_told(reason: str, kind: str, told: bool) -> None:
    assert noteworthy(event("Job/train", reason, type=kind)) is told


def test_a_view_shows_the_job_its_instances_and_the_last_event() -> None:
    found = summary(job("Job", spec=spec_of("Job", gpus=1, priority="high")), pod("train-abcde", gpus=1))
    assert frame(found, event("Pod/train-abcde", "Started", "Started container"), NOW, (120, 30)) == [
        "train  RUNNING  JOB  priority high  age 1m  training 1m  GPUs 1/1",
        "",
        "INSTANCE     STATUS   NODE    UP",
        "train-abcde  RUNNING  node-a  1m",
        "",
        "10s ago  pod/train-abcde  Started: Started container",
    ]


def test_a_small_terminal_gets_a_small_view() -> None:
    pods = [pod(f"train-{i}") for i in range(20)] + [pod("train-99", "Pending", node="")]
    shown = frame(summary(job("Job"), *pods), event("Job/train", "Waiting", "x" * 99), NOW, (40, 12))
    assert len(shown) <= 12
    assert all(len(line) < 40 for line in shown)
    assert shown[3].startswith("train-99")  # what does not run is worth more room than what does
    assert shown[-3] == "and 16 more"
