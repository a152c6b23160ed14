"""Nodes that fall silent, and come back."""

from tests.embedded.controllers.controller_runner import ControllerParts, run_scenario, running_controllers
from tests.embedded.controllers.fake_cluster import BEGIN, FakeCluster, moment, quiet
from tests.objects.documents import lease, node
from understudy.control.view.node_health import DEFAULT_LIMITS
from understudy.embedded.controllers.node_lifecycle import UNREACHABLE, NodeLifecycleController
from understudy.embedded.controllers.runtime.controller import Controller
from understudy.objects.resources import EVENTS, LEASES, NODES

DURATION = 4
READY = [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]


def node_life(parts: ControllerParts) -> Controller:
    return NodeLifecycleController(parts.cluster, parts.clock, parts.recorder, DEFAULT_LIMITS)


def renew(api: FakeCluster, *names: str) -> None:
    for name in names:
        api.put(LEASES, lease(name, moment(api.clock.now()), DURATION))


def give(api: FakeCluster, *names: str) -> None:
    for name in names:
        api.put(NODES, node(name, conditions=READY, taints=[{"key": "mine", "effect": "NoSchedule"}]))
    renew(api, *names)


async def live(api: FakeCluster, seconds: int, *names: str) -> None:
    """Time passes in which these nodes renew their leases."""
    for _ in range(seconds):
        await api.clock.advance(1)
        renew(api, *names)
    await quiet()


def ready(api: FakeCluster, name: str) -> str:
    status: str = api.read(NODES, name)["status"]["conditions"][0]["status"]
    return status


def taints(api: FakeCluster, name: str) -> list[str]:
    return [taint["key"] for taint in api.read(NODES, name)["spec"]["taints"]]


def test_a_node_whose_lease_runs_out_is_unreachable_until_it_is_heard_of_again() -> None:
    async def scenario(api: FakeCluster) -> None:
        async with running_controllers(api, node_life):
            give(api, "a", "b")
            await live(api, 3, "b")
            assert ready(api, "a") == "True"
            await live(api, 4, "b")
            assert (ready(api, "a"), taints(api, "a")) == ("Unknown", ["mine", UNREACHABLE, UNREACHABLE])
            assert (ready(api, "b"), taints(api, "b")) == ("True", ["mine"])
            await live(api, 2, "a", "b")
            assert (ready(api, "a"), taints(api, "a")) == ("True", ["mine"])
            await api.clock.advance(2)
            assert {(e["reason"], e["involvedObject"]["name"]) for e in api.all(EVENTS)} == {
                ("NodeNotReady", "a"),
                ("NodeReady", "a"),
            }

    run_scenario(scenario)


def test_when_all_leases_stop_at_once_no_node_is_lost() -> None:
    async def scenario(api: FakeCluster) -> None:
        async with running_controllers(api, node_life):
            give(api, "a", "b")
            await live(api, 2, "a", "b")
            await api.clock.advance(60)
            assert (ready(api, "a"), ready(api, "b")) == ("True", "True")

    run_scenario(scenario)


def test_a_node_that_says_itself_that_it_is_not_ready_is_left_alone() -> None:
    async def scenario(api: FakeCluster) -> None:
        async with running_controllers(api, node_life):
            give(api, "a")
            api.change(NODES, "a", {"status": {"conditions": [{"type": "Ready", "status": "False", "reason": "Sick"}]}})
            await live(api, 5, "a")
            assert ready(api, "a") == "False"

    run_scenario(scenario)


def test_a_node_without_a_lease_is_not_judged() -> None:
    async def scenario(api: FakeCluster) -> None:
        async with running_controllers(api, node_life):
            api.put(NODES, node("bare", conditions=READY))
            give(api, "a")
            await live(api, 10, "a")
            assert ready(api, "bare") == "True"

    run_scenario(scenario)


def test_a_renewal_costs_no_write() -> None:
    async def scenario(api: FakeCluster) -> None:
        async with running_controllers(api, node_life):
            give(api, "a")
            await live(api, 20, "a")
            assert api.requests == []
            assert api.clock.now() >= BEGIN + 20

    run_scenario(scenario)


def test_after_a_pause_of_all_a_node_that_was_given_up_stays_so_until_its_lease_is_renewed() -> None:
    async def scenario(api: FakeCluster) -> None:
        async with running_controllers(api, node_life):
            give(api, "a", "b")
            await live(api, 7, "b")
            assert ready(api, "a") == "Unknown"
            api.requests.clear()
            await api.clock.advance(60)
            await live(api, 10, "b")
            assert (ready(api, "a"), taints(api, "a")) == ("Unknown", ["mine", UNREACHABLE, UNREACHABLE])
            assert api.requests == []
            await live(api, 1, "a", "b")
            assert (ready(api, "a"), taints(api, "a")) == ("True", ["mine"])

    run_scenario(scenario)


def test_who_comes_later_does_not_take_a_marked_node_for_alive() -> None:
    """The mark is all that is left of who found out, and the lease is met for the first time."""

    async def scenario(api: FakeCluster) -> None:
        give(api, "a", "b")
        async with running_controllers(api, node_life):
            await live(api, 7, "b")
            assert ready(api, "a") == "Unknown"
        await api.clock.advance(3600)
        api.requests.clear()
        async with running_controllers(api, node_life):
            await live(api, 10, "b")
            assert (ready(api, "a"), taints(api, "a")) == ("Unknown", ["mine", UNREACHABLE, UNREACHABLE])
            assert ready(api, "b") == "True"
            assert api.requests == []

    run_scenario(scenario)


def test_a_node_that_came_back_while_this_process_was_away_is_seen_to_be_back() -> None:
    async def scenario(api: FakeCluster) -> None:
        give(api, "a", "b")
        async with running_controllers(api, node_life):
            await live(api, 7, "b")
            assert ready(api, "a") == "Unknown"
        await live(api, 10, "a", "b")
        async with running_controllers(api, node_life):
            await quiet()
            assert (ready(api, "a"), taints(api, "a")) == ("True", ["mine"])

    run_scenario(scenario)


def test_a_restart_after_a_pause_of_all_gives_no_living_node_up() -> None:
    async def scenario(api: FakeCluster) -> None:
        give(api, "a", "b")
        await api.clock.advance(3600)
        async with running_controllers(api, node_life):
            await api.clock.advance(60)
            renew(api, "b")
            await live(api, 1, "a", "b")
            assert (ready(api, "a"), ready(api, "b")) == ("True", "True")
            assert api.requests == []

    run_scenario(scenario)


def test_a_node_that_died_while_this_process_was_away_is_marked_when_it_was_silent_long_enough() -> None:
    async def scenario(api: FakeCluster) -> None:
        give(api, "a", "b")
        await live(api, 60, "b")
        async with running_controllers(api, node_life):
            await live(api, 3, "b")
            assert ready(api, "a") == "True"
            await live(api, 3, "b")
            assert ready(api, "a") == "Unknown"

    run_scenario(scenario)


def test_a_clock_that_is_set_back_brings_no_node_back() -> None:
    async def scenario(api: FakeCluster) -> None:
        async with running_controllers(api, node_life):
            give(api, "a", "b")
            await live(api, 7, "b")
            assert ready(api, "a") == "Unknown"
            await api.clock.advance(1)
            api.requests.clear()
            api.clock.jump(-3600)
            await live(api, 10, "b")
            assert (ready(api, "a"), api.requests) == ("Unknown", [])
            await live(api, 1, "a", "b")
            assert ready(api, "a") == "True"

    run_scenario(scenario)
