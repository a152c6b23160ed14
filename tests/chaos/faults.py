"""Faults from outside, by a seeded schedule: parts and nodes are killed, stopped and brought back, the disk is full or
slow, the machine is busy. Each fault is written down with its beginning and its end."""

import asyncio
import contextlib
import os
import random
import signal
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

from bench.hotswap.bench_cluster import cores
from bench.hotswap.node_faults import families, kill_nodes
from tests.chaos.cluster import NAME, ChaosCluster
from tests.chaos.fault_schedule import Fault, draw_kind, draw_pause, draw_seconds
from understudy.embedded.agent_protocol import AgentRefused, FailNode, Failure, RecoverNode, ask_agent
from understudy.embedded.clusters.process_lock import AGENT, CONTROL, PARTS, SERVER, SUPERVISOR
from understudy.embedded.shim import node_pid_files

STEADY = 1.0  # seconds that the supervisor is given after `up` before the next fault strikes it
LOOK = 0.05
RECOVER_SECONDS = 60.0
REFILL = 0.02
WAIT_SECONDS = 10  # that `up` waits for all nodes: some of them may be dead, which must not keep it from coming up
_BUSY = """
import os, sys, time
end = time.monotonic() + float(sys.argv[1])
while time.monotonic() < end and os.getppid() == int(sys.argv[2]):
    sum(range(20000))
"""
_STORM = """
import contextlib, os, sys, time
end, size = time.monotonic() + float(sys.argv[1]), 1 << 20
with contextlib.suppress(OSError):
    with open(sys.argv[3], "wb", buffering=0) as file:
        while time.monotonic() < end and os.getppid() == int(sys.argv[2]):
            file.seek(0)
            for _ in range(16):
                file.write(os.urandom(size))
            os.fsync(file.fileno())
    os.unlink(sys.argv[3])
"""


class Faults:
    def __init__(self, cluster: ChaosCluster, chance: random.Random, only: Sequence[str] = ()) -> None:
        """`only` names the kinds of faults there are; none: all that can be."""
        self.log: list[Fault] = []
        self.violations: list[tuple[str, str]] = []
        self.undone: list[str] = []  # why a fault could not be carried out
        self._cluster = cluster
        self._chance = chance
        self._only = only
        self._failed: set[str] = set()  # nodes that are down by a fault of ours
        self._supervision = asyncio.Lock()  # one fault at a time takes the supervisor away
        self._disk = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()

    # The schedule

    def kinds(self) -> dict[str, Callable[[], Awaitable[None]]]:
        found: dict[str, Callable[[], Awaitable[None]]] = {
            "kill a part": self._kill_part,
            "kill all parts": self._kill_all_parts,
            "kill the supervisor": self._kill_supervisor,
            "stop a part": self._stop_part,
            "a node fails": self._fail_node,
            "several nodes fail": self._fail_nodes,
            "a node stands still": self._stall_node,
            "busy processors": self._busy,
        }
        if self._cluster.disk.can_be_slow:
            found["slow disk"] = self._slow_disk
        if self._cluster.disk.can_be_filled:
            found["full disk"] = self._full_disk
        return {kind: found[kind] for kind in self._only if kind in found} if self._only else found

    async def run(self, stop: asyncio.Event) -> None:
        kinds = self.kinds()
        while not stop.is_set():
            await asyncio.sleep(draw_pause(self._chance))
            task = asyncio.create_task(self._carried_out(kinds[draw_kind(self._chance, list(kinds))]))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            await self.check_supervisor()

    async def _carried_out(self, fault: Callable[[], Awaitable[None]]) -> None:
        try:
            await fault()
        except (
            AgentRefused,
            TimeoutError,
        ) as error:  # there is no agent; whether there ought to be one is judged elsewhere
            self.undone.append(str(error))

    async def heal(self) -> None:
        """All faults under way come to their ends; all nodes are there again, and a supervisor."""
        await asyncio.gather(*self._tasks)
        await self.check_supervisor()
        try:
            for node in self._cluster.nodes:  # all: one that stood still when an agent started is given up by it
                await self._recover((node,))
        except (AgentRefused, TimeoutError) as error:
            lines = last_words(self._cluster, AGENT)
            self.violations.append(("not_healed", f"nodes could not be brought back: {error}; {lines}"))

    async def check_supervisor(self) -> None:
        """It is there unless a fault killed it: nothing else may end it."""
        if self._supervision.locked() or self._cluster.part(SUPERVISOR) is not None:
            return
        async with self._supervision:
            if self._cluster.part(SUPERVISOR) is None:
                words = f"it was not killed, and is gone; {last_words(self._cluster, SUPERVISOR)}"
                self.violations.append(("supervisor_ended", words))
                await self._up("after the supervisor ended")

    @contextlib.asynccontextmanager
    async def _noted(self, kind: str, target: str, nodes: Sequence[str] = ()) -> AsyncIterator[Fault]:
        fault = Fault(kind, target, time.monotonic(), nodes=tuple(nodes))
        self.log.append(fault)
        try:
            yield fault
        finally:
            fault.ended = time.monotonic()

    # Parts

    async def _kill_part(self) -> None:
        part = self._chance.choice(PARTS)
        async with self._noted("kill", part):
            await self._kill((part,))

    async def _kill_all_parts(self) -> None:
        async with self._noted("kill", "server, control and agent"):
            await self._kill(PARTS)

    async def _kill(self, parts: Sequence[str]) -> None:
        """And waits until they are there again, which is the supervisor's work."""
        found = {part: self._cluster.part(part) for part in parts}
        for each in found.values():
            if each is not None:
                _send(each.pid, signal.SIGKILL)
        deadline = time.monotonic() + RECOVER_SECONDS
        while time.monotonic() < deadline:
            if all(self._cluster.part(part) not in (None, before) for part, before in found.items()):
                return
            await asyncio.sleep(LOOK)

    async def _kill_supervisor(self) -> None:
        """Alone, or with all parts; then `understudy up` brings it back, with the pods that ran on."""
        if self._supervision.locked():
            return
        async with self._supervision:
            killed = (SUPERVISOR,) if self._chance.random() < 0.6 else (SUPERVISOR, *PARTS)
            async with self._noted("kill", " and ".join(killed)):
                for part in killed:
                    if (found := self._cluster.part(part)) is not None:
                        _send(found.pid, signal.SIGKILL)
                await asyncio.sleep(draw_seconds(self._chance, "kill the supervisor"))
                await self._up("after the supervisor was killed")
                await asyncio.sleep(STEADY)

    async def _up(self, when: str) -> None:
        """It may say that it is not ready yet; a cluster that is down after it is a violation. On a full disk it may
        fail, and is not tried."""
        async with self._disk:
            await self._up_with_room(when)

    async def _up_with_room(self, when: str) -> None:
        for _ in range(3):
            code, said = await self._cluster.understudy("up", "--detach", "--name", NAME, "--wait", str(WAIT_SECONDS))
            if not code or self._cluster.part(SUPERVISOR) is not None:
                return
            self.violations.append(("up_failed", f"`up` {when} ended with {code}: {said.strip()[:1500]}"))

    async def _stop_part(self) -> None:
        part = self._chance.choice((SERVER, CONTROL, AGENT, SUPERVISOR))
        seconds = draw_seconds(self._chance, "stop a part")
        if (found := self._cluster.part(part)) is None:
            return
        async with self._noted("stop", f"{part} for {seconds:.1f} s"):
            _send(found.pid, signal.SIGSTOP)
            try:
                await asyncio.sleep(seconds)
            finally:
                _send(found.pid, signal.SIGCONT)

    # Nodes

    def _healthy(self) -> list[str]:
        return [node for node in self._cluster.nodes if node not in self._failed]

    async def _fail_node(self) -> None:
        if nodes := self._healthy():
            await self._fail((self._chance.choice(nodes),), draw_seconds(self._chance, "a node fails"))

    async def _fail_nodes(self) -> None:
        """A burst; most of them stay, or there would be nothing to repair with."""
        nodes = self._healthy()
        most = min(len(nodes) // 2, 4)
        if most >= 2:
            chosen = tuple(self._chance.sample(nodes, self._chance.randint(2, most)))
            await self._fail(chosen, draw_seconds(self._chance, "several nodes fail"))

    async def _fail(self, nodes: tuple[str, ...], seconds: float) -> None:
        how: Failure | None = self._chance.choice((None, "kill", "freeze", "unplug"))  # None: by signals from here
        self._failed |= set(nodes)
        async with self._noted(f"node {how or 'signals'}", ", ".join(nodes), nodes) as fault:
            if how is None:
                await kill_nodes(self._cluster.folder, nodes)
            else:
                await asyncio.gather(*(self._asked(FailNode(node, how)) for node in nodes))
                fault.dead, fault.began = True, time.monotonic()
            await asyncio.sleep(seconds)
            fault.healed = time.monotonic()
            await self._recover(nodes)

    async def _recover(self, nodes: tuple[str, ...]) -> None:
        await asyncio.gather(*(self._asked(RecoverNode(node)) for node in nodes))
        self._failed -= set(nodes)

    async def _asked(self, request: FailNode | RecoverNode) -> None:
        """As soon as there is an agent to ask."""
        deadline = time.monotonic() + RECOVER_SECONDS
        while True:
            try:
                await asyncio.wait_for(ask_agent(self._cluster.folder.agent_socket, request), RECOVER_SECONDS)
                return
            except (AgentRefused, TimeoutError):
                if time.monotonic() > deadline:
                    raise
                await asyncio.sleep(LOOK)

    async def _stall_node(self) -> None:
        """It and all processes of its pods are stopped and go on later by themselves, noticed or not."""
        nodes = self._healthy()
        if not nodes:
            return
        node, seconds = self._chance.choice(nodes), draw_seconds(self._chance, "a node stands still")
        found = node_pid_files.running_nodes(self._cluster.folder.nodes)
        if node not in found:
            return
        self._failed.add(node)
        async with self._noted("node stalls", f"{node} for {seconds:.1f} s", (node,)) as fault:
            pids = families([found[node].pid])
            for pid in pids:
                _send(pid, signal.SIGSTOP)
            try:
                await asyncio.sleep(seconds)
            finally:
                fault.healed = time.monotonic()
                for pid in reversed(pids):
                    _send(pid, signal.SIGCONT)
        self._failed.discard(node)

    # The machine

    async def _busy(self) -> None:
        seconds = draw_seconds(self._chance, "busy processors")
        async with self._noted("busy processors", f"for {seconds:.1f} s"):
            await asyncio.gather(*(self._python(_BUSY, seconds) for _ in range(2 * cores())))

    async def _slow_disk(self) -> None:
        seconds = draw_seconds(self._chance, "slow disk")
        async with self._noted("slow disk", f"for {seconds:.1f} s"):
            await self._python(_STORM, seconds, str(self._cluster.disk.path / "storm"))

    async def _python(self, program: str, seconds: float, *more: str) -> None:
        """It ends by itself, or with this process."""
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-I", "-S", "-c", program, str(seconds), str(os.getpid()), *more
        )
        try:
            await asyncio.wait_for(process.wait(), seconds + RECOVER_SECONDS)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()

    async def _full_disk(self) -> None:
        if self._disk.locked():
            return
        seconds = draw_seconds(self._chance, "full disk")
        async with self._disk, self._noted("full disk", f"for {seconds:.1f} s"):
            filler = self._cluster.disk.path / "filler"
            try:
                await asyncio.to_thread(_fill, str(filler))
                filling = asyncio.create_task(_keep_full(str(filler)))
                if self._chance.random() < 0.5:
                    await self._kill_on_full_disk(seconds)
                else:
                    await asyncio.sleep(seconds)
                filling.cancel()
                await asyncio.gather(filling, return_exceptions=True)
            finally:
                filler.unlink(missing_ok=True)
        await self.check_supervisor()

    async def _kill_on_full_disk(self, seconds: float) -> None:
        """Again and again: the supervisor has something to tell each time, and no room for it."""
        async with self._noted("kill", "parts on a full disk"):
            deadline = time.monotonic() + seconds
            while time.monotonic() < deadline:
                for part in PARTS:
                    if (found := self._cluster.part(part)) is not None:
                        _send(found.pid, signal.SIGKILL)
                await asyncio.sleep(0.3)


def last_words(cluster: ChaosCluster, part: str) -> str:
    """The end of its log."""
    log = cluster.folder.logs / f"{part}.log"
    return " | ".join(log.read_text(errors="replace").splitlines()[-12:]) if log.exists() else "it has no log"


async def _keep_full(path: str) -> None:
    """Also where something on it is removed meanwhile."""
    while True:
        _fill(path)
        await asyncio.sleep(REFILL)


def _fill(path: str) -> None:
    """To the last block."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        for size in (1 << 24, 1 << 16, 1 << 10):
            with contextlib.suppress(OSError):
                while True:
                    os.write(file, bytes(size))
    finally:
        os.close(file)


def _send(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
