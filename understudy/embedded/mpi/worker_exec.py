"""The way into a worker: turns a host's name into a command that runs there, as soon as the worker does."""

import asyncio
import os
import socket
import time
from collections.abc import Mapping
from pathlib import Path

import msgspec

from understudy.embedded.agent_protocol import GOING, MARK, AgentRefused, ExecRequest, ExecSession, open_exec

PATIENCE = 600.0  # seconds a worker has to be there: it may be waiting for its code, or be made again elsewhere
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 0.5
_LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})


class WorkerUnreachable(Exception):
    """Why a worker could not be entered, in words."""


class WorkerLeaving(WorkerUnreachable):
    """It is on its way out."""


class WorkerExec(msgspec.Struct, frozen=True):
    """Where this program runs: the agent's socket, and the pod it is part of."""

    socket: Path
    pod_uid: str
    patience: float = PATIENCE

    @staticmethod
    def of(socket: Path, variables: Mapping[str, str]) -> "WorkerExec":
        return WorkerExec(socket, variables.get(MARK, "").partition("/")[0])

    async def enter(self, host: str, command: tuple[str, ...]) -> ExecSession:
        """Waits for a worker that is not there yet."""
        if not self.pod_uid:
            raise WorkerUnreachable(
                f"{host} cannot be entered: {MARK} is not set, so this is no container of a cluster"
            )
        request = ExecRequest(
            pod_uid=self.pod_uid, neighbour=host.partition(".")[0], container="", command=command, stdin=True
        )
        deadline, pause = time.monotonic() + self.patience, _FIRST_PAUSE
        while True:
            try:
                return await open_exec(self.socket, request)
            except AgentRefused as closed:
                if GOING in str(closed):
                    raise WorkerLeaving(str(closed)) from closed
                if time.monotonic() + pause > deadline:
                    raise WorkerUnreachable(
                        f"{host} cannot be entered after {self.patience:.0f} s: {closed}"
                    ) from closed
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)


def is_local(host: str) -> bool:
    """Whether a host is where this program runs itself."""
    own = {socket.gethostname(), os.environ.get("HOSTNAME", "")}
    return host in _LOCAL or host in own or host.partition(".")[0] in own
