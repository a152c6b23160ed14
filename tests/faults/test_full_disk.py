"""A disk that is full to the last byte while pods run: they and all parts go on, and all works once there is room.

What only tells, such as a log, is dropped. What must be stored is refused, and nothing that was acknowledged is lost.
"""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.eventually import eventually, eventually_async
from tests.faults.disks import Disk, small_disk
from tests.faults.live_cluster import (
    CLUSTER,
    FOR_EVER,
    NAMESPACE,
    ContainerProcess,
    LiveCluster,
    container_of,
    living,
    phase_of,
)
from tests.faults.server_process import LOOK, PATIENCE, ClusterProcesses, cluster_in, processes_of
from understudy.embedded.clusters.process_lock import AGENT, CONTROL, PARTS, SERVER, SUPERVISOR, LockHolder
from understudy.embedded.failed_nodes import load
from understudy.objects.resources import CONFIG_MAPS
from understudy.ports import Ref, Refused

FULL = 507
TALKATIVE = f"while true; do echo {'talk' * 1000}; sleep 0.02; done"
A_LOT = 800_000  # bytes: many times what a pipe holds, and at least four seconds of talking, in which leases run out
ENDS_WHEN_TOLD = "trap 'exit 3' USR1; while true; do sleep 0.02; done"
PODS = {"talks": TALKATIVE, "silent": FOR_EVER, "ends": ENDS_WHEN_TOLD}


class FullDisk:
    def __init__(self, disk: Disk, life: LiveCluster) -> None:
        self.disk = disk
        self.life = life
        self.stored: list[str] = []  # names of objects whose creation was acknowledged

    def parts(self) -> dict[str, LockHolder | None]:
        return {part: self.life.cluster.part(part) for part in (SUPERVISOR, *PARTS)}

    async def store(self) -> int:
        """Stores one more object; the code of a refusal, or 0."""
        name = f"stored-{len(self.stored)}"
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"text": "x" * 3000}}
        try:
            await self.life.client.create(Ref(CONFIG_MAPS, NAMESPACE), body)
        except Refused as refused:
            return refused.code
        self.stored.append(name)
        return 0

    async def until_full(self) -> None:
        """Some room may be left within what is there already."""
        self.disk.fill()
        codes = set[int]()
        async with asyncio.timeout(PATIENCE):
            while not codes & {FULL}:
                codes.add(await self.store())
        assert codes <= {0, FULL}

    async def until_stored_again(self) -> None:
        self.disk.free()
        async with asyncio.timeout(PATIENCE):
            while await self.store() == FULL:
                await asyncio.sleep(LOOK)

    async def all_is_there(self) -> None:
        for name in self.stored:
            await self.life.client.get(Ref(CONFIG_MAPS, NAMESPACE, name))


def play(scenario: Callable[[FullDisk], Awaitable[None]]) -> None:
    with small_disk() as disk, cluster_in(disk.path, CLUSTER) as cluster:

        async def full_disk() -> None:
            async with living(cluster) as life:
                for name, script in PODS.items():
                    await life.create(name, script)
                await life.wait_for_phase("Running", *PODS)
                try:
                    await scenario(FullDisk(disk, life))
                finally:
                    disk.free()

        asyncio.run(full_disk())


async def _until_it_has_said(life: ContainerProcess, more: int) -> None:
    """A log that cannot be written must not hold up who talks."""
    before = _said(life)
    await eventually_async(lambda: _said(life) >= before + more)


def _said(life: ContainerProcess) -> int:
    [line] = [line for line in Path(f"/proc/{life.pid}/io").read_text().splitlines() if line.startswith("wchar:")]
    return int(line.split()[1])


async def _works(life: LiveCluster, name: str) -> None:
    await life.create(name, "exit 0")
    await life.wait_for_phase("Succeeded", name)


def test_parts_and_pods_live_through_a_full_disk_and_nothing_acknowledged_is_lost() -> None:
    async def scenario(full_disk: FullDisk) -> None:
        life = full_disk.life
        lives, parts = {name: life.life(name) for name in PODS}, full_disk.parts()
        await full_disk.until_full()
        os.kill(lives["ends"].pid, signal.SIGUSR1)
        await life.wait_until_over(lives["ends"])
        await _until_it_has_said(lives["talks"], A_LOT)
        assert full_disk.parts() == parts
        assert {name for name, one in lives.items() if one.goes_on()} == {"talks", "silent"}
        await full_disk.until_stored_again()
        pods = await life.wait_for_phase("Failed", "ends")
        assert container_of(pods["ends"])["state"]["terminated"]["exitCode"] == 3
        await _works(life, "after")
        await full_disk.all_is_there()
        pods = await life.wait_for_phase("Running", "talks", "silent")
        assert [container_of(pods[name])["restartCount"] for name in ("talks", "silent")] == [0, 0]
        assert (life.life("talks"), life.life("silent")) == (lives["talks"], lives["silent"])
        assert full_disk.parts() == parts
        log = b"".join([piece async for piece in life.client.stream(f"/api/v1/namespaces/{NAMESPACE}/pods/talks/log")])
        assert b"bytes of output are missing here: No space left on device" in log

    play(scenario)


def test_parts_that_are_killed_while_the_disk_is_full_come_back_and_find_their_pods() -> None:
    async def scenario(full_disk: FullDisk) -> None:
        life = full_disk.life
        lives = [life.life(name) for name in PODS]
        await full_disk.until_full()
        for killed in ((SERVER,), (CONTROL,), (AGENT,), PARTS):
            for part, holder in life.cluster.kill(killed).items():
                await asyncio.to_thread(life.cluster.wait_for_part, part, holder)
            assert await _phases(life) == dict.fromkeys(PODS, "Running")
        assert await full_disk.store() == FULL
        assert all(one.goes_on() for one in lives)
        await full_disk.until_stored_again()
        await _works(life, "after")
        await full_disk.all_is_there()
        assert [life.life(name) for name in PODS] == lives
        assert await _phases(life) == {**dict.fromkeys(PODS, "Running"), "after": "Succeeded"}

    play(scenario)


async def _phases(life: LiveCluster) -> dict[str, str]:
    pods = await life.wait_for(lambda pods: set(pods) >= set(PODS))
    return {name: phase_of(pod) for name, pod in pods.items()}


@pytest.mark.thorough
def test_a_cluster_on_a_full_disk_can_be_taken_over_and_stopped() -> None:
    async def scenario(full_disk: FullDisk) -> None:
        life = full_disk.life
        cluster, lives = life.cluster, [life.life(name) for name in PODS]
        await full_disk.until_full()
        cluster.kill((SUPERVISOR,))
        assert "is up after" in await asyncio.to_thread(cluster.understudy, "up", "--detach")
        assert all(one.goes_on() for one in lives)
        await asyncio.to_thread(cluster.understudy, "node", "fail", "node-1", "--how", "kill")
        await asyncio.to_thread(cluster.understudy, "down", "--now")
        _nothing_is_left(cluster)
        full_disk.disk.free()
        assert "is up after" in await asyncio.to_thread(cluster.understudy, "up", "--detach")
        await _works(life, "after")
        await full_disk.all_is_there()

    play(scenario)


def _nothing_is_left(cluster: ClusterProcesses) -> None:
    eventually(lambda: not processes_of(cluster.home), lambda: f"still there: {processes_of(cluster.home)}")


def test_a_node_that_fails_while_the_disk_is_full_is_remembered_once_there_is_room() -> None:
    async def scenario(full_disk: FullDisk) -> None:
        cluster = full_disk.life.cluster
        await full_disk.until_full()
        await asyncio.to_thread(cluster.understudy, "node", "fail", "node-1", "--how", "kill")
        await full_disk.until_stored_again()
        await asyncio.to_thread(
            eventually, lambda: load(cluster.folder.path).dead == {"node-1"}, lambda: "it was forgotten"
        )

    play(scenario)
