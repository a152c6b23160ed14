"""The preStop hook ends the ranks of its own worker first, and no others."""

import asyncio
import os
import subprocess
from pathlib import Path

from tests.embedded.mpi.workers import Workers
from tests.eventually import eventually_async
from understudy.embedded.agent_protocol import MARK
from understudy.embedded.mpi.hosts import MpiHost, place_ranks
from understudy.embedded.mpi.mpi_run import MpiRun
from understudy.embedded.mpi.options import Options
from understudy.embedded.mpi.program_scripts import install
from understudy.objects.mpi import DRAIN, LOST_WORKER


def test_ranks_can_save_before_their_worker_ends(tmp_path: Path) -> None:
    drain = install(tmp_path / "programs", tmp_path / "agent.sock") / DRAIN
    program = (
        f"sleep 1000 & trap 'kill $!; sleep 0.2; touch {tmp_path}/saved.$WORKER; exit 0' TERM;"
        f"touch {tmp_path}/up.$WORKER; wait"
    )

    async def scenario() -> int:
        workers = Workers("w0", "w1")
        options = Options(("sh", "-c", program))
        async with workers.at(tmp_path) as worker_exec, asyncio.timeout(60):
            run = asyncio.create_task(
                MpiRun(options, worker_exec, {}).run(place_ranks(options, [MpiHost("w0", 1), MpiHost("w1", 1)]))
            )
            await eventually_async(lambda: all((tmp_path / f"up.{name}").exists() for name in ("w0", "w1")))
            variables = {**os.environ, MARK: "w1/main/0"}
            await asyncio.to_thread(subprocess.run, [drain], env=variables, check=True)
            assert (tmp_path / "saved.w1").exists()
            return await run

    assert asyncio.run(scenario()) == LOST_WORKER
    assert (tmp_path / "saved.w0").exists()  # SIGTERM from mpirun, since it has lost its peer


def test_without_ranks_drain_returns_at_once(tmp_path: Path) -> None:
    drain = install(tmp_path / "programs", tmp_path / "agent.sock") / DRAIN
    subprocess.run([drain], env={**os.environ, MARK: "absent/main/0"}, check=True, timeout=10)
