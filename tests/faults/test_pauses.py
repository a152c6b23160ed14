"""Parts stand still, or are killed, while a node is dead: it stays dead, whatever the others missed meanwhile.

Real processes. A node hangs, is given up, and a job waits for what it had: it would be seated there in the moment in
which anything took the node for alive.
"""

import asyncio
import os
import signal
import time
from pathlib import Path

import pytest

from tests.embedded.manifests import job
from tests.embedded.real_cluster import RealCluster, Setup, play
from tests.faults import gangs
from tests.faults.gangs import Document, machines, part, whole
from understudy.decide.policy import Policy
from understudy.embedded.clusters import component
from understudy.embedded.clusters.process_lock import AGENT, CONTROL, SERVER
from understudy.objects.resources import LEASES, NODES, PODS

PAUSE = 5.0  # seconds; a lease lasts four
RENEWALS = 4  # of a living node after each blow: by then whatever was taken for alive would have been seen
EXPECTED = (r"was killed by SIGKILL", r"does not answer", r"cannot (follow|be)", r"lease of node")


def renew_time(cluster: RealCluster, name: str) -> str:
    lease = cluster.monitor.find(LEASES, name, "kube-node-lease")
    return "" if lease is None else lease["spec"]["renewTime"]


async def look_on(cluster: RealCluster, dead: str, alive: str, what: str) -> None:
    """While a living node renews its lease so often, nothing is seen that only a living node does."""
    seen: list[str] = []
    for _ in range(RENEWALS):
        before = renew_time(cluster, alive)

        def is_renewed(before: str = before) -> bool:
            seen.extend(signs_of_life(cluster, dead))
            return renew_time(cluster, alive) != before

        await cluster.monitor.until(f"{alive} is renewed", is_renewed)
    assert not seen, f"{what}: {seen[:3]}"


async def stand_still(pids: list[int]) -> None:
    """The pause itself is what is tested: nothing happens in it that could be waited for."""
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        await asyncio.sleep(PAUSE)
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def signs_of_life(cluster: RealCluster, name: str) -> list[str]:
    """What must not be seen of a dead node."""
    node: Document = cluster.monitor.find(NODES, name) or {}
    ready = [one["status"] for one in node.get("status", {}).get("conditions", ()) if one["type"] == "Ready"]
    found = [f"{time.time():.2f}: {name} is ready"] if ready == ["True"] else []
    seats = [pod for pod in cluster.monitor.all(PODS) if pod["spec"].get("nodeName") == name]
    return found + [f"{time.time():.2f}: {pod['metadata']['name']} sits on {name}" for pod in seats]


@pytest.mark.thorough
def test_a_dead_node_stays_dead_through_pauses_and_restarts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(component, "STEADY", 0.0)

    async def scenario(cluster: RealCluster) -> None:
        monitor = cluster.monitor
        await cluster.create(job("train", pods=2, gpus=1))
        lost, other = await monitor.until("it runs", lambda: whole(monitor, "train", 2))
        dead, alive = lost["spec"]["nodeName"], other["spec"]["nodeName"]
        still = await gangs.lives(cluster, dead)
        gangs.send(still, signal.SIGSTOP)
        await monitor.until("it is marked", lambda: _is_marked(cluster, dead))
        await monitor.until("it is left", lambda: not signs_of_life(cluster, dead))
        try:
            for paused in ((CONTROL,), (SERVER,), (AGENT,), (SERVER, CONTROL, AGENT)):
                await stand_still([await part(cluster, name) for name in paused])
                await look_on(cluster, dead, alive, f"after a pause of {paused}")
            for killed in (CONTROL, SERVER, AGENT):
                os.kill(await part(cluster, killed), signal.SIGKILL)
                await look_on(cluster, dead, alive, f"after the death of {killed}")
        finally:
            gangs.send(still, signal.SIGCONT)

    play(tmp_path, machines(2, 0), scenario, Setup(policy=Policy(node_cooldown=0.0), expected=EXPECTED))


def _is_marked(cluster: RealCluster, name: str) -> bool:
    node: Document = cluster.monitor.find(NODES, name) or {}
    return any(taint["key"] == "node.kubernetes.io/unreachable" for taint in node.get("spec", {}).get("taints", ()))
