"""Fake workers behind a real agent socket: commands in them are processes of this machine."""

import asyncio
import contextlib
import os
import subprocess
import threading
from collections.abc import AsyncIterator
from pathlib import Path

from understudy.embedded.agent.agent_socket import AgentSocket
from understudy.embedded.agent.pods.pod_containers import NotRunning
from understudy.embedded.agent.processes.fork_server_connection import ExecProcess, ExecResult
from understudy.embedded.agent_protocol import GOING, MARK, ExecRequest, UsageReport
from understudy.embedded.mpi.worker_exec import WorkerExec


class Workers:
    """By name. A worker that is not `up` cannot be entered yet; one that is `going` no longer."""

    def __init__(self, *names: str) -> None:
        self.up = set(names)
        self.going: set[str] = set()
        self.asked: list[str] = []
        self.processes: dict[str, list[tuple[subprocess.Popen[bytes], ExecProcess]]] = {}

    def enter(self, request: ExecRequest, streams: tuple[int, int, int]) -> ExecProcess:
        name = request.neighbour
        self.asked.append(name)
        if name in self.going:
            raise LookupError(f'pod "{name}" {GOING}')
        if name not in self.up:
            raise NotRunning(f"{name} is not running")
        variables = {**os.environ, "WORKER": name, MARK: f"{name}/main/0"}
        process = subprocess.Popen(
            request.command, stdin=streams[0], stdout=streams[1], stderr=streams[2], env=variables
        )
        for file in streams:
            os.close(file)
        beside = ExecProcess()
        loop = asyncio.get_running_loop()

        def wait() -> None:
            code = process.wait()
            with contextlib.suppress(RuntimeError):  # the test is over
                loop.call_soon_threadsafe(beside.left, ExecResult(128 - code if code < 0 else code))

        threading.Thread(target=wait, daemon=True).start()
        self.processes.setdefault(name, []).append((process, beside))
        return beside

    def lose(self, name: str) -> None:
        """Kills a worker with all its processes."""
        for process, _ in self.processes[name]:
            for pid in _children(process.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, 9)
            process.kill()

    async def fail_node(self, name: str, how: str) -> None:
        raise LookupError(name, how)

    async def recover_node(self, name: str) -> None:
        raise LookupError(name)

    async def usage(self) -> UsageReport:
        return UsageReport(0.0, [])

    @contextlib.asynccontextmanager
    async def at(self, folder: Path, patience: float = 10.0) -> AsyncIterator[WorkerExec]:
        agent_socket = AgentSocket(folder / "agent.sock", self)
        await agent_socket.open()
        try:
            yield WorkerExec(folder / "agent.sock", "launcher-uid", patience)
        finally:
            await agent_socket.close()
            for process, _ in (each for found in self.processes.values() for each in found):
                process.kill()
                await asyncio.to_thread(process.wait)


def _children(pid: int) -> list[int]:
    with contextlib.suppress(OSError):
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []
