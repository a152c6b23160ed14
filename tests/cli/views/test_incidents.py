"""Incidents as people and programs read them."""

import msgspec

from tests.model.test_incidents import OPEN, RUNNING, SWAP
from understudy.cli.views.incidents import (
    footer,
    incident_line,
    incident_lines,
    incidents_figures,
    no_incidents_text,
    outcome,
    select_incidents,
)
from understudy.model.incidents import (
    GangProgress,
    Incident,
    IncidentDecision,
    IncidentOutcome,
    with_decision,
    with_progress,
)

NOW = 70.0
SWAPPED = with_progress(with_decision(OPEN, SWAP, 10.2), RUNNING, 10.5)


def other(gang: str, **changes: object) -> Incident:
    return msgspec.structs.replace(SWAPPED, gang=gang, **changes)


def test_a_table_tells_each_step_from_the_failure_on() -> None:
    head, first, empty, last = incident_lines([SWAPPED], NOW)
    assert head.split("  ")[0] == "WHEN"
    steps = ["0.100s", "0.200s", "-", "0.500s", "0.500s", "0.500s"]
    assert first.startswith("59s ago  train  node a lost  swapped (spare)  ")
    assert first.split()[-6:] == steps
    assert (empty, last) == ("", "1 incident: median 0.500s, p99 0.500s")


def test_wide_says_who_moved_where_and_who_had_to_go() -> None:
    victims = msgspec.structs.replace(SWAPPED, victims=("Job/default/v",))
    line = incident_lines([victims], NOW, wide=True)[1]
    assert line.startswith("default ")
    assert line.split()[-4:] == ["a", "a->b", "Job/default/v", "train-1"]


def test_without_a_time_of_failure_an_incident_counts_from_its_detection() -> None:
    unknown = msgspec.structs.replace(SWAPPED, failed_at=None)
    assert incident_lines([unknown], NOW)[1].split()[-6:] == ["-", "0.100s", "-", "0.400s", "0.400s", "0.400s"]


def test_outcomes_in_words() -> None:
    requeued = with_decision(OPEN, IncidentDecision(IncidentOutcome.REQUEUED), 10.2)
    ended = with_progress(OPEN, GangProgress(gone=True), 11.0)
    found = [outcome(one) for one in (OPEN, requeued, SWAPPED, ended)]
    assert found == ["open", "open (queues)", "swapped (spare)", "ended"]
    assert footer([OPEN, requeued]) == "2 incidents (2 open)"
    assert incident_line(SWAPPED, NOW) == "59s ago: node a lost; swapped (spare) in 0.500s"


def test_long_times_are_told_as_exactly_as_it_matters() -> None:
    slow = [msgspec.structs.replace(SWAPPED, running_at=10.0 + took) for took in (12.34, 350.4)]
    assert footer(slow) == "2 incidents: median 181s, p99 350s"
    assert footer(slow[:1]) == "1 incident: median 12.3s, p99 12.3s"


def test_incidents_are_chosen_by_job_kind_and_in_order() -> None:
    every = [
        other("JobSet/default/train", detected_at=30.0),
        other("Job/default/train", detected_at=20.0),
        other("Job/default/other", detected_at=10.0),
        other("Pod/default/lone", detected_at=40.0),
    ]
    kinds = ["Job", "JobSet"]
    assert [one.detected_at for one in select_incidents(every, kinds, None)] == [10.0, 20.0, 30.0, 40.0]
    assert [one.gang for one in select_incidents(every, kinds, "train")] == [
        "Job/default/train",
        "JobSet/default/train",
    ]
    assert [one.gang for one in select_incidents(every, ["JobSet"], "train")] == ["JobSet/default/train"]
    for name in ("jobset/train", "jobset.jobset.x-k8s.io/train", "JobSet/train"):
        assert [one.gang for one in select_incidents(every, kinds, name)] == ["JobSet/default/train"]


def test_programs_get_every_moment_and_a_summary() -> None:
    figures = incidents_figures([SWAPPED])
    (one,) = figures["incidents"]
    assert (one["job"], one["kind"], one["namespace"], one["outcome"]) == ("train", "Job", "default", "swapped")
    assert (one["runningAt"], one["victimsOutAt"]) == ("1970-01-01T00:00:10.500000Z", None)
    assert figures["summary"]["total"] == {"count": 1, "median": 0.5, "p99": 0.5}


def test_nothing_is_said_in_words() -> None:
    assert no_incidents_text(None, "") == "No incidents in any namespace."
    assert no_incidents_text("train", "default") == "No incidents of job train in namespace default."
