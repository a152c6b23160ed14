"""The leader is killed in the middle of what it does, and the other one ends it: nothing is done twice, and nothing
that was promised is forgotten."""

import pytest

from tests.kube.gangs import HOLDS, LOW, bare_group, breaks, job_of
from tests.kube.replicas import LEASE_SECONDS, Team
from tests.kube.staging import Stage

SLOW = 12.0  # seconds beyond the lease that a busy machine may take


def took(died_at: float, whole_at: float) -> None:
    print(f"whole {whole_at - died_at:.2f} s after the leader died")  # noqa: T201
    assert whole_at - died_at < LEASE_SECONDS + SLOW


def test_in_the_middle_of_a_swap(team: Team, stage: Stage) -> None:
    """The lost pod is gone, its replacement not seated; what is kept for it nobody of lower priority gets."""
    seen = stage.seen
    leader, other = team.muster()
    stage.seated("high", 5)
    [spare] = set(stage.names) - set(seen.seats("high"))
    lost = seen.seats("high")[0]
    trap = leader.tap.trap(0, "POST", f"/namespaces/{stage.namespace}/pods/.*/binding$")
    breaks(stage.nodes, lost)
    trap.wait()
    died_at = leader.kill()
    assert stage.notes("high")[HOLDS].endswith(f"={spare}")
    stage.create("squatter", 1, LOW)
    whole_at = stage.whole("high", 5)
    assert spare in seen.seats("high")
    assert lost not in seen.seats("high")
    assert seen.seats("squatter") == []
    assert other.tap.writes(since=died_at)
    took(died_at, whole_at)


def test_in_the_middle_of_a_preemption_by_pausing(team: Team, stage: Stage) -> None:
    """Of three gangs that have to go one is paused, the others not yet."""
    seen, lows = stage.seen, ("low-a", "low-b", "low-c")
    leader, _ = team.muster()
    for name in lows:
        stage.seated(name, 2, LOW)
    trap = leader.tap.trap(1, "PATCH", f"/namespaces/{stage.namespace}/jobs/low-.$")
    stage.create("high", 6)
    trap.wait()
    seen.until("one is gone", lambda: sum(not seen.sitting(name) for name in lows) == 1)
    died_at = leader.kill()
    whole_at = stage.whole("high", 6)
    assert seen.seats("high") == sorted(stage.names)
    assert all(job_of(stage.api, stage.namespace, name)["spec"]["suspend"] for name in lows)
    took(died_at, whole_at)


def test_in_the_middle_of_a_preemption_by_eviction(team: Team, stage: Stage) -> None:
    """A group that nobody owns cannot be paused: three of its pods are gone, three are not."""
    seen = stage.seen
    leader, _ = team.muster()
    for pod in bare_group("low", 6):
        stage.api.create(pod, stage.namespace)
    stage.whole("low", 6)
    trap = leader.tap.trap(3, "POST", f"/namespaces/{stage.namespace}/pods/.*/eviction$")
    stage.create("high", 6)
    trap.wait()
    seen.until("three are gone", lambda: len(seen.sitting("low")) == 3)
    died_at = leader.kill()
    stage.create("squatter", 3, LOW)
    whole_at = stage.whole("high", 6)
    assert seen.seats("high") == sorted(stage.names)
    assert not any(pod.node for pod in seen.there("squatter"))
    assert seen.there("low") == []
    took(died_at, whole_at)


def test_in_the_middle_of_binding_a_gang(team: Team, stage: Stage) -> None:
    """Of sixteen eight are seated."""
    leader, _ = team.muster()
    trap = leader.tap.trap(8, "POST", f"/namespaces/{stage.namespace}/pods/.*/binding$")
    stage.create("high", 16, gpus=2)
    trap.wait()
    stage.whole("high", 8)
    died_at = leader.kill()
    stage.create("squatter", 6, LOW, gpus=2)
    whole_at = stage.whole("high", 16)
    assert stage.seen.made("high") == 16  # none was made anew
    took(died_at, whole_at)


@pytest.mark.parametrize("k", range(8))
def test_after_any_write(k: int, team: Team, stage: Stage) -> None:
    """A repair for which others have to go, ended by another one after so many writes, has always the same end."""
    seen = stage.seen
    leader, _ = team.muster()
    stage.seated("low", 2, LOW)
    stage.seated("high", 4)
    lost, *kept = seen.seats("high")
    trap = leader.tap.trap(k, path=f"/namespaces/{stage.namespace}/")
    breaks(stage.nodes, lost)
    trap.wait()
    leader.kill()
    team.free_lease()
    seen.until("it is whole again", lambda: len(seen.sitting("high")) == 4 and lost not in seen.seats("high"))
    assert set(kept) < set(seen.seats("high"))
    seen.until("nobody is left half-way", lambda: seen.sitting("low") == [])
    assert job_of(stage.api, stage.namespace, "low")["spec"]["suspend"]
