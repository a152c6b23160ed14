"""Who leads: one replica at a time in every case, a new one soon after, and never by the clock of another machine."""

import asyncio
import random
from collections.abc import Awaitable, Callable

import pytest

from tests.kube_mode.candidates import DEADLINE, DURATION, LATEST, RETRY, Election, election
from understudy.objects.resources import LEASES
from understudy.ports import Ref, Refused, Unreachable

Scenario = Callable[[Election], Awaitable[None]]


def tell(scenario: Scenario) -> None:
    async def told() -> None:
        async with election() as world:
            await scenario(world)

    asyncio.run(told())


def test_the_first_leads_and_keeps_the_lease() -> None:
    async def scenario(world: Election) -> None:
        a = world.add_candidate("a")
        assert await world.seconds_until(a) < 1.0
        b = world.add_candidate("b")
        for _ in range(300):
            await world.clock.let_pass(1.0)
            assert (a.leads, b.leads) == (True, False)
        spec = world.lease["spec"]
        assert (spec["holderIdentity"], spec["leaseDurationSeconds"], spec["leaseTransitions"]) == ("a", 15, 0)
        assert spec["renewTime"] > spec["acquireTime"]
        assert a.lost == []

    tell(scenario)


@pytest.mark.parametrize("skew", [0.0, 86_400.0, -86_400.0])
def test_when_the_leader_dies_the_other_leads_after_the_duration_of_the_lease(skew: float) -> None:
    async def scenario(world: Election) -> None:
        a = world.add_candidate("a")
        await world.seconds_until(a)
        b = world.add_candidate("b", skew)
        await world.clock.let_pass(60.0)
        assert a.leads
        await a.kill()
        renewed = DURATION - RETRY  # it may have been renewed up to so long before
        took = await world.seconds_until(b)
        assert renewed - LATEST <= took <= DURATION + 2 * LATEST
        assert world.lease["spec"]["leaseTransitions"] == 1

    tell(scenario)


def test_who_ends_in_order_is_followed_at_once() -> None:
    async def scenario(world: Election) -> None:
        a = world.add_candidate("a")
        await world.seconds_until(a)
        b = world.add_candidate("b")
        await world.clock.let_pass(5.0)
        await a.kill()
        await a.election.give_back()
        assert not a.leads
        assert world.lease["spec"]["holderIdentity"] == ""
        assert await world.seconds_until(b) <= LATEST + 0.1

    tell(scenario)


def test_a_lease_that_another_has_is_not_given_back() -> None:
    async def scenario(world: Election) -> None:
        a = world.add_candidate("a")
        await world.seconds_until(a)
        b = world.add_candidate("b")
        await world.clock.let_pass(5.0)
        writes = len(world.cluster.writes)
        await b.election.give_back()
        assert len(world.cluster.writes) == writes
        assert a.leads

    tell(scenario)


@pytest.mark.parametrize("fault", ["hangs", "fails", "refuses"])
def test_a_leader_that_cannot_renew_has_stopped_well_before_another_begins(fault: str) -> None:
    async def scenario(world: Election) -> None:
        a = world.add_candidate("a")
        await world.seconds_until(a)
        b = world.add_candidate("b")
        await world.clock.let_pass(30.0)
        match fault:
            case "hangs":
                a.line.hangs = True
            case "fails":
                a.line.fails = Unreachable("no route")
            case "refuses":
                a.line.fails = Refused(500, "InternalError", "etcd is away")
        assert DEADLINE - LATEST <= await world.seconds_until(a, leads=False) <= DEADLINE + 0.1
        assert await world.seconds_until(b) >= DURATION - DEADLINE - 0.1
        assert a.lost == [f"the lease could not be renewed for {DEADLINE:g} s"]

    tell(scenario)


def test_a_cluster_that_is_away_for_minutes_is_led_again_when_it_is_back() -> None:
    async def scenario(world: Election) -> None:
        a, b = world.add_candidate("a"), world.add_candidate("b")
        await world.clock.let_pass(10.0)
        for each in (a, b):
            each.line.fails = Refused(503, "ServiceUnavailable", "etcd is away")
        await world.clock.let_pass(300.0)
        assert not a.leads
        assert not b.leads
        for each in (a, b):
            each.line.fails = None
        await world.clock.let_pass(LATEST)
        assert sum(each.leads for each in world.runners) == 1

    tell(scenario)


def test_who_leads_may_lose_an_answer() -> None:
    async def scenario(world: Election) -> None:
        a = world.add_candidate("a")
        await world.seconds_until(a)
        a.line.loses_answers = True
        await world.clock.let_pass(LATEST)
        a.line.loses_answers = False
        for _ in range(200):
            await world.clock.let_pass(0.1)
            assert a.leads
        assert a.lost == []

    tell(scenario)


def test_a_leader_stops_as_soon_as_it_sees_that_another_has_the_lease() -> None:
    async def scenario(world: Election) -> None:
        a = world.add_candidate("a")
        await world.seconds_until(a)
        world.lease["spec"]["holderIdentity"] = "another"
        world.cluster.change(world.lease)
        assert await world.seconds_until(a, leads=False) <= LATEST + 0.1
        assert a.lost == ["the lease was taken by another"]

    tell(scenario)


def test_a_leader_whose_lease_is_deleted_stops_and_stands_again() -> None:
    async def scenario(world: Election) -> None:
        a = world.add_candidate("a")
        await world.seconds_until(a)
        await world.cluster.delete(Ref(LEASES, "kube-system", "understudy"))
        await world.clock.let_pass(LATEST + 0.1)
        assert a.lost == ["the lease was taken away"]
        assert a.leads

    tell(scenario)


def test_what_the_holder_promised_counts() -> None:
    async def scenario(world: Election) -> None:
        spec = {"holderIdentity": "old", "leaseDurationSeconds": 40, "renewTime": "2020-01-01T00:00:00.000000Z"}
        world.cluster.put({
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": "understudy", "namespace": "kube-system"},
            "spec": spec,
        })  # fmt: skip
        a = world.add_candidate("a")
        assert 40.0 <= await world.seconds_until(a) <= 40.0 + LATEST + 0.1

    tell(scenario)


def test_of_two_that_reach_for_it_together_one_gets_it() -> None:
    async def scenario(world: Election) -> None:
        runners = [world.add_candidate(name) for name in "abcdefgh"]
        await world.clock.let_pass(LATEST)
        assert sum(each.leads for each in runners) == 1
        for _ in range(3):
            (leader,) = [each for each in runners if each.leads]
            await leader.kill()
            await leader.election.give_back()
            await world.clock.let_pass(LATEST)
            assert sum(each.leads for each in runners) == 1

    tell(scenario)


@pytest.mark.parametrize("seed", range(6))
def test_whatever_happens_to_their_lines_no_two_ever_lead(seed: int) -> None:
    async def scenario(world: Election) -> None:
        chance = random.Random(seed)
        runners = [world.add_candidate(name, chance.uniform(-1000.0, 1000.0)) for name in "abc"]
        led = 0
        for _ in range(400):
            line = chance.choice(runners).line
            line.hangs = chance.random() < 0.3
            line.fails = chance.choice([None, None, Unreachable("no route"), Refused(500, "InternalError", "no")])
            line.loses_answers = chance.random() < 0.2
            await world.clock.let_pass(chance.choice([0.1, 0.5, 2.0, 7.0]))
            leaders = sum(each.leads for each in runners)
            assert leaders <= 1
            led += leaders
        assert led > 20

    tell(scenario)
