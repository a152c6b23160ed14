"""The leader is killed in the middle of its work, and the other replica completes it: nothing is done twice, and held
seats stay held."""

import pytest

from tests.kube.serve.gangs import HOLDS, LOW, bare_group, breaks, job_of
from tests.kube.serve.replica_pair import LEASE_SECONDS, ReplicaPair
from tests.kube.serve.six_nodes import SixNodes

SLOW = 12.0  # seconds beyond the lease that a busy machine may take


def took(died_at: float, whole_at: float) -> None:
    print(f"whole {whole_at - died_at:.2f} s after the leader died")  # noqa: T201
    assert whole_at - died_at < LEASE_SECONDS + SLOW


def test_in_the_middle_of_a_swap(pair: ReplicaPair, six_nodes: SixNodes) -> None:
    """The lost pod is deleted, and its replacement is not bound yet; no gang of lower priority gets the held seat."""
    seen = six_nodes.seen
    leader, other = pair.ready_pair()
    six_nodes.seated("high", 5)
    [spare] = set(six_nodes.names) - set(seen.seats("high"))
    lost = seen.seats("high")[0]
    trap = leader.proxy.trap(0, "POST", f"/namespaces/{six_nodes.namespace}/pods/.*/binding$")
    breaks(six_nodes.nodes, lost)
    trap.wait()
    died_at = leader.kill()
    assert six_nodes.notes("high")[HOLDS].endswith(f"={spare}")
    six_nodes.create("squatter", 1, LOW)
    whole_at = six_nodes.whole("high", 5)
    assert spare in seen.seats("high")
    assert lost not in seen.seats("high")
    assert seen.seats("squatter") == []
    assert other.proxy.writes(since=died_at)
    took(died_at, whole_at)


def test_in_the_middle_of_a_preemption_by_pausing(pair: ReplicaPair, six_nodes: SixNodes) -> None:
    """One of three victims is suspended, the others not yet."""
    seen, lows = six_nodes.seen, ("low-a", "low-b", "low-c")
    leader, _ = pair.ready_pair()
    for name in lows:
        six_nodes.seated(name, 2, LOW)
    trap = leader.proxy.trap(1, "PATCH", f"/namespaces/{six_nodes.namespace}/jobs/low-.$")
    six_nodes.create("high", 6)
    trap.wait()
    seen.until("one is gone", lambda: sum(not seen.sitting(name) for name in lows) == 1)
    died_at = leader.kill()
    whole_at = six_nodes.whole("high", 6)
    assert seen.seats("high") == sorted(six_nodes.names)
    assert all(job_of(six_nodes.api, six_nodes.namespace, name)["spec"]["suspend"] for name in lows)
    took(died_at, whole_at)


def test_in_the_middle_of_a_preemption_by_eviction(pair: ReplicaPair, six_nodes: SixNodes) -> None:
    """A group of pods without an owner cannot be suspended: three of its pods are evicted, three are not."""
    seen = six_nodes.seen
    leader, _ = pair.ready_pair()
    for pod in bare_group("low", 6):
        six_nodes.api.create(pod, six_nodes.namespace)
    six_nodes.whole("low", 6)
    trap = leader.proxy.trap(3, "POST", f"/namespaces/{six_nodes.namespace}/pods/.*/eviction$")
    six_nodes.create("high", 6)
    trap.wait()
    seen.until("three are gone", lambda: len(seen.sitting("low")) == 3)
    died_at = leader.kill()
    six_nodes.create("squatter", 3, LOW)
    whole_at = six_nodes.whole("high", 6)
    assert seen.seats("high") == sorted(six_nodes.names)
    assert not any(pod.node for pod in seen.there("squatter"))
    assert seen.there("low") == []
    took(died_at, whole_at)


def test_in_the_middle_of_binding_a_gang(pair: ReplicaPair, six_nodes: SixNodes) -> None:
    """Eight of sixteen pods are bound."""
    leader, _ = pair.ready_pair()
    trap = leader.proxy.trap(8, "POST", f"/namespaces/{six_nodes.namespace}/pods/.*/binding$")
    six_nodes.create("high", 16, gpus=2)
    trap.wait()
    six_nodes.whole("high", 8)
    died_at = leader.kill()
    six_nodes.create("squatter", 6, LOW, gpus=2)
    whole_at = six_nodes.whole("high", 16)
    assert six_nodes.seen.made("high") == 16  # none was made anew
    took(died_at, whole_at)


@pytest.mark.parametrize("k", range(8))
def test_after_any_write(k: int, pair: ReplicaPair, six_nodes: SixNodes) -> None:
    """A repair with victims, completed by the other replica after any number of writes, always has the same result."""
    seen = six_nodes.seen
    leader, _ = pair.ready_pair()
    six_nodes.seated("low", 2, LOW)
    six_nodes.seated("high", 4)
    lost, *kept = seen.seats("high")
    trap = leader.proxy.trap(k, path=f"/namespaces/{six_nodes.namespace}/")
    breaks(six_nodes.nodes, lost)
    trap.wait()
    leader.kill()
    pair.free_lease()
    seen.until("it is whole again", lambda: len(seen.sitting("high")) == 4 and lost not in seen.seats("high"))
    assert set(kept) < set(seen.seats("high"))
    seen.until("no pod is left half-way", lambda: seen.sitting("low") == [])
    assert job_of(six_nodes.api, six_nodes.namespace, "low")["spec"]["suspend"]
