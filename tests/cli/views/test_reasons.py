"""`understudy why`: sentences from conditions, events and notes."""

import pytest

from tests.cli.queries.documents import NOW, conditions, event, job, pod, spec_of, summary
from understudy.cli.input.times import rfc3339
from understudy.cli.queries.objects import EventInfo, PodInfo
from understudy.cli.views.reasons import plain_reason, reason_sentences

NO_ROOM = (
    "needs 1 pod with 1 nvidia.com/gpu; room for 0 of 1 pods; 3 nodes: taint a is not tolerated; "
    "b has 0 of 1 nvidia.com/gpu free; held by Job/default/critical, 1 seat: it has a higher priority (1100000)"
)
PREEMPTED = "preempt Job/default/train (2 pods) for Job/default/critical: priority 9 goes before 1"


def test_a_reason_is_told_part_by_part() -> None:
    assert plain_reason(NO_ROOM) == [
        "It needs 1 pod with 1 nvidia.com/gpu.",
        "There is room for 0 of 1 pods.",
        "Why it does not fit: 3 nodes: taint a is not tolerated; b has 0 of 1 nvidia.com/gpu free.",
        "Job/default/critical holds 1 seat: it has a higher priority (1100000).",
    ]
    tiny = "needs 1 pod with 8 gpu; room for 0 of 1 pods; a has only 1 gpu; cannot start on these nodes: why"
    assert plain_reason(tiny)[2:] == [
        "Why it does not fit: a has only 1 gpu.",
        "It cannot start on these nodes: why.",
    ]
    assert plain_reason("0/3 nodes are available") == ["It waits: 0/3 nodes are available."]
    assert plain_reason("") == []


@pytest.mark.parametrize(
    ("pods", "events"),
    [
        ([pod("train-abcde", "Pending", node="", waits=NO_ROOM)], []),
        (
            [],
            [event("Job/train", "Waiting", "needs other things", age=9), event("Job/train", "Waiting", NO_ROOM, age=3)],
        ),
    ],
    ids=["on its pods", "on the job"],
)
def test_a_job_that_waits_says_for_what_and_who_has_it(pods: list[PodInfo], events: list[EventInfo]) -> None:
    said = reason_sentences(summary(job("Job"), *pods), events, NOW)
    assert said[0].startswith("Job default/train is pending, 1m after it was made")
    assert "Job/default/critical holds 1 seat: it has a higher priority (1100000)." in said


def test_a_job_whose_pods_the_cluster_does_not_let_sit_says_so() -> None:
    waits = pod("train-abcde", "Pending", node="", waits=NO_ROOM)
    refused = "The cluster refused what was decided, which is tried again: our house rule forbids it"
    events = [event("Job/train", "Waiting", NO_ROOM, age=9), event("Job/train", "WriteRefused", refused, age=3)]
    assert reason_sentences(summary(job("Job"), waits), events, NOW)[1] == f"It waits: {refused}."
    assert refused not in " ".join(reason_sentences(summary(job("Job"), waits), events[::-1], NOW))


def test_what_an_autoscaler_answered_is_told_while_the_job_waits() -> None:
    answer = "No machines are provided: ProvisioningRequest understudy-train-1: out of quota"
    events = [event("Job/train", "ProvisioningFailed", answer, age=60)]
    waits = pod("train-abcde", "Pending", node="", waits=NO_ROOM)
    assert f"1m ago: {answer}." in reason_sentences(summary(job("Job"), waits), events, NOW)
    assert answer not in " ".join(reason_sentences(summary(job("Job"), pod("a")), events, NOW))


def test_a_job_that_runs_says_where_and_an_old_reason_is_not_told() -> None:
    said = reason_sentences(
        summary(job("Job"), pod("a"), pod("b", node="node-b")), [event("Job/train", "Waiting", NO_ROOM)], NOW
    )
    assert said == ["Job default/train runs: 2 of 2 instances on node-a, node-b, for 1m."]


def test_a_guard_says_until_when_and_how_far_away_that_is() -> None:
    until = rfc3339(NOW + 90.0)
    guard = f"back-off: it failed 2 times lately, until {until}; needs 1 pod with 1 nvidia.com/gpu"
    said = reason_sentences(summary(job("Job"), pod("train-abcde", "Pending", node="", waits=guard)), [], NOW)
    assert (
        said[1]
        == f"It waits: back-off: it failed 2 times lately, until {until} (in 1m); needs 1 pod with 1 nvidia.com/gpu."
    )


@pytest.mark.parametrize(
    ("later", "left", "tells"),
    [((), 200.0, True), ((), -1.0, False), ([event("Job/train", "HotSwapped", "swap", age=5)], 200.0, False)],
    ids=["it lasts", "it is over", "mended since"],
)
def test_a_job_that_runs_tells_that_a_mass_failure_keeps_it_from_being_mended(
    later: list[EventInfo], left: float, tells: bool
) -> None:
    until = rfc3339(NOW + left)
    guard = f"mass failure: 4 of 8 nodes turned bad at once, until {until}; needs 2 pods with 1 nvidia.com/gpu each"
    events = [event("Job/train", "Waiting", guard, age=12), *later]
    said = reason_sentences(summary(job("Job"), pod("a"), pod("b")), events, NOW)
    told = [words for words in said if words.startswith("12s ago it could not be made whole: mass failure: 4 of 8")]
    assert bool(told) is tells
    assert not tells or "(in 3m)" in told[0]


def test_a_preempted_job_tells_for_whom_it_went_and_what_it_waits_for() -> None:
    found = job("Job", spec={**spec_of("Job"), "suspend": True}, requeued_at="2026-01-01T11:59:00Z")
    events = [
        event("Pod/train-abcde", "Preempted", "Preempted by default/critical-x on node n1 (pod uid 7)", age=60),
        event("Job/train", "Preempted", PREEMPTED, age=60),
        event("Job/train", "Waiting", NO_ROOM, age=59),
    ]
    said = reason_sentences(summary(found), events, NOW)
    assert said[0] == "Job default/train waits to go on: it gave up its seats, and is resumed by itself when it fits."
    assert "It needs 1 pod with 1 nvidia.com/gpu." in said
    assert said[-2:] == [
        "1m ago it gave up all its seats (2) for Job/default/critical: priority 9 goes before 1.",
        "train-abcde left n1 to default/critical-x.",
    ]


def test_one_that_came_back_tells_that_too() -> None:
    events = [
        event("Job/train", "Preempted", PREEMPTED, age=600),
        event("Job/train", "Resumed", "start Job/default/train on n1, n2", age=120),
        event("Job/train", "Resumed", "Job resumed", age=119),
    ]
    said = reason_sentences(summary(job("Job", age=900), pod("a")), events, NOW)
    assert said[1:] == [
        "10m ago it gave up all its seats (2) for Job/default/critical: priority 9 goes before 1.",
        "2m ago it went on, on n1, n2.",
    ]


@pytest.mark.parametrize(
    ("reason", "message", "sentence"),
    [
        (
            "HotSwapped",
            "swap JobSet/default/train: a n1 -> n2 (spare); n1 is lost",
            "10s ago seats were swapped: a n1 -> n2 (spare); n1 is lost.",
        ),
        (
            "HotSwapped",
            "swap JobSet/default/train: a n1 -> n2 (victim), once Job/default/low left; n1 is lost",
            "10s ago seats were swapped: a n1 -> n2 (victim), once Job/default/low had left; n1 is lost.",
        ),
        ("Requeued", "requeue JobSet/default/train: no spare", "10s ago it went back to the queue: no spare."),
        ("Shrunk", "shrink JobSet/default/train by a, b: no room", "10s ago it went on without a, b: no room."),
        ("Preempted", "in other words", "10s ago: Preempted: in other words."),
    ],
)
def test_the_last_thing_that_happened_to_its_seats_is_told(reason: str, message: str, sentence: str) -> None:
    events = [event("JobSet/train", "Preempted", PREEMPTED, age=50), event("JobSet/train", reason, message)]
    assert reason_sentences(summary(job("JobSet"), pod("a")), events, NOW)[1:] == [sentence]


def test_a_swap_tells_when_all_ran_again() -> None:
    told = "all 2 members run again 0.210 s after the failure (detected 0.010 s, decided 0.012 s, seated 0.150 s)"
    events = [
        event("Job/train", "NodeLost", "node n1 lost: not ready: AgentGone", age=11),
        event("Job/train", "HotSwapped", "swap Job/default/train: a n1 -> n2 (spare); n1 lost"),
        event("Job/train", "Recovered", told),
    ]
    for told_in_order in (events, [events[0], events[2], events[1]]):
        said = reason_sentences(summary(job("Job"), pod("a")), told_in_order, NOW)
        assert said[-1] == "10s ago it had recovered: all 2 members run again 0.210 s after the failure."


def test_another_scheduler_tells_the_pods_only() -> None:
    events = [event("Pod/train-abcde", "Preempted", "Preempted by pod 77 on node n1")]
    said = reason_sentences(summary(job("Job"), pod("train-fghij")), events, NOW)
    assert said[1] == "10s ago: train-abcde: Preempted by pod 77 on node n1."


def test_a_job_that_failed_says_how_and_which_pods_did() -> None:
    status = conditions(Failed="True")
    status["conditions"][0] |= {"message": "too many failures", "lastTransitionTime": "2026-01-01T11:59:50Z"}
    said = reason_sentences(summary(job("Job", status=status), pod("a", "Failed", exit_code=137)), [], NOW)
    assert said == [
        "Job default/train failed 10s ago, after 50s of training: too many failures.",
        "a ended on node-a with exit code 137 (Error).",
    ]


def test_one_that_failed_since_it_was_preempted_says_so_once() -> None:
    status = conditions(Failed="True")
    status["conditions"][0] |= {"reason": "Preempted", "message": PREEMPTED}
    said = reason_sentences(summary(job("Job", status=status)), [event("Job/train", "Preempted", PREEMPTED)], NOW)
    assert said == [
        "Job default/train failed, after 0s of training: it was preempted, and asks to fail rather than to queue.",
        "10s ago it gave up all its seats (2) for Job/default/critical: priority 9 goes before 1.",
    ]


def test_one_that_its_owner_paused_says_how_it_goes_on() -> None:
    said = reason_sentences(summary(job("Job", spec={**spec_of("Job"), "suspend": True})), [], NOW)
    assert said == ["Job default/train is suspended by its owner; `understudy resume train` lets it go on."]


def test_a_job_that_kueue_keeps_back_is_not_reported_as_paused_by_a_user() -> None:
    found = job("Job", spec={**spec_of("Job"), "suspend": True})
    found.document["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "team"}
    words = "waits in Kueue's queue team"
    assert summary(found).reason == words
    (said,) = reason_sentences(summary(found), [], NOW)
    assert said == f"Job default/train {words}, which keeps it suspended until it is its turn."


def test_seats_that_are_held_and_room_that_others_made_are_told() -> None:
    found = job("Job", holds="train-0=n1,train-1=n2", preempted_for="2026-01-01T11:00:00Z,2026-01-01T11:30:00Z")
    said = reason_sentences(summary(found), [], NOW)
    assert "Seats are held for it: n1 for train-0, n2 for train-1." in said
    assert "Others made room for it 2 times lately." in said


def test_pods_that_have_their_seats_and_do_not_run_yet_say_what_they_wait_for() -> None:
    said = reason_sentences(summary(job("Job"), pod("a", "Pending", waiting="ImagePullBackOff")), [], NOW)
    assert said[1] == "a has its seat on node-a and starts: ImagePullBackOff."
