"""A cluster that is slow, faulty, unreachable or silent: work that was begun is completed afterwards, nothing is done
twice, and nothing is done with a view that is too old."""

import threading
import time

import pytest

from tests.client.faulty_proxy import BlackHole, Delay, Fault, LoseAnswer, Say
from tests.kube.cluster.processes import wait_until
from tests.kube.serve.recording_proxy import SECONDS
from tests.kube.serve.replica_pair import LEASE_SECONDS, VIEW_SECONDS, ReplicaPair
from tests.kube.serve.six_nodes import SixNodes

SIZE = 16
WATCH = "watch=true"
JSON = "application/json"
EXPIRED = b'{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410,"message":"too old"}'
EXPIRED_EVENT = b'{"type":"ERROR","object":' + EXPIRED + b"}\n"
QUIET = 2.0  # seconds; nothing can be awaited where nothing is to happen
ENOUGH, TOO_MANY = 12, 40  # jobs, one every quarter of a second


def bindings(six_nodes: SixNodes, pod: str = "") -> str:
    return f"{six_nodes.namespace}/pods/{pod}.*/binding$"


# A bind that fails half-way through a gang


@pytest.mark.parametrize(
    ("fault", "times"),
    [(Say(500), 1), (Say(500), 7), (Say(409), 1), (Say(403), 3)],
    ids=["500", "500 for longer than it is asked again", "conflict", "forbidden"],
)
def test_a_gang_is_whole_although_one_bind_was_refused(
    fault: Fault, times: int, pair: ReplicaPair, six_nodes: SixNodes
) -> None:
    leader, _ = pair.ready_pair()
    rule = leader.proxy.rule(fault, "POST", bindings(six_nodes, "high-8-"), times)
    six_nodes.create("high", SIZE, gpus=2)
    six_nodes.whole("high", SIZE)
    assert rule.struck == times
    assert six_nodes.seen.made("high") == SIZE


@pytest.mark.parametrize("fault", [Delay(1.5), LoseAnswer()], ids=["late", "lost"])
def test_a_gang_is_whole_although_no_bind_was_answered_in_time(
    fault: Fault, pair: ReplicaPair, six_nodes: SixNodes
) -> None:
    leader, _ = pair.ready_pair()
    rule = leader.proxy.rule(fault, "POST", bindings(six_nodes), SIZE)
    six_nodes.create("high", SIZE, gpus=2)
    six_nodes.whole("high", SIZE)
    assert rule.struck == SIZE
    assert six_nodes.seen.made("high") == SIZE


def test_a_pod_goes_while_its_gang_is_seated(pair: ReplicaPair, six_nodes: SixNodes) -> None:
    leader, _ = pair.ready_pair()
    trap = leader.proxy.trap(8, "POST", bindings(six_nodes))
    six_nodes.create("high", SIZE, gpus=2)
    trap.wait()
    six_nodes.whole("high", 8)
    unseated = next(pod for pod in six_nodes.seen.there("high") if not pod.node)
    path = f"/api/v1/namespaces/{six_nodes.namespace}/pods/{unseated.name}"
    six_nodes.api.patch(path, {"metadata": {"finalizers": None}})  # or its Job would make another only after a while
    six_nodes.api.delete(path, grace=0)
    leader.proxy.clear()
    six_nodes.whole("high", SIZE)
    assert six_nodes.seen.made("high") == SIZE + 1


def test_a_node_goes_while_a_gang_is_seated(pair: ReplicaPair, six_nodes: SixNodes) -> None:
    leader, _ = pair.ready_pair()
    trap = leader.proxy.trap(8, "POST", bindings(six_nodes))
    six_nodes.create("high", SIZE, gpus=2)
    trap.wait()
    six_nodes.whole("high", 8)
    lost = six_nodes.seen.seats("high")[0]
    six_nodes.api.delete(f"/api/v1/nodes/{lost}")
    leader.proxy.clear()
    six_nodes.seen.until("no pod sits there any more", lambda: lost not in six_nodes.seen.seats("high"))
    six_nodes.whole("high", SIZE)
    assert lost not in six_nodes.seen.seats("high")


# A cluster in trouble


def test_a_cluster_that_answers_500_for_longer_than_the_lease(pair: ReplicaPair, six_nodes: SixNodes) -> None:
    both = pair.ready_pair()
    six_nodes.seated("before", 4)
    for replica in both:
        replica.proxy.rule(Say(500))
        replica.proxy.cut()
    six_nodes.create("high", SIZE, gpus=1)
    wait_until(lambda: "standing by again" in both[0].log, "the lead is lost", SECONDS)
    time.sleep(LEASE_SECONDS)
    for replica in both:
        replica.proxy.clear()
    healed_at = time.monotonic()
    print(f"whole {six_nodes.whole('high', SIZE) - healed_at:.2f} s after the cluster was well again")  # noqa: T201
    assert all(replica.alive for replica in both)
    assert (six_nodes.seen.made("high"), six_nodes.seen.made("before")) == (SIZE, 4)


def test_a_cluster_that_asks_to_be_left_alone(pair: ReplicaPair, six_nodes: SixNodes) -> None:
    leader, _ = pair.ready_pair()
    rule = leader.proxy.rule(Say(429, retry_after=1), "POST", bindings(six_nodes), SIZE + 4)
    six_nodes.create("high", SIZE, gpus=2)
    six_nodes.whole("high", SIZE)
    assert rule.struck == SIZE + 4
    assert six_nodes.seen.made("high") == SIZE


def test_a_cluster_that_is_slow(pair: ReplicaPair, six_nodes: SixNodes) -> None:
    """A delay of half the limit of writes, and more than half the limit of lease requests."""
    leader, _ = pair.ready_pair()
    leader.proxy.rule(Delay(0.5))
    six_nodes.create("high", SIZE, gpus=2)
    six_nodes.whole("high", SIZE)
    assert six_nodes.seen.made("high") == SIZE


def test_connections_that_are_cut_again_and_again(pair: ReplicaPair, six_nodes: SixNodes) -> None:
    leader, _ = pair.ready_pair()
    done = threading.Event()

    def cut() -> None:
        while not done.wait(0.15):
            leader.proxy.cut()

    cutting = threading.Thread(target=cut)
    cutting.start()
    try:
        six_nodes.create("high", SIZE, gpus=2)
        six_nodes.whole("high", SIZE)
    finally:
        done.set()
        cutting.join()
    assert six_nodes.seen.made("high") == SIZE


def test_watches_that_have_lost_their_place(pair: ReplicaPair, six_nodes: SixNodes) -> None:
    """After compaction the objects are listed again, and none is taken for deleted."""
    leader, _ = pair.ready_pair()
    six_nodes.seated("before", 4)
    said = leader.proxy.rule(Say(200, body=EXPIRED_EVENT, content_type=JSON), "GET", f"/pods.*{WATCH}", 1)
    refused = leader.proxy.rule(Say(410, body=EXPIRED, content_type=JSON), "GET", WATCH, 8)
    began = time.monotonic()
    leader.proxy.cut()
    six_nodes.create("high", SIZE, gpus=1)
    six_nodes.whole("high", SIZE)
    assert (said.struck, refused.struck) == (1, 8)
    assert not [asked for asked in leader.proxy.writes(since=began) if asked.method == "DELETE"]
    assert (six_nodes.seen.made("high"), six_nodes.seen.made("before")) == (SIZE, 4)


def test_pods_that_are_seen_before_their_job_wait_for_it(pair: ReplicaPair, six_nodes: SixNodes) -> None:
    """The watch of jobs is late: the size of the gang is unknown, so the first pods are not taken for all."""
    leader, _ = pair.ready_pair()
    leader.proxy.freeze(f"/batch/v1/jobs.*{WATCH}")
    six_nodes.create("high", SIZE, gpus=2)
    six_nodes.seen.until("its pods are there", lambda: len(six_nodes.seen.there("high")) == SIZE)
    time.sleep(QUIET)
    assert [asked for asked in leader.proxy.writes(six_nodes.namespace) if asked.path.endswith("/binding")] == []
    leader.proxy.thaw()
    six_nodes.whole("high", SIZE)
    assert len(leader.proxy.writes(bindings(six_nodes))) == SIZE


def test_nothing_is_written_on_an_old_view(pair: ReplicaPair, six_nodes: SixNodes) -> None:
    """The watch of nodes hangs without an error; everything else works."""
    leader, other = pair.ready_pair()
    began = time.monotonic()
    leader.proxy.freeze(f"/nodes.*{WATCH}")
    leader.proxy.rule(BlackHole(), "GET", f"/nodes.*{WATCH}")
    wait_until(lambda: leader.says.startswith("the view is"), "it knows that it does not know", SECONDS)
    blind_at = time.monotonic()
    six_nodes.create("high", SIZE, gpus=2)
    six_nodes.seen.until("its pods are there", lambda: len(six_nodes.seen.there("high")) == SIZE)
    time.sleep(QUIET)
    assert leader.proxy.everything(since=blind_at, but="/leases/") == []
    assert other.proxy.writes(since=began) == []
    leader.proxy.clear()
    healed_at = time.monotonic()
    print(f"blind {blind_at - began:.2f} s after the last word, of {VIEW_SECONDS:g}")  # noqa: T201
    print(f"whole {six_nodes.whole('high', SIZE) - healed_at:.2f} s after the watch was well again")  # noqa: T201


# Who leads no longer


def test_a_leader_without_its_lease_stops_before_another_one_begins(pair: ReplicaPair, six_nodes: SixNodes) -> None:
    """The leader cannot reach the lease, but everything else: it must stop writing by itself."""
    leader, other = pair.ready_pair()
    began, names = time.monotonic(), list[str]()
    leader.proxy.rule(BlackHole(), path="/leases/understudy$")
    leader.proxy.cut()
    while len(names) < ENOUGH or (len(names) < TOO_MANY and not other.proxy.writes(six_nodes.namespace)):
        names.append(f"single-{len(names)}")
        six_nodes.create(names[-1], 1, gpus=1)
        time.sleep(0.25)
    six_nodes.seen.until("all sit", lambda: all(map(six_nodes.seen.sitting, names)))
    last, first = (
        leader.proxy.writes(six_nodes.namespace, began)[-1].at,
        other.proxy.writes(six_nodes.namespace, began)[0].at,
    )
    print(f"{first - last:.2f} s between the last write of one and the first of the other")  # noqa: T201
    assert last < first
    assert sum(map(six_nodes.seen.made, names)) == len(names)


def test_a_leader_that_is_cut_off_loses_the_lead(pair: ReplicaPair, six_nodes: SixNodes) -> None:
    leader, other = pair.ready_pair()
    began = time.monotonic()
    leader.proxy.freeze()
    leader.proxy.rule(BlackHole())
    six_nodes.create("high", SIZE, gpus=2)
    print(f"whole {six_nodes.whole('high', SIZE) - began:.2f} s after the leader was cut off")  # noqa: T201
    assert leader.proxy.writes(six_nodes.namespace, began) == []
    leader.proxy.clear()
    leader.proxy.cut()  # no process remembers what was asked before
    wait_until(lambda: leader.says == "standing by", "it stands by", SECONDS)
    assert other.says == "leading"
    assert six_nodes.seen.made("high") == SIZE


def test_a_leader_that_was_stopped_writes_nothing_when_it_goes_on(pair: ReplicaPair, six_nodes: SixNodes) -> None:
    """The leader is stopped while it binds a gang, and continues after the other replica has completed that."""
    leader, other = pair.ready_pair()
    trap = leader.proxy.trap(8, "POST", bindings(six_nodes))
    six_nodes.create("high", SIZE, gpus=2)
    trap.wait()
    leader.stop()
    began = time.monotonic()
    leader.proxy.clear()
    print(f"whole {six_nodes.whole('high', SIZE) - began:.2f} s after the leader was stopped")  # noqa: T201
    six_nodes.seated("next", 2)
    woken_at = time.monotonic()
    leader.go_on()
    wait_until(lambda: leader.says == "standing by", "it stands by", SECONDS)
    assert leader.proxy.everything(since=woken_at) == []
    assert other.says == "leading"
    assert six_nodes.seen.made("high") == SIZE
