"""The remote shell for a real MPI."""

import asyncio
import os
from pathlib import Path

import pytest

from tests.embedded.mpi.workers import Workers
from understudy.embedded.agent_protocol import MARK
from understudy.embedded.mpi.program_scripts import install
from understudy.embedded.mpi.rsh import target
from understudy.objects.mpi import REMOTE_SHELL


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("w0 orted --x 1", ("w0", "orted --x 1")),
        ("-o ConnectionAttempts=10 w0 orted", ("w0", "orted")),
        ("-x -q -p 2222 root@w0 orted", ("w0", "orted")),
        ("w0", ("w0", "")),
        ("", ("", "")),
    ],
)
def test_host_and_command(line: str, expected: tuple[str, str]) -> None:
    assert target(line.split()) == expected


def test_a_remote_command_with_streams_and_exit_code(tmp_path: Path) -> None:
    shell = install(tmp_path / "programs", tmp_path / "agent.sock") / REMOTE_SHELL

    async def scenario() -> tuple[int | None, bytes, bytes]:
        async with Workers("w0").at(tmp_path), asyncio.timeout(60):
            process = await asyncio.create_subprocess_exec(
                shell, "w0.train.default.svc", "read line; echo $WORKER $line;", "echo oh >&2; exit 3",
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env={**os.environ, MARK: "launcher-uid/main/0"},
            )  # fmt: skip
            out, err = await process.communicate(b"hello\n")
            return process.returncode, out, err

    assert asyncio.run(scenario()) == (3, b"w0 hello\n", b"oh\n")
