"""Commands as people type them, against a cluster that really runs: in this process, or in one of their own."""

import asyncio
import contextlib
import io
import os
import sys
from typing import NamedTuple
from unittest import mock

from tests.embedded.real_cluster import RealCluster
from understudy.main import main

PATIENCE = 90.0


class Said(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


async def started(cluster: RealCluster, *arguments: str) -> asyncio.subprocess.Process:
    """In a process of its own, for what goes on while something else happens, or reads stdin."""
    pipe = asyncio.subprocess.PIPE
    surroundings = {**os.environ, "KUBECONFIG": str(cluster.folder.kubeconfig)}
    command = (sys.executable, "-m", "understudy", *arguments)
    return await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, stderr=pipe, env=surroundings)


async def ended(process: asyncio.subprocess.Process, stdin: bytes = b"") -> Said:
    async with asyncio.timeout(PATIENCE):
        out, err = await process.communicate(stdin)
    return Said(process.returncode or 0, out.decode(), err.decode())


async def typed(cluster: RealCluster, *arguments: str) -> Said:
    """In a thread, since a command brings an event loop of its own."""
    out, err = io.TextIOWrapper(io.BytesIO()), io.TextIOWrapper(io.BytesIO())
    surroundings = mock.patch.dict(os.environ, KUBECONFIG=str(cluster.folder.kubeconfig))
    with surroundings, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = await asyncio.to_thread(main, arguments)
    return Said(code, *(_text(stream) for stream in (out, err)))


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    stream.seek(0)
    return stream.read()


async def shows(cluster: RealCluster, *arguments: str) -> list[str]:
    """The lines of a command that does what it is asked to."""
    said = await typed(cluster, *arguments)
    assert (said.code, said.err) == (0, ""), said
    return said.lines


async def refuses(cluster: RealCluster, *arguments: str) -> str:
    """The one line with which a command says what is wrong with its input."""
    said = await typed(cluster, *arguments)
    assert (said.code, said.out, said.err.count("\n")) == (2, "", 1), said
    return said.err.removeprefix("understudy: ").rstrip("\n")
