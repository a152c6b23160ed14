"""The remote shell for a real MPI: `understudy-rsh HOST COMMAND` runs a command in the pod of that name."""

import asyncio
import contextlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from understudy.embedded.agent_protocol import STDERR, AgentRefused, ExecSession
from understudy.embedded.mpi.mpi_run import NOT_STARTED
from understudy.embedded.mpi.worker_exec import WorkerExec, WorkerUnreachable, is_local

_WITH_VALUE = frozenset(f"-{letter}" for letter in "oplibcemEF")  # options of ssh that have a value
_BLOCK = 1 << 15


def target(words: Sequence[str]) -> tuple[str, str]:
    """The host and the command, without the options of ssh."""
    left = list(words)
    while left and left[0].startswith("-"):
        option = left.pop(0)
        if option in _WITH_VALUE and left:
            left.pop(0)
    host, *command = left or [""]
    return host.rpartition("@")[2], " ".join(command)


def main(socket: Path, words: Sequence[str]) -> int:
    host, command = target(words)
    if not host or not command:
        sys.stderr.write("understudy-rsh: say a host and a command: understudy-rsh worker-0 hostname\n")
        return 2
    if is_local(host):
        os.execv("/bin/sh", ("sh", "-c", command))
    try:
        code = asyncio.run(_run(WorkerExec.of(socket, os.environ), host, command))
    except (WorkerUnreachable, AgentRefused) as problem:
        sys.stderr.write(f"understudy-rsh: {problem}\n")
        code = NOT_STARTED
    sys.stderr.flush()
    os._exit(code)  # without waiting for the thread that reads standard input


async def _run(worker_exec: WorkerExec, host: str, command: str) -> int:
    async with await worker_exec.enter(host, ("/bin/sh", "-c", command)) as session:
        inward = asyncio.ensure_future(_copy_input(session))
        async for channel, data in session:
            os.write(2 if channel == STDERR else 1, data)
        inward.cancel()
        return session.exit_code or 0


async def _copy_input(session: ExecSession) -> None:
    loop = asyncio.get_running_loop()
    with contextlib.suppress(AgentRefused, OSError):
        while block := await loop.run_in_executor(None, os.read, 0, _BLOCK):
            await session.send(block)
        await session.close_stdin()
