"""The leader is killed in the middle of what it does, and the other one ends it: nothing is done twice, and nothing
that was promised is forgotten."""

import pytest

from tests.kube.gangs import HOLDS, LOW, bare_group, breaks, job_of
from tests.kube.replicas import LEASE_SECONDS, Team
from tests.kube.scene import Scene

SLOW = 12.0  # seconds beyond the lease that a busy machine may take


def took(died_at: float, whole_at: float) -> None:
    print(f"whole {whole_at - died_at:.2f} s after the leader died")  # noqa: T201
    assert whole_at - died_at < LEASE_SECONDS + SLOW


def test_in_the_middle_of_a_swap(team: Team, scene: Scene) -> None:
    """The lost pod is gone, its replacement not seated; no gang of lower priority gets the held seat."""
    seen = scene.seen
    leader, other = team.muster()
    scene.seated("high", 5)
    [spare] = set(scene.names) - set(seen.seats("high"))
    lost = seen.seats("high")[0]
    trap = leader.tap.trap(0, "POST", f"/namespaces/{scene.namespace}/pods/.*/binding$")
    breaks(scene.nodes, lost)
    trap.wait()
    died_at = leader.kill()
    assert scene.notes("high")[HOLDS].endswith(f"={spare}")
    scene.create("squatter", 1, LOW)
    whole_at = scene.whole("high", 5)
    assert spare in seen.seats("high")
    assert lost not in seen.seats("high")
    assert seen.seats("squatter") == []
    assert other.tap.writes(since=died_at)
    took(died_at, whole_at)


def test_in_the_middle_of_a_preemption_by_pausing(team: Team, scene: Scene) -> None:
    """Of three gangs that have to go one is paused, the others not yet."""
    seen, lows = scene.seen, ("low-a", "low-b", "low-c")
    leader, _ = team.muster()
    for name in lows:
        scene.seated(name, 2, LOW)
    trap = leader.tap.trap(1, "PATCH", f"/namespaces/{scene.namespace}/jobs/low-.$")
    scene.create("high", 6)
    trap.wait()
    seen.until("one is gone", lambda: sum(not seen.sitting(name) for name in lows) == 1)
    died_at = leader.kill()
    whole_at = scene.whole("high", 6)
    assert seen.seats("high") == sorted(scene.names)
    assert all(job_of(scene.api, scene.namespace, name)["spec"]["suspend"] for name in lows)
    took(died_at, whole_at)


def test_in_the_middle_of_a_preemption_by_eviction(team: Team, scene: Scene) -> None:
    """A group of pods without an owner cannot be paused: three of its pods are gone, three are not."""
    seen = scene.seen
    leader, _ = team.muster()
    for pod in bare_group("low", 6):
        scene.api.create(pod, scene.namespace)
    scene.whole("low", 6)
    trap = leader.tap.trap(3, "POST", f"/namespaces/{scene.namespace}/pods/.*/eviction$")
    scene.create("high", 6)
    trap.wait()
    seen.until("three are gone", lambda: len(seen.sitting("low")) == 3)
    died_at = leader.kill()
    scene.create("squatter", 3, LOW)
    whole_at = scene.whole("high", 6)
    assert seen.seats("high") == sorted(scene.names)
    assert not any(pod.node for pod in seen.there("squatter"))
    assert seen.there("low") == []
    took(died_at, whole_at)


def test_in_the_middle_of_binding_a_gang(team: Team, scene: Scene) -> None:
    """Of sixteen eight are seated."""
    leader, _ = team.muster()
    trap = leader.tap.trap(8, "POST", f"/namespaces/{scene.namespace}/pods/.*/binding$")
    scene.create("high", 16, gpus=2)
    trap.wait()
    scene.whole("high", 8)
    died_at = leader.kill()
    scene.create("squatter", 6, LOW, gpus=2)
    whole_at = scene.whole("high", 16)
    assert scene.seen.made("high") == 16  # none was made anew
    took(died_at, whole_at)


@pytest.mark.parametrize("k", range(8))
def test_after_any_write(k: int, team: Team, scene: Scene) -> None:
    """A repair for which others have to go, ended by another one after so many writes, has always the same end."""
    seen = scene.seen
    leader, _ = team.muster()
    scene.seated("low", 2, LOW)
    scene.seated("high", 4)
    lost, *kept = seen.seats("high")
    trap = leader.tap.trap(k, path=f"/namespaces/{scene.namespace}/")
    breaks(scene.nodes, lost)
    trap.wait()
    leader.kill()
    team.free_lease()
    seen.until("it is whole again", lambda: len(seen.sitting("high")) == 4 and lost not in seen.seats("high"))
    assert set(kept) < set(seen.seats("high"))
    seen.until("no pod is left half-way", lambda: seen.sitting("low") == [])
    assert job_of(scene.api, scene.namespace, "low")["spec"]["suspend"]
