"""A cluster that is slow, in trouble, out of reach or silent: what was begun is ended when it is back, nothing is done
twice, and nothing at all on a view that is too old."""

import threading
import time

import pytest

from tests.client.faulty_proxy import BlackHole, Delay, Fault, LoseAnswer, Say
from tests.kube.cluster.processes import wait_until
from tests.kube.replicas import LEASE_SECONDS, VIEW_SECONDS, Team
from tests.kube.scene import Scene
from tests.kube.tapping import SECONDS

SIZE = 16
WATCH = "watch=true"
JSON = "application/json"
EXPIRED = b'{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410,"message":"too old"}'
EXPIRED_EVENT = b'{"type":"ERROR","object":' + EXPIRED + b"}\n"
QUIET = 2.0  # seconds; nothing can be awaited where nothing is to happen
ENOUGH, TOO_MANY = 12, 40  # jobs, one every quarter of a second


def bindings(scene: Scene, pod: str = "") -> str:
    return f"{scene.namespace}/pods/{pod}.*/binding$"


# A bind that fails half-way through a gang


@pytest.mark.parametrize(
    ("fault", "times"),
    [(Say(500), 1), (Say(500), 7), (Say(409), 1), (Say(403), 3)],
    ids=["500", "500 for longer than it is asked again", "conflict", "forbidden"],
)
def test_a_gang_is_whole_although_one_bind_was_refused(fault: Fault, times: int, team: Team, scene: Scene) -> None:
    leader, _ = team.muster()
    rule = leader.tap.rule(fault, "POST", bindings(scene, "high-8-"), times)
    scene.create("high", SIZE, gpus=2)
    scene.whole("high", SIZE)
    assert rule.struck == times
    assert scene.seen.made("high") == SIZE


@pytest.mark.parametrize("fault", [Delay(1.5), LoseAnswer()], ids=["late", "lost"])
def test_a_gang_is_whole_although_no_bind_was_answered_in_time(fault: Fault, team: Team, scene: Scene) -> None:
    leader, _ = team.muster()
    rule = leader.tap.rule(fault, "POST", bindings(scene), SIZE)
    scene.create("high", SIZE, gpus=2)
    scene.whole("high", SIZE)
    assert rule.struck == SIZE
    assert scene.seen.made("high") == SIZE


def test_a_pod_goes_while_its_gang_is_seated(team: Team, scene: Scene) -> None:
    leader, _ = team.muster()
    trap = leader.tap.trap(8, "POST", bindings(scene))
    scene.create("high", SIZE, gpus=2)
    trap.wait()
    scene.whole("high", 8)
    unseated = next(pod for pod in scene.seen.there("high") if not pod.node)
    path = f"/api/v1/namespaces/{scene.namespace}/pods/{unseated.name}"
    scene.api.patch(path, {"metadata": {"finalizers": None}})  # or its Job would make another only after a while
    scene.api.delete(path, grace=0)
    leader.tap.clear()
    scene.whole("high", SIZE)
    assert scene.seen.made("high") == SIZE + 1


def test_a_node_goes_while_a_gang_is_seated(team: Team, scene: Scene) -> None:
    leader, _ = team.muster()
    trap = leader.tap.trap(8, "POST", bindings(scene))
    scene.create("high", SIZE, gpus=2)
    trap.wait()
    scene.whole("high", 8)
    lost = scene.seen.seats("high")[0]
    scene.api.delete(f"/api/v1/nodes/{lost}")
    leader.tap.clear()
    scene.seen.until("no pod sits there any more", lambda: lost not in scene.seen.seats("high"))
    scene.whole("high", SIZE)
    assert lost not in scene.seen.seats("high")


# A cluster in trouble


def test_a_cluster_that_answers_500_for_longer_than_the_lease(team: Team, scene: Scene) -> None:
    both = team.muster()
    scene.seated("before", 4)
    for replica in both:
        replica.tap.rule(Say(500))
        replica.tap.cut()
    scene.create("high", SIZE, gpus=1)
    wait_until(lambda: "standing by again" in both[0].log, "the lead is lost", SECONDS)
    time.sleep(LEASE_SECONDS)
    for replica in both:
        replica.tap.clear()
    healed_at = time.monotonic()
    print(f"whole {scene.whole('high', SIZE) - healed_at:.2f} s after the cluster was well again")  # noqa: T201
    assert all(replica.alive for replica in both)
    assert (scene.seen.made("high"), scene.seen.made("before")) == (SIZE, 4)


def test_a_cluster_that_asks_to_be_left_alone(team: Team, scene: Scene) -> None:
    leader, _ = team.muster()
    rule = leader.tap.rule(Say(429, retry_after=1), "POST", bindings(scene), SIZE + 4)
    scene.create("high", SIZE, gpus=2)
    scene.whole("high", SIZE)
    assert rule.struck == SIZE + 4
    assert scene.seen.made("high") == SIZE


def test_a_cluster_that_is_slow(team: Team, scene: Scene) -> None:
    """Half of the time that a write is given, and more than half of that for a lease."""
    leader, _ = team.muster()
    leader.tap.rule(Delay(0.5))
    scene.create("high", SIZE, gpus=2)
    scene.whole("high", SIZE)
    assert scene.seen.made("high") == SIZE


def test_connections_that_are_cut_again_and_again(team: Team, scene: Scene) -> None:
    leader, _ = team.muster()
    done = threading.Event()

    def cut() -> None:
        while not done.wait(0.15):
            leader.tap.cut()

    cutting = threading.Thread(target=cut)
    cutting.start()
    try:
        scene.create("high", SIZE, gpus=2)
        scene.whole("high", SIZE)
    finally:
        done.set()
        cutting.join()
    assert scene.seen.made("high") == SIZE


def test_watches_that_have_lost_their_place(team: Team, scene: Scene) -> None:
    """What was compacted away is listed anew, and no object is taken for deleted."""
    leader, _ = team.muster()
    scene.seated("before", 4)
    said = leader.tap.rule(Say(200, body=EXPIRED_EVENT, content_type=JSON), "GET", f"/pods.*{WATCH}", 1)
    refused = leader.tap.rule(Say(410, body=EXPIRED, content_type=JSON), "GET", WATCH, 8)
    began = time.monotonic()
    leader.tap.cut()
    scene.create("high", SIZE, gpus=1)
    scene.whole("high", SIZE)
    assert (said.struck, refused.struck) == (1, 8)
    assert not [asked for asked in leader.tap.writes(since=began) if asked.method == "DELETE"]
    assert (scene.seen.made("high"), scene.seen.made("before")) == (SIZE, 4)


def test_pods_that_are_seen_before_their_job_wait_for_it(team: Team, scene: Scene) -> None:
    """The watch of jobs is late: the size of the gang is not known, so the first pods are not taken for all."""
    leader, _ = team.muster()
    leader.tap.freeze(f"/batch/v1/jobs.*{WATCH}")
    scene.create("high", SIZE, gpus=2)
    scene.seen.until("its pods are there", lambda: len(scene.seen.there("high")) == SIZE)
    time.sleep(QUIET)
    assert [asked for asked in leader.tap.writes(scene.namespace) if asked.path.endswith("/binding")] == []
    leader.tap.thaw()
    scene.whole("high", SIZE)
    assert len(leader.tap.writes(bindings(scene))) == SIZE


def test_nothing_is_written_on_an_old_view(team: Team, scene: Scene) -> None:
    """The watch of nodes hangs without an error; everything else works."""
    leader, other = team.muster()
    began = time.monotonic()
    leader.tap.freeze(f"/nodes.*{WATCH}")
    leader.tap.rule(BlackHole(), "GET", f"/nodes.*{WATCH}")
    wait_until(lambda: leader.says.startswith("the view is"), "it knows that it does not know", SECONDS)
    blind_at = time.monotonic()
    scene.create("high", SIZE, gpus=2)
    scene.seen.until("its pods are there", lambda: len(scene.seen.there("high")) == SIZE)
    time.sleep(QUIET)
    assert leader.tap.everything(since=blind_at, but="/leases/") == []
    assert other.tap.writes(since=began) == []
    leader.tap.clear()
    healed_at = time.monotonic()
    print(f"blind {blind_at - began:.2f} s after the last word, of {VIEW_SECONDS:g}")  # noqa: T201
    print(f"whole {scene.whole('high', SIZE) - healed_at:.2f} s after the watch was well again")  # noqa: T201


# Who leads no longer


def test_a_leader_without_its_lease_stops_before_another_one_begins(team: Team, scene: Scene) -> None:
    """Only the lease is out of its reach: it could do harm until the end, if it wanted to."""
    leader, other = team.muster()
    began, names = time.monotonic(), list[str]()
    leader.tap.rule(BlackHole(), path="/leases/understudy$")
    leader.tap.cut()
    while len(names) < ENOUGH or (len(names) < TOO_MANY and not other.tap.writes(scene.namespace)):
        names.append(f"single-{len(names)}")
        scene.create(names[-1], 1, gpus=1)
        time.sleep(0.25)
    scene.seen.until("all sit", lambda: all(map(scene.seen.sitting, names)))
    last, first = leader.tap.writes(scene.namespace, began)[-1].at, other.tap.writes(scene.namespace, began)[0].at
    print(f"{first - last:.2f} s between the last write of one and the first of the other")  # noqa: T201
    assert last < first
    assert sum(map(scene.seen.made, names)) == len(names)


def test_a_leader_that_is_cut_off_loses_the_lead(team: Team, scene: Scene) -> None:
    leader, other = team.muster()
    began = time.monotonic()
    leader.tap.freeze()
    leader.tap.rule(BlackHole())
    scene.create("high", SIZE, gpus=2)
    print(f"whole {scene.whole('high', SIZE) - began:.2f} s after the leader was cut off")  # noqa: T201
    assert leader.tap.writes(scene.namespace, began) == []
    leader.tap.clear()
    leader.tap.cut()  # no process remembers what was asked before
    wait_until(lambda: leader.says == "standing by", "it stands by", SECONDS)
    assert other.says == "leading"
    assert scene.seen.made("high") == SIZE


def test_a_leader_that_was_stopped_writes_nothing_when_it_goes_on(team: Team, scene: Scene) -> None:
    """It is stopped while it seats a gang, and goes on when another one has ended that."""
    leader, other = team.muster()
    trap = leader.tap.trap(8, "POST", bindings(scene))
    scene.create("high", SIZE, gpus=2)
    trap.wait()
    leader.stop()
    began = time.monotonic()
    leader.tap.clear()
    print(f"whole {scene.whole('high', SIZE) - began:.2f} s after the leader was stopped")  # noqa: T201
    scene.seated("next", 2)
    woken_at = time.monotonic()
    leader.go_on()
    wait_until(lambda: leader.says == "standing by", "it stands by", SECONDS)
    assert leader.tap.everything(since=woken_at) == []
    assert other.says == "leading"
    assert scene.seen.made("high") == SIZE
