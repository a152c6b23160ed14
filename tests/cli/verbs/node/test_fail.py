"""`understudy node fail` and `recover`: rehearsals on a cluster that really runs, and refusals everywhere else."""

import os
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

from tests.cli.commands import refuses, shows
from tests.cli.shell import Shell
from tests.embedded.manifests import job
from tests.embedded.real_cluster import RealCluster, node, play
from understudy.embedded.clusters import pod_processes
from understudy.embedded.shim import linux
from understudy.objects.resources import NODES

KUBECONFIG = """\
current-context: far
contexts: [{name: far, context: {cluster: far}}]
clusters: [{name: far, cluster: {server: "https://far.example:6443"}}]
"""
TWO = [node("a", gpu="4"), node("b", gpu="4")]


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """Where the cluster of the test is one of this machine's; the folder its folder goes into."""
    with mock.patch.dict(os.environ, UNDERSTUDY_HOME=str(tmp_path)):
        yield tmp_path / "clusters"


def seat(cluster: RealCluster, but: str = "") -> str:
    """Where the job runs, if it is not there."""
    up = [pod for pod in cluster.monitor.pods_of("train") if pod.get("status", {}).get("phase") == "Running"]
    nodes = [pod["spec"]["nodeName"] for pod in up]
    return nodes[0] if len(nodes) == 1 and nodes[0] != but else ""


@pytest.mark.parametrize(
    ("how", "told", "status", "why"),
    [
        ("kill", "is dead: its processes are killed", "NotReady,Lost", "not ready: AgentGone"),
        ("freeze", "hangs: its processes stand still", "Lost", "its lease has run out"),
        ("unplug", "is cut off: its processes run on", "Lost", "its lease has run out"),
        ("notready", "says that it is not ready", "NotReady,Lost", "not ready: Rehearsal"),
        ("gpu", "has a broken accelerator", "Ready,Lost", "condition GPUUnhealthy=True (Rehearsal)"),
    ],
)
def test_a_job_leaves_a_node_that_fails_and_the_node_comes_back(
    home: Path, how: str, told: str, status: str, why: str
) -> None:
    async def scenario(cluster: RealCluster) -> None:
        monitor = cluster.monitor
        body = job("train", gpus=4)
        await cluster.create({**body, "spec": {**body["spec"], "backoffLimit": 3}})
        first = await monitor.until("it runs", lambda: seat(cluster))
        [process] = [state.pid for state in pod_processes.running_containers(cluster.folder)]
        [line] = await shows(cluster, "node", "fail", first, "--how", how)
        assert line.startswith(f"node/{first} {told}")
        second = await monitor.until("it runs elsewhere", lambda: seat(cluster, but=first))
        [listed] = [line for line in await shows(cluster, "node", "list", "-o", "wide") if line.startswith(first)]
        assert status in listed.split()[1]
        assert why in listed or "NodeStatusUnknown" in listed
        assert linux.start_ticks(process) is None, "nothing runs beside what took its place"
        assert await shows(cluster, "node", "recover", first) == [f"node/{first} is ready"]
        [listed] = [line for line in await shows(cluster, "node", "list") if line.startswith(first)]
        assert listed.split()[1] == "Ready"
        await shows(cluster, "node", "cordon", second)
        await cluster.create(job("again", gpus=4))
        await monitor.until(
            "it takes seats", lambda: {p["spec"].get("nodeName") for p in monitor.pods_of("again")} == {first}
        )

    play(home, TWO, scenario)


def test_a_node_that_vanishes_stays_away_until_it_recovers(home: Path) -> None:
    async def scenario(cluster: RealCluster) -> None:
        monitor = cluster.monitor
        body = job("train", gpus=4)
        await cluster.create({**body, "spec": {**body["spec"], "backoffLimit": 3}})
        first = await monitor.until("it runs", lambda: seat(cluster))
        [line] = await shows(cluster, "node", "fail", first, "--how", "vanish")
        assert line == f"node/{first} has vanished: its processes are killed, and its Node is deleted"
        await monitor.until("it runs elsewhere", lambda: seat(cluster, but=first))
        assert monitor.find(NODES, first) is None
        assert await shows(cluster, "node", "recover", first) == [f"node/{first} is ready"]

    play(home, TWO, scenario)


def test_a_healthy_node_recovers_at_once_and_unknown_ones_not_at_all(home: Path) -> None:
    async def scenario(cluster: RealCluster) -> None:
        assert await shows(cluster, "node", "recover", "a") == ["node/a is ready"]
        assert "no node 'c'" in await refuses(cluster, "node", "fail", "a", "c")
        assert (await shows(cluster, "node", "list"))[1].split()[1] == "Ready", "the one before it did not fail either"

    play(home, TWO, scenario)


@pytest.mark.parametrize("verb", ["fail", "recover"])
def test_nodes_of_other_clusters_are_left_alone(shell: Shell, verb: str) -> None:
    (shell.folder / "far").write_text(KUBECONFIG)
    said = shell.refuses("node", verb, "node-1", "--kubeconfig", "far")
    assert said.startswith("understudy: https://far.example:6443 is no embedded cluster of this machine")
