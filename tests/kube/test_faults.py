"""A cluster that is slow, in trouble, out of reach or silent: what was begun is ended when it is back, nothing is done
twice, and nothing at all on a view that is too old."""

import json
import threading
import time
from collections.abc import Iterator

import pytest

from tests.client.faulty_proxy import BlackHole, Delay, LoseAnswer, Say
from tests.kube.cluster.processes import wait_until
from tests.kube.replicas import LEASE_SECONDS, VIEW_SECONDS, Team
from tests.kube.staging import Stage
from tests.kube.tapping import SECONDS

SIZE = 16
BINDING = "/pods/.*/binding$"
WATCH = "watch=true"


@pytest.fixture(autouse=True)
def timed() -> Iterator[None]:
    began = time.monotonic()
    yield
    print(f"{time.monotonic() - began:.2f} s in all")  # noqa: T201


def nobody_was_made_anew(stage: Stage, name: str = "high", size: int = SIZE) -> None:
    assert stage.seen.made(name) == size


# A bind that fails half-way through a gang


@pytest.mark.parametrize(
    ("fault", "times"),
    [(Say(500), 1), (Say(500), 7), (Say(409), 1), (Say(403), 3), (Delay(1.5), 16), (LoseAnswer(), 16)],
    ids=["once-500", "often-500", "conflict", "forbidden", "too-late", "answer-lost"],
)
def test_a_gang_is_whole_although_a_bind_failed(
    fault: Delay | Say | LoseAnswer, times: int, team: Team, stage: Stage
) -> None:
    leader, _ = team.muster()
    one_of_them = "" if times == SIZE else "high-8-"
    rule = leader.tap.rule(fault, "POST", f"{stage.namespace}/pods/{one_of_them}.*/binding$", times)
    stage.create("high", SIZE, gpus=2)
    stage.whole("high", SIZE)
    assert rule.struck == times
    nobody_was_made_anew(stage)


def test_a_pod_goes_while_its_gang_is_seated(team: Team, stage: Stage) -> None:
    leader, _ = team.muster()
    trap = leader.tap.trap(8, "POST", f"{stage.namespace}{BINDING}")
    stage.create("high", SIZE, gpus=2)
    trap.wait()
    unseated = next(pod for pod in stage.seen.there("high") if not pod.node)
    stage.api.delete(f"/api/v1/namespaces/{stage.namespace}/pods/{unseated.name}", grace=0)
    leader.tap.clear()
    stage.whole("high", SIZE)


def test_a_node_goes_while_a_gang_is_seated(team: Team, stage: Stage) -> None:
    leader, _ = team.muster()
    trap = leader.tap.trap(8, "POST", f"{stage.namespace}{BINDING}")
    stage.create("high", SIZE, gpus=2)
    trap.wait()
    stage.whole("high", 8)
    lost = stage.seen.seats("high")[0]
    stage.nodes.remove(lost)
    leader.tap.clear()
    stage.seen.until(
        "it is whole on what is left",
        lambda: len(stage.seen.sitting("high")) == SIZE and lost not in stage.seen.seats("high"),
    )


# A cluster in trouble


def test_a_cluster_that_answers_500_for_longer_than_the_lease(team: Team, stage: Stage) -> None:
    both = team.muster()
    stage.seated("before", 4)
    for replica in both:
        replica.tap.rule(Say(500))
        replica.tap.cut()
    stage.create("high", SIZE, gpus=1)
    wait_until(lambda: all("standing by again" in one.log for one in both[:1]), "the lead is lost", SECONDS)
    time.sleep(2 * LEASE_SECONDS)
    for replica in both:
        replica.tap.clear()
    healed_at = time.monotonic()
    took = stage.whole("high", SIZE) - healed_at
    print(f"whole {took:.2f} s after the cluster was well again")  # noqa: T201
    assert all(replica.alive for replica in both)
    nobody_was_made_anew(stage)
    nobody_was_made_anew(stage, "before", 4)


def test_a_cluster_that_asks_to_be_left_alone(team: Team, stage: Stage) -> None:
    leader, _ = team.muster()
    rule = leader.tap.rule(Say(429, retry_after=1), "POST", f"{stage.namespace}{BINDING}", 20)
    stage.create("high", SIZE, gpus=2)
    stage.whole("high", SIZE)
    assert rule.struck == 20
    nobody_was_made_anew(stage)


def test_a_cluster_that_is_slow(team: Team, stage: Stage) -> None:
    leader, _ = team.muster()
    leader.tap.rule(Delay(0.5))
    stage.create("high", SIZE, gpus=2)
    stage.whole("high", SIZE)
    nobody_was_made_anew(stage)


def test_connections_that_are_cut_again_and_again(team: Team, stage: Stage) -> None:
    leader, _ = team.muster()
    done = threading.Event()

    def cut() -> None:
        while not done.wait(0.15):
            leader.tap.cut()

    cutting = threading.Thread(target=cut)
    cutting.start()
    try:
        stage.create("high", SIZE, gpus=2)
        stage.whole("high", SIZE)
    finally:
        done.set()
        cutting.join()
    nobody_was_made_anew(stage)


def test_a_watch_that_has_lost_its_place(team: Team, stage: Stage) -> None:
    """What was compacted away is listed anew, and nobody is taken for gone."""
    leader, _ = team.muster()
    stage.seated("before", 4)
    gone = {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "reason": "Expired",
        "code": 410,
        "message": "old",
    }
    event = json.dumps({"type": "ERROR", "object": gone}).encode() + b"\n"
    said = leader.tap.rule(Say(200, body=event, content_type="application/json"), "GET", f"/pods.*{WATCH}", 1)
    refused = leader.tap.rule(
        Say(410, body=json.dumps(gone).encode(), content_type="application/json"), "GET", WATCH, 8
    )
    began = time.monotonic()
    leader.tap.cut()
    stage.create("high", SIZE, gpus=1)
    stage.whole("high", SIZE)
    assert (said.struck, refused.struck) == (1, 8)
    assert not [asked for asked in leader.tap.writes(since=began) if asked.method == "DELETE"]
    nobody_was_made_anew(stage)
    nobody_was_made_anew(stage, "before", 4)


def test_nothing_is_written_on_an_old_view(team: Team, stage: Stage) -> None:
    """The watch of nodes hangs, and nobody says so; everything else works."""
    leader, other = team.muster()
    began = time.monotonic()
    leader.tap.freeze(f"/nodes.*{WATCH}")
    leader.tap.rule(BlackHole(), "GET", f"/nodes.*{WATCH}")
    wait_until(lambda: not leader.page("/readyz"), "it knows that it does not know", SECONDS)
    blind_at = time.monotonic()
    assert blind_at - began > VIEW_SECONDS / 2
    stage.create("high", SIZE, gpus=2)
    stage.seen.until("its pods are there", lambda: len(stage.seen.there("high")) == SIZE)
    time.sleep(2.0)  # nothing can be awaited where nothing is to happen
    assert leader.tap.writes(since=blind_at) == []
    assert other.tap.writes(since=began) == []
    leader.tap.clear()
    healed_at = time.monotonic()
    print(f"whole {stage.whole('high', SIZE) - healed_at:.2f} s after the watch was well again")  # noqa: T201


# Who leads no longer


def test_a_leader_without_its_lease_stops_before_another_one_begins(team: Team, stage: Stage) -> None:
    """Only the lease is out of its reach: it could do harm until the end, if it wanted to."""
    leader, other = team.muster()
    began = time.monotonic()
    leader.tap.rule(BlackHole(), path="/leases/understudy$")
    leader.tap.cut()
    for i in range(3 * LEASE_SECONDS * 2):
        stage.create(f"single-{i}", 1, gpus=1)
        time.sleep(0.5)
    took = stage.seen.until("all sit", lambda: all(stage.seen.sitting(f"single-{i}") for i in range(6 * LEASE_SECONDS)))
    first, last = other.tap.writes(since=began)[0].at, leader.tap.writes(since=began)[-1].at
    print(f"{first - last:.2f} s between the last write of one and the first of the other; {took - began:.2f} s")  # noqa: T201
    assert last < first
    assert stage.seen.wrong == []


def test_a_leader_that_is_cut_off_loses_the_lead(team: Team, stage: Stage) -> None:
    leader, other = team.muster()
    began = time.monotonic()
    leader.tap.freeze()
    leader.tap.rule(BlackHole())
    stage.create("high", SIZE, gpus=2)
    print(f"whole {stage.whole('high', SIZE) - began:.2f} s after the leader was cut off")  # noqa: T201
    assert leader.tap.writes(stage.namespace, since=began) == []
    leader.tap.clear()
    wait_until(lambda: leader.page("/readyz") == "standing by\n", "it stands by", SECONDS)
    assert other.page("/readyz") == "leading\n"
    nobody_was_made_anew(stage)


def test_a_leader_that_was_stopped_writes_nothing_when_it_goes_on(team: Team, stage: Stage) -> None:
    """It is stopped while it seats a gang, and goes on when another one has ended that."""
    leader, other = team.muster()
    trap = leader.tap.trap(8, "POST", f"{stage.namespace}{BINDING}")
    stage.create("high", SIZE, gpus=2)
    trap.wait()
    leader.stop()
    began = time.monotonic()
    leader.tap.clear()
    print(f"whole {stage.whole('high', SIZE) - began:.2f} s after the leader was stopped")  # noqa: T201
    stage.seated("next", 1, gpus=8)
    woken = time.monotonic()
    leader.go_on()
    wait_until(lambda: leader.page("/readyz") == "standing by\n", "it stands by", SECONDS)
    assert leader.tap.everything(since=woken) == []
    assert team.wait_for_leader() is other
    nobody_was_made_anew(stage)
