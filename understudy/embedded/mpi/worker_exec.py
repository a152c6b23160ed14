"""Runs a command in a worker, given by its host name, as soon as the worker runs."""

import asyncio
import os
import socket
import time
from collections.abc import Mapping
from pathlib import Path

import msgspec

from understudy.embedded.agent_protocol import GOING, MARK, AgentRefused, ExecRequest, ExecSession, open_exec

PATIENCE = 600.0  # seconds until a worker must run: it may still be loading its code, or be recreated elsewhere
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 0.5
_LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})


class WorkerUnreachable(Exception):
    """Why a worker could not be entered."""


class WorkerLeaving(WorkerUnreachable):
    """The worker is being deleted."""


class WorkerExec(msgspec.Struct, frozen=True):
    """The agent's socket, and the pod of this program."""

    socket: Path
    pod_uid: str
    patience: float = PATIENCE

    @staticmethod
    def of(socket: Path, variables: Mapping[str, str]) -> "WorkerExec":
        return WorkerExec(socket, variables.get(MARK, "").partition("/")[0])

    async def enter(self, host: str, command: tuple[str, ...]) -> ExecSession:
        """Waits until the worker runs."""
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
    """Whether a host is this pod."""
    own = {socket.gethostname(), os.environ.get("HOSTNAME", "")}
    return host in _LOCAL or host in own or host.partition(".")[0] in own
