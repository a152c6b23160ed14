"""Runs the ranks of one mpirun: one rank supervisor on each host; all ranks are ended when the first fails."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import msgspec

from understudy.embedded.agent_protocol import STDERR, AgentRefused, ExecSession
from understudy.embedded.mpi import rank_supervisor
from understudy.embedded.mpi.hosts import Rank
from understudy.embedded.mpi.options import Options
from understudy.embedded.mpi.worker_exec import WorkerExec, WorkerLeaving, WorkerUnreachable, is_local
from understudy.objects.mpi import LOST_WORKER

SUPERVISOR = (sys.executable, "-I", rank_supervisor.__file__)
NOT_STARTED, TIMED_OUT = 1, 124
_KILLED = 128 + signal.SIGKILL
_PATIENCE = 10.0  # seconds between SIGTERM and SIGKILL for the other ranks


class RankSupervision(Protocol):
    """A running rank supervisor."""

    async def end(self) -> int:
        """Copies the output of its ranks, and returns its exit code."""
        ...

    async def tell(self, line: str) -> None:
        """Sends the start order first, later names of signals."""
        ...

    async def close(self) -> None: ...


class RemoteSupervision:
    """In another pod. A supervisor that is killed or disconnected was lost with its worker."""

    def __init__(self, session: ExecSession) -> None:
        self._session = session

    async def end(self) -> int:
        try:
            async for channel, data in self._session:
                _write(2 if channel == STDERR else 1, data)
        except AgentRefused:
            return LOST_WORKER
        return LOST_WORKER if self._session.exit_code == _KILLED else self._session.exit_code or 0

    async def tell(self, line: str) -> None:
        with contextlib.suppress(AgentRefused):
            await self._session.send(f"{line}\n".encode())

    async def close(self) -> None:
        await self._session.close()


class LocalSupervision:
    """In this pod, as a child process."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def end(self) -> int:
        code = await self._process.wait()
        return 128 - code if code < 0 else code

    async def tell(self, line: str) -> None:
        if self._process.stdin is not None and self._process.returncode is None:
            self._process.stdin.write(f"{line}\n".encode())

    async def close(self) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()
        await self._process.wait()


def _write(file: int, data: bytes) -> None:
    view = memoryview(data)
    with contextlib.suppress(BrokenPipeError):
        while view:
            view = view[os.write(file, view) :]


class MpiRun:
    """`run` starts all ranks, waits for them, and returns the exit code."""

    def __init__(self, options: Options, worker_exec: WorkerExec, variables: Mapping[str, str]) -> None:
        self._options = options
        self._worker_exec = worker_exec
        self._variables = variables
        self._supervisions: dict[str, RankSupervision] = {}
        self._started = False  # all supervisors have their start order
        self._signalled: signal.Signals | None = None  # the signal that this program has received
        self._background: set[asyncio.Task[None]] = set()

    async def run(self, ranks: Sequence[Rank]) -> int:
        work = asyncio.create_task(self._all(ranks))
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self._forward, signal.Signals(number), work)
        try:
            async with asyncio.timeout(self._options.timeout):
                return await work
        except TimeoutError:
            _print_error(f"the time of --timeout {self._options.timeout} is over")
            return TIMED_OUT
        except WorkerUnreachable as problem:
            _print_error(str(problem))
            return LOST_WORKER if isinstance(problem, WorkerLeaving) else NOT_STARTED
        except asyncio.CancelledError:
            if self._signalled is None:
                raise
            return 128 + self._signalled
        finally:
            for chore in self._background:
                chore.cancel()
            await asyncio.gather(*(watch.close() for watch in self._supervisions.values()))

    async def _all(self, ranks: Sequence[Rank]) -> int:
        """Enters all hosts before any rank starts, since ranks need all their peers."""
        by_host: dict[str, list[Rank]] = {}
        for rank in ranks:
            by_host.setdefault(rank.host, []).append(rank)
        await self._begin_all(list(by_host))
        for host, placed in by_host.items():
            await self._supervisions[host].tell(self._order(placed))
        self._started = True
        return await self._ends()

    async def _ends(self) -> int:
        """Ranks that lose a peer tend to fail, and may end first; so a lost worker counts before all other codes."""
        codes: list[int] = []
        for ended in asyncio.as_completed([self._end(host) for host in self._supervisions]):
            code = await ended
            if code and not codes:
                self._in_background(self._stop())
            codes += [code] if code else []
        if self._signalled is not None:
            return 128 + self._signalled
        return LOST_WORKER if LOST_WORKER in codes else next(iter(codes), 0)

    async def _begin_all(self, hosts: Sequence[str]) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                for host in hosts:
                    group.create_task(self._begin(host))
        except ExceptionGroup as problems:
            raise problems.exceptions[0] from None

    async def _begin(self, host: str) -> None:
        if is_local(host):
            process = await asyncio.create_subprocess_exec(*SUPERVISOR, stdin=asyncio.subprocess.PIPE)
            self._supervisions[host] = LocalSupervision(process)
        else:
            self._supervisions[host] = RemoteSupervision(await self._worker_exec.enter(host, SUPERVISOR))

    def _order(self, ranks: Sequence[Rank]) -> str:
        options = self._options
        order = {
            "command": options.command,
            "variables": self._variables,
            "ranks": [rank.variables for rank in ranks],
            "folder": options.folder or self._own_folder(),
            "folder_is_asked": bool(options.folder),
            "merge": options.merge_output,
        }
        return msgspec.json.encode(order).decode()

    def _own_folder(self) -> str:
        """The working folder; empty where it exists only in this pod."""
        folder = os.getcwd()
        return "" if self._worker_exec.pod_uid in Path(folder).parts else folder

    async def _end(self, host: str) -> int:
        code = await self._supervisions[host].end()
        code = _KILLED if code == rank_supervisor.KILLED else code
        if code and self._signalled is None:
            lost = "the worker is gone, or going, and its processes with it"
            _print_error(f"{host}: {lost if code == LOST_WORKER else f'a process ended with code {code}'}")
        return code

    async def _stop(self) -> None:
        """Sends SIGTERM to all other ranks, and SIGKILL after a pause."""
        await self._send_all("TERM")
        await asyncio.sleep(_PATIENCE)
        await self._send_all("KILL")

    async def _send_all(self, line: str) -> None:
        for watch in self._supervisions.values():
            await watch.tell(line)

    def _forward(self, number: signal.Signals, work: "asyncio.Task[int]") -> None:
        self._signalled = self._signalled or number
        if self._started:
            self._in_background(self._send_all(number.name.removeprefix("SIG")))
        else:
            work.cancel()

    def _in_background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)


def _print_error(words: str) -> None:
    sys.stderr.write(f"mpirun: {words}\n")
    sys.stderr.flush()
