"""Hand-made seats: islands that have a domain to themselves, and claims that exist before their pods get seats."""

from bench.hotswap.replay import PodState
from tests.chaos.fault_schedule import Fault
from tests.chaos.judge.case import Case
from tests.chaos.judge.stories import (
    SEEDS,
    Observed,
    case,
    claim,
    job,
    kinds,
    node,
    pod,
    share_convicted,
    storm,
    submission,
)
from tests.chaos.observer import Gap

GANGS = [submission("train", exclusive=True), submission("other", size=1, priority=1000)]
DOMAINS: tuple[Observed, ...] = tuple(node(1, name, domain="slice-0" if name in "ab" else "slice-1") for name in "abcd")
ISLAND: tuple[Observed, ...] = (job(1), pod(300, "0", "a", island="train-w-0"), pod(300, "1", "b", island="train-w-0"))


def seat(revision: int, where: str) -> PodState:
    return pod(revision, "o", where, "other")


def two_gangs(*more: Observed) -> Case:
    return case(*DOMAINS, *ISLAND, job(1, name="other"), *more, gangs=GANGS)


def test_two_gangs_never_share_a_domain_that_one_has_to_itself() -> None:
    assert kinds(two_gangs(seat(310, "c"))) == []
    assert "domain_shared" in kinds(two_gangs(seat(310, "b")))
    assert "domain_shared" in kinds(two_gangs(seat(200, "b"))), "whichever of them came first"
    plain = [submission("train"), submission("other", size=1)]
    assert kinds(case(*DOMAINS, *ISLAND, job(1, name="other"), seat(310, "b"), gangs=plain)) == []


def test_a_shared_domain_is_convicted_among_as_many_faults_as_a_run_has() -> None:
    assert share_convicted("domain_shared", two_gangs(seat(310, "b"))) > 0.5
    assert share_convicted("domain_shared", two_gangs(seat(310, "c"))) == 0.0


def test_two_islands_of_one_gang_never_share_a_domain() -> None:
    other = (job(1), pod(300, "0", "a", island="train-w-0"), pod(300, "1", "b", island="train-w-1"))
    assert kinds(case(*DOMAINS, *other, gangs=GANGS)) == ["domain_shared"]
    apart = (job(1), pod(300, "0", "a", island="train-w-0"), pod(300, "1", "c", island="train-w-1"))
    assert kinds(case(*DOMAINS, *apart, gangs=GANGS)) == []


def test_an_island_sits_in_one_domain() -> None:
    scattered = (job(1), pod(300, "0", "a", island="train-w-0"), pod(300, "1", "c", island="train-w-0"))
    assert kinds(case(*DOMAINS, *scattered, gangs=GANGS)) == ["island_scattered"]
    moving = (pod(310, "0", "a", leaving=True), pod(310, "1", "b", leaving=True))
    moved = [pod(311, f"new{n}", where, place=f"train-{n}", island="train-w-0") for n, where in enumerate("cd")]
    assert kinds(two_gangs(*moving, *moved)) == []


def test_a_pod_on_its_way_out_still_has_its_domain() -> None:
    leaving = [pod(305, str(n), where, island="train-w-0", leaving=True) for n, where in enumerate("ab")]
    assert "domain_shared" in kinds(two_gangs(*leaving, seat(310, "b")))
    gone = [pod(309, str(n), where, island="train-w-0", gone=True) for n, where in enumerate("ab")]
    assert kinds(two_gangs(*leaving, *gone, seat(310, "b"))) == []


def test_a_pod_on_a_lost_node_has_no_domain() -> None:
    alone = (job(1), pod(300, "0", "a", island="train-w-0"))
    size_one = [submission("train", size=1, exclusive=True), GANGS[1]]
    story: tuple[Observed, ...] = (*DOMAINS, *alone, job(1, name="other"), seat(310, "b"))
    assert kinds(case(*story, gangs=size_one)) == ["domain_shared"]
    assert kinds(case(*story, node(309, "a", ready=False), gangs=size_one)) == []
    assert kinds(case(*story, faults=[Fault("node kill", "a", 308.0, 330.0, ("a",))], gangs=size_one)) == []
    assert kinds(case(*story, faults=[Fault("stop", "control", 308.0, 311.0)], gangs=size_one)) == ["domain_shared"]


def test_no_pod_gets_a_seat_before_its_claim_exists() -> None:
    gangs = [submission(claims=("data",))]
    seats = (job(1), pod(300, "0", "a"), pod(300, "1", "b"))
    assert kinds(case(*seats, claim(299, "data"), claim(400, "data"), gangs=gangs)) == []
    assert kinds(case(*seats, claim(301, "data"), gangs=gangs)) == ["seated_without_claim"] * 2
    assert kinds(case(*seats, gangs=gangs)) == ["seated_without_claim"] * 2, "it never comes"
    assert kinds(case(*seats, claim(301, "data"), gaps=[Gap(290, 301)], gangs=gangs)) == [], "it was not watched"
    for seed in SEEDS:
        late = case(*seats, claim(301, "data"), faults=storm(seed), gangs=gangs)
        assert kinds(late) == ["seated_without_claim"] * 2, "no fault explains it"
