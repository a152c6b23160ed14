"""Which events are a job's, and in which order they are told."""

import pytest

from tests.cli.queries.documents import NOW, event, job, pod, summary
from understudy.cli.queries.events import events_of_job, events_of_jobs
from understudy.cli.views.events import event_figures, event_lines


@pytest.mark.parametrize(
    ("kind", "about", "mine"),
    [
        ("Job", "Pod/train-abcde", True),
        ("Job", "Pod/train-0-abcde", True),
        ("Job", "Pod/train-more-abcde", False),
        ("Job", "Pod/trains-abcde", False),
        ("Job", "Job/train", True),
        ("Job", "JobSet/train", False),
        ("JobSet", "Job/train-workers-0", True),
        ("JobSet", "Pod/train-workers-0-1-abcde", True),
        ("JobSet", "Pod/train-others-0-1-abcde", False),
        ("JobSet", "Node/train-workers-0", False),
        ("TrainJob", "JobSet/train", True),
        ("TrainJob", "Pod/train-node-0-1-abcde", True),
        ("MPIJob", "Pod/train-worker-3", True),
        ("MPIJob", "Pod/train-launcher-abcde", True),
        ("MPIJob", "Job/train-launcher", True),
        ("MPIJob", "Pod/train-2-worker-3", False),
        ("PyTorchJob", "Pod/train-master-0", True),
        ("PyTorchJob", "Pod/train-worker-12", True),
        ("PyTorchJob", "Pod/train-ps-0", False),
    ],
)  # fmt: skip
def test_events_of_pods_that_are_gone_are_known_by_their_names(kind: str, about: str, mine: bool) -> None:
    assert bool(events_of_job(summary(job(kind)), [event(about, "Started")])) is mine


def test_what_happened_before_a_job_was_made_happened_to_another_of_its_name() -> None:
    found = summary(job("Job", age=60), pod("train-abcde"))
    events = [event("Pod/train-fghij", "Killing", age=100), event("Pod/train-abcde", "Started", age=50)]
    events += [
        event("Job/train", "Waiting", age=50, uid="another"),
        event("Job/train", "Resumed", age=40, uid="uid-train"),
    ]
    assert [one.reason for one in events_of_job(found, events)] == ["Started", "Resumed"]


def test_events_of_one_second_stand_in_the_order_they_were_written() -> None:
    events = [
        event("Job/train", "B", version="12"),
        event("Job/train", "A", version="9"),
        event("Job/train", "C", age=3),
    ]
    assert [one.reason for one in events_of_job(summary(job("Job")), events)] == ["A", "B", "C"]


def test_the_events_of_all_jobs_are_told_in_one_line_of_time() -> None:
    jobs = [summary(job("Job", name)) for name in ("one", "two")]
    events = [
        event("Job/two", "B", age=5),
        event("Job/one", "A", age=9),
        event("Job/three", "C"),
        event("Job/one", "D", age=1),
    ]
    assert [one.reason for one in events_of_jobs(jobs, events)] == ["A", "B", "D"]


def test_lines_say_when_what_and_how_often() -> None:
    events = [event("Pod/train-abcde", "BackOff", "again\nand again", type="Warning", count=3)]
    assert event_lines(events, NOW) == [
        "AGE  TYPE     REASON   OBJECT           MESSAGE",
        "10s  Warning  BackOff  pod/train-abcde  again and again (x3)",
    ]
    assert event_lines(events, NOW, wide=True)[1].startswith("default    10s    3      understudy  10s  Warning")


def test_programs_get_them_as_values() -> None:
    figures = event_figures(event("Pod/a", "Started", "words"))
    assert (figures["kind"], figures["name"], figures["reason"], figures["message"]) == ("Pod", "a", "Started", "words")
    assert figures["time"] == "2026-01-01T11:59:50Z"
