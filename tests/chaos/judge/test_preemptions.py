"""Hand-made preemptions: what was taken from others is used as a whole, soon, and by what is more important."""

from tests.chaos.fault_schedule import Fault
from tests.chaos.judge.stories import Observed, case, job, kinds, line, pod, preempted, share_convicted, submission
from tests.chaos.ledger import Line

GANGS = [submission("low", priority=100), submission("high", priority=1000)]
LOW: tuple[Observed, ...] = (
    job(1, name="low"),
    *(pod(2, f"l{n}", where, "low", running=True) for n, where in enumerate("ab")),
    *(pod(301, f"l{n}", where, "low", leaving=True) for n, where in enumerate("ab")),
    *(pod(302, f"l{n}", where, "low", gone=True) for n, where in enumerate("ab")),
)
HIGH: tuple[Observed, ...] = (job(250, name="high"), pod(251, "h0", gang="high"), pod(251, "h1", gang="high"))
EVENT = preempted("low", "high", 300.0)


def seats(revision: int, *places: int) -> list[Observed]:
    return [pod(revision, f"h{place}", "ab"[place], "high") for place in places]


def starts(at: float, *places: int) -> list[Line]:
    return [line(at, "start", f"h{place}", "high") for place in places]


def test_a_victim_is_less_important_than_the_gang_it_goes_for() -> None:
    other: tuple[Observed, ...] = (job(1, name="low"), job(1, name="high"), preempted("high", "low", 50.0))
    assert "victim_priority" in kinds(case(*other, gangs=GANGS))
    assert "victim_priority" not in kinds(case(*LOW, *HIGH, EVENT, gangs=GANGS))


def test_a_gang_for_which_others_went_starts_as_a_whole() -> None:
    story: tuple[Observed, ...] = (*LOW, *HIGH, EVENT, *seats(303, 0, 1))
    assert kinds(case(*story, ledger=starts(304.0, 0, 1), gangs=GANGS)) == []
    assert kinds(case(*story, ledger=starts(304.0, 0), gangs=GANGS)) == ["preemption_in_vain"], "one process of two"
    assert kinds(case(*story, ledger=starts(350.0, 0, 1), gangs=GANGS)) == ["preemption_in_vain"], "too late"


def test_later_stages_need_held_seats_and_no_processes() -> None:
    gangs = [GANGS[0], submission("high", priority=1000, later=1)]
    story = (*LOW, pod(251, "h0", gang="high"), EVENT, *seats(303, 0))
    held = job(250, ["high-h1"], "high", hold_nodes=("b",))
    assert kinds(case(*story, held, ledger=starts(304.0, 0), gangs=gangs)) == []
    nothing = job(250, name="high")
    assert "preemption_in_vain" in kinds(case(*story, nothing, ledger=starts(304.0, 0), gangs=gangs))


def test_a_preemption_in_vain_is_convicted_among_as_many_faults_as_a_run_has() -> None:
    nothing = case(*LOW, *HIGH, EVENT, gangs=GANGS)
    assert share_convicted("preemption_in_vain", nothing) > 0.3
    in_part = case(*LOW, *HIGH, EVENT, *seats(303, 0, 1), ledger=starts(304.0, 0), gangs=GANGS)
    assert share_convicted("preemption_in_vain", in_part) > 0.9, "it keeps the seats, and does not start"
    well = case(*LOW, *HIGH, EVENT, *seats(303, 0, 1), ledger=starts(304.0, 0, 1), gangs=GANGS)
    assert share_convicted("preemption_in_vain", well) == 0.0


def test_a_taker_that_lost_its_node_may_leave_its_seats_but_not_keep_them_for_nothing() -> None:
    blow = [Fault("node kill", "a", 302.0, 340.0, ("a",))]
    gone = [pod(304, f"h{place}", "ab"[place], "high", gone=True) for place in (0, 1)]
    left = (*seats(301, 0, 1), *gone)
    assert kinds(case(*LOW, *HIGH, EVENT, *left, faults=blow, gangs=GANGS)) == []
    assert "preemption_in_vain" in kinds(case(*LOW, *HIGH, EVENT, *left, gangs=GANGS)), "no node was lost"
    kept = (*seats(301, 0, 1), gone[0])
    assert "preemption_in_vain" in kinds(case(*LOW, *HIGH, EVENT, *kept, faults=blow, gangs=GANGS))


def test_a_taker_whose_user_suspended_it_need_not_start() -> None:
    gangs = [GANGS[0], submission("high", priority=1000)]
    gangs[1].meddled.append(301.0)
    assert kinds(case(*LOW, *HIGH, EVENT, job(302, name="high", suspended=True), gangs=gangs)) == []


def test_a_gang_above_the_taker_may_take_its_place() -> None:
    gangs = [*GANGS, submission("top", size=1, priority=10_000)]
    top: tuple[Observed, ...] = (job(1, name="top"), pod(304, "t0", "a", "top"))
    assert kinds(case(*LOW, *HIGH, EVENT, *top, gangs=gangs)) == []
    before_it_was_told = (job(1, name="top"), pod(299, "t0", "a", "top"))
    assert kinds(case(*LOW, *HIGH, EVENT, *before_it_was_told, gangs=gangs)) == []
    long_before = (job(1, name="top"), pod(250, "t0", "a", "top"))
    assert kinds(case(*LOW, *HIGH, EVENT, *long_before, gangs=gangs)) == ["preemption_in_vain"]
    low = [*GANGS, submission("top", size=1, priority=100)]
    assert kinds(case(*LOW, *HIGH, EVENT, *top, gangs=low)) == ["preemption_in_vain"]
