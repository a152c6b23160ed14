"""What goes wrong while a gang is being repaired, with real processes: it ends whole, and nothing is there twice.

Beside each scenario runs the monitor of the benchmark. It reads the API and /proc and nothing else, and tells when two
processes were the same member, or held the same accelerator, or when a job was lost.
"""

import os
import signal
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import pytest

from bench.hotswap.invariant_monitor import Monitor, monitoring
from tests.cli.commands import shows
from tests.embedded.cluster_monitor import ClusterMonitor
from tests.embedded.manifests import job
from tests.embedded.real_cluster import RealCluster, Setup, play
from tests.eventually import eventually_async
from tests.faults import gangs
from tests.faults.gangs import Document, GangLedger, closed, incidents, machines, part, recover, seats, whole, writer
from tests.faults.live_cluster import ContainerProcess
from understudy.decide.policy import Policy
from understudy.embedded.agent_protocol import FailNode, ask_agent
from understudy.embedded.clusters import component
from understudy.embedded.clusters.process_lock import AGENT, CONTROL, SERVER
from understudy.kinds.annotations import FAILED_AT
from understudy.objects.resources import INCIDENTS, NODES

Scenario = Callable[[RealCluster, Monitor], Awaitable[None]]

LENIENT = Policy(lemon_failures=100, node_cooldown=0.0)
# What parts say of each other's ends, and of what was found to be over.
EXPECTED = (r"was killed by SIGKILL", r"does not answer", r"is no longer in the cluster", r"cannot (follow|be)")


def monitored(path: Path, nodes: list[Document], scenario: Scenario, policy: Policy = LENIENT) -> None:
    async def watched(cluster: RealCluster) -> None:
        async with monitoring(cluster.folder.kubeconfig) as watch:
            await scenario(cluster, watch)
            verdict = await watch.verdict()
        assert verdict.clean, verdict.described

    play(path, nodes, watched, Setup(looks=(INCIDENTS,), policy=policy, expected=EXPECTED))


async def strike(cluster: RealCluster, watch: Monitor, *nodes: str) -> None:
    """The power of these nodes is cut, and no component is told."""
    found = await gangs.lives(cluster, *nodes)
    await watch.warn(nodes)
    gangs.send(found, signal.SIGKILL)


# Parts

# Where a swap is when a part is killed, in the order in which it comes to them.
STEPS: dict[str, Callable[[ClusterMonitor, Document], bool]] = {
    "the node is known to be lost": lambda monitor, lost: gangs.is_said_lost(monitor, lost["spec"]["nodeName"]),
    "the old pod is gone": gangs.is_gone,
    "a new pod is there": lambda monitor, lost: gangs.successor(monitor, lost) is not None,
    "the new pod has a seat": lambda monitor, lost: gangs.seated_successor(monitor, lost) is not None,
}


@pytest.mark.thorough
def test_parts_are_killed_in_the_middle_of_a_swap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        component, "STEADY", 0.0
    )  # a component that was killed before is restarted without a longer pause
    book = GangLedger(tmp_path / "book")

    async def scenario(cluster: RealCluster, watch: Monitor) -> None:
        monitor = cluster.monitor
        await cluster.create(writer("train", 3, book.path))
        pods = await monitor.until("it runs", lambda: whole(monitor, "train", 3))
        for number, (step, killed) in enumerate((step, one) for step in STEPS for one in (SERVER, AGENT, CONTROL)):
            before, known = seats(pods), len(incidents(monitor, "train"))
            there = before[number % 3]
            pods = await _swap(cluster, watch, pods[number % 3], step, killed)
            assert len(set(before) & set(seats(pods))) == 2, "who sat well stays"
            await recover(cluster, there)
            if killed != CONTROL:
                await monitor.until("a record", partial(closed, monitor, "train", known + 1))
                assert [there] in [one["spec"]["nodes"] for one in incidents(monitor, "train")], (step, killed)
            else:  # it may have done all of it by then, and had no time to write down what it had done
                await monitor.until("no record is open", lambda: "open" not in gangs.outcomes(monitor, "train"))
                assert len(incidents(monitor, "train")) <= known + 1
        await _kill_agent_and_node_together(cluster, watch, pods[0])
        await monitor.until("all are told to their ends", lambda: set(gangs.outcomes(monitor, "train")) == {"swapped"})
        gangs.check_unharmed(monitor, "train")
        for index in "012":
            book.check_succession(index)

    monitored(tmp_path, machines(3, 2), scenario)


async def _swap(cluster: RealCluster, watch: Monitor, lost: Document, step: str, killed: str) -> list[Document]:
    """The members after the node of one of them has died, and a part when the swap had come to this step."""
    monitor, there = cluster.monitor, lost["spec"]["nodeName"]
    pid = await part(cluster, killed)
    await strike(cluster, watch, there)
    await monitor.until(f"{there} lost: {step}", lambda: STEPS[step](monitor, lost))
    os.kill(pid, signal.SIGKILL)
    return await monitor.until(f"{step}, {killed} killed: whole", lambda: whole(monitor, "train", 3, [there]))


async def _kill_agent_and_node_together(cluster: RealCluster, watch: Monitor, lost: Document) -> None:
    """Its death is not visible: like a machine that was rebooted, it is there when the next agent looks."""
    monitor = cluster.monitor
    pid = await part(cluster, AGENT)
    os.kill(pid, signal.SIGSTOP)
    await strike(cluster, watch, lost["spec"]["nodeName"])
    os.kill(pid, signal.SIGKILL)
    await monitor.until("a successor", lambda: gangs.successor(monitor, lost))
    await monitor.until("whole after the blow", lambda: whole(monitor, "train", 3))


# Nodes


@pytest.mark.thorough
def test_spares_that_die_while_they_step_in(tmp_path: Path) -> None:
    async def scenario(cluster: RealCluster, watch: Monitor) -> None:
        monitor = cluster.monitor
        await cluster.create(job("train", pods=2, gpus=1))
        lost, other = await monitor.until("it runs", lambda: whole(monitor, "train", 2))
        dead = []
        for _ in range(3):
            dead.append(lost["spec"]["nodeName"])
            await strike(cluster, watch, dead[-1])
            lost = await monitor.until(f"a seat after {dead}", partial(gangs.seated_successor, monitor, lost))
        after = await monitor.until("whole", lambda: whole(monitor, "train", 2, dead))
        assert after[1]["metadata"]["uid"] == other["metadata"]["uid"]
        assert {*dead, seats(after)[0]} == {"n0", "s0", "s1", "s2"}
        told = await monitor.until("the end", lambda: closed(monitor, "train", len(incidents(monitor, "train"))))
        assert sorted(name for one in told for name in one["spec"]["nodes"]) == sorted(dead), "each is told of once"
        gangs.check_unharmed(monitor, "train")

    monitored(tmp_path, machines(2, 3), scenario)


def test_nodes_come_back_and_their_old_processes_do_not(tmp_path: Path) -> None:
    """One stands still and goes on later, by itself; one was not heard of for a while, and its processes ran on."""
    book = GangLedger(tmp_path / "book")

    async def scenario(cluster: RealCluster, watch: Monitor) -> None:
        monitor = cluster.monitor
        await cluster.create(writer("train", 2, book.path))
        first, second = await monitor.until("it runs", lambda: whole(monitor, "train", 2))
        await _wrote(book, "0", "1")

        still = await gangs.lives(cluster, first["spec"]["nodeName"])
        old = gangs.of_pods(still)
        await watch.warn(seats([first]))
        gangs.send(still, signal.SIGSTOP)
        await _succeeded(cluster, first, book)
        gangs.send(still, signal.SIGCONT)
        await monitor.until("it is well again", lambda: gangs.is_well(monitor, first["spec"]["nodeName"]))

        old += gangs.of_pods(await gangs.lives(cluster, second["spec"]["nodeName"]))
        await watch.warn(seats([second]))
        await ask_agent(cluster.folder.agent_socket, FailNode(second["spec"]["nodeName"], "unplug"))
        await _succeeded(cluster, second, book)
        await recover(cluster, second["spec"]["nodeName"])

        assert len(old) >= 2
        await _ended(*old)
        for index in "01":
            book.check_succession(index)
        await cluster.create(job("next", gpus=1))
        [seated] = await monitor.until("the next runs", lambda: whole(monitor, "next", 1))
        assert seats([seated]) == seats([second]), "it is as good as before"
        await monitor.until("two records", lambda: closed(monitor, "train", 2))
        gangs.check_unharmed(monitor, "train")

    monitored(tmp_path, machines(2, 1), scenario)


async def _succeeded(cluster: RealCluster, lost: Document, book: GangLedger) -> None:
    """Until another process writes as this member, from another node."""
    index, pid = gangs.index_of(lost), book.last_of(gangs.index_of(lost))
    await cluster.monitor.until("whole", lambda: whole(cluster.monitor, "train", 2, seats([lost])))
    await eventually_async(lambda: book.last_of(index) != pid)


async def _ended(*lives: ContainerProcess) -> None:
    await eventually_async(lambda: not any(life.goes_on() for life in lives))


async def _wrote(book: GangLedger, *indexes: str) -> None:
    await eventually_async(lambda: all(book.writers(index) for index in indexes))


MOST_STRIKES = 1000


@pytest.mark.thorough
def test_a_node_that_dies_again_and_again_gets_no_more_pods(tmp_path: Path) -> None:
    async def scenario(cluster: RealCluster, watch: Monitor) -> None:
        monitor = cluster.monitor
        await cluster.create(job("train", gpus=1))
        [pod] = await monitor.until("it runs", lambda: whole(monitor, "train", 1))
        flapping = pod["spec"]["nodeName"]
        await strike(cluster, watch, flapping)
        [moved] = await monitor.until("it runs elsewhere", lambda: whole(monitor, "train", 1, [flapping]))
        await recover(cluster, flapping)
        for _ in range(MOST_STRIKES):  # those that follow each other within moments count as one
            await strike(cluster, watch, flapping)
            await monitor.until("it is known", lambda: gangs.is_said_lost(monitor, flapping))
            await recover(cluster, flapping)
            if len(gangs.failures(monitor, flapping)) >= Policy().lemon_failures:
                break
        [kept] = whole(monitor, "train", 1)
        assert kept["metadata"]["uid"] == moved["metadata"]["uid"], "it never moves again"
        await cluster.create(job("late", gpus=1))
        [words] = await monitor.until("why", lambda: monitor.told("FailedScheduling", "Pod", "late"))
        assert "lemon node: failed 3 times lately" in words
        assert any("lemon node" in line for line in await shows(cluster, "why", "late"))
        assert any("failed 3 times" in line for line in await shows(cluster, "node", "list", "-o", "wide"))
        await monitor.until("one record", lambda: closed(monitor, "train", 1))
        assert gangs.seated_nowhere(monitor, "late")
        await cluster.patch(NODES, flapping, {"metadata": {"annotations": {FAILED_AT: None}}})
        await monitor.until("it is forgiven", lambda: whole(monitor, "late", 1))

    monitored(tmp_path, machines(2, 0), scenario, Policy())


# Gangs


LACKS = "room for 1 of 2 pods"


def test_two_gangs_want_the_last_spare(tmp_path: Path) -> None:
    async def scenario(cluster: RealCluster, watch: Monitor) -> None:
        monitor = cluster.monitor
        await cluster.priorities(low=1, high=2)
        await cluster.create(job("lesser", "low", pods=2, gpus=1), job("hero", "high", pods=2, gpus=1))
        left, struck = await monitor.until("lesser runs", lambda: whole(monitor, "lesser", 2))
        _, beside = await monitor.until("hero runs", lambda: whole(monitor, "hero", 2))
        dead = seats([struck, beside])
        await strike(cluster, watch, *dead)
        heroes = await monitor.until("hero is whole", lambda: whole(monitor, "hero", 2, dead))
        assert seats(heroes)[1] in ("s0", *seats([left])), "what the lesser got before, it gave up"
        await monitor.until("lesser has no seat", lambda: gangs.seated_nowhere(monitor, "lesser"))
        await monitor.until("why", lambda: any(LACKS in words for words in monitor.told("Waiting", "Job", "lesser")))
        assert any(LACKS in line for line in await shows(cluster, "why", "lesser"))
        await recover(cluster, dead[0])
        await monitor.until("lesser is whole", lambda: whole(monitor, "lesser", 2, dead[1:]))
        [told] = await monitor.until("the record of hero", lambda: closed(monitor, "hero", 1))
        assert told["status"]["outcome"] == "swapped"
        [told] = await monitor.until("its record", lambda: closed(monitor, "lesser", 1))
        assert told["status"]["outcome"] in ("requeued", "swapped")
        gangs.check_unharmed(monitor, "hero", "lesser")

    monitored(tmp_path, machines(4, 1), scenario)


def test_eight_nodes_of_three_gangs_die_at_once(tmp_path: Path) -> None:
    names = ("one", "two", "three")

    async def scenario(cluster: RealCluster, watch: Monitor) -> None:
        monitor = cluster.monitor
        await cluster.create(*(job(name, pods=4, gpus=1) for name in names))
        struck: dict[str, list[str]] = {}
        for name, count in zip(names, (3, 3, 2), strict=True):
            pods = await monitor.until(f"{name} runs", partial(whole, monitor, name, 4))
            struck[name] = seats(pods)[:count]
        dead = [node for lost in struck.values() for node in lost]
        with gangs.held_still(await part(cluster, CONTROL)):  # it is told of all of them in one breath
            await strike(cluster, watch, *dead)
            await monitor.until("all are known", lambda: all(gangs.is_said_lost(monitor, one) for one in dead))
        for name in names:
            await monitor.until(f"{name} is whole", partial(whole, monitor, name, 4, dead))
            [told] = await monitor.until(f"a record of {name}", partial(closed, monitor, name, 1))
            assert sorted(told["spec"]["nodes"]) == sorted(struck[name])
            [words] = await monitor.until("one swap", partial(monitor.told, "HotSwapped", "Job", name))
            assert words.count(" -> ") == len(struck[name])
        gangs.check_unharmed(monitor, *names)

    monitored(tmp_path, machines(12, 8), scenario)
