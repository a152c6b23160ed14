"""mpirun with workers that are entered through the agent's socket, and how its ranks end together."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.embedded.mpi.workers import Workers
from tests.eventually import eventually_async
from understudy.embedded.mpi.hosts import MpiHost, place_ranks
from understudy.embedded.mpi.mpi_run import NOT_STARTED, TIMED_OUT, MpiRun
from understudy.embedded.mpi.options import Options
from understudy.objects.mpi import LOST_WORKER

HOSTS = [MpiHost("w0", 2), MpiHost("w1", 1)]


def sh(program: str, **more: object) -> Options:
    return Options(("sh", "-c", program), **more)  # type: ignore[arg-type]


async def seen(path: Path) -> None:
    await eventually_async(lambda: path.exists())


def play(
    folder: Path, options: Options, workers: Workers, scenario: Callable[[], Awaitable[None]] | None = None
) -> int:
    """Runs mpirun beside a scenario; returns its exit code."""

    async def played() -> int:
        async with workers.at(folder, patience=2.0) as worker_exec:
            run = asyncio.create_task(MpiRun(options, worker_exec, {"MORE": "told"}).run(place_ranks(options, HOSTS)))
            if scenario is not None:
                await scenario()
            async with asyncio.timeout(60):
                return await run

    return asyncio.run(played())


def test_a_process_for_every_slot(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    says = "echo $WORKER $OMPI_COMM_WORLD_RANK/$OMPI_COMM_WORLD_SIZE $MORE; echo oh >&2"
    assert play(tmp_path, sh(says), Workers("w0", "w1")) == 0
    told = capfd.readouterr()
    assert sorted(told.out.splitlines()) == ["w0 0/3 told", "w0 1/3 told", "w1 2/3 told"]
    assert told.err.splitlines() == ["oh"] * 3


def test_output_may_be_merged(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert play(tmp_path, sh("echo oh >&2", merge_output=True), Workers("w0", "w1")) == 0
    assert capfd.readouterr().out.splitlines() == ["oh"] * 3


@pytest.mark.parametrize(("ending", "code"), [("exit 7", 7), ("kill -9 $$", 137), ("kill -15 $$", 143)])
def test_the_first_rank_that_fails_ends_all(tmp_path: Path, ending: str, code: int) -> None:
    program = f"test $OMPI_COMM_WORLD_RANK = 1 && {ending}; sleep 1000"
    assert play(tmp_path, sh(program), Workers("w0", "w1")) == code


@pytest.mark.parametrize(("command", "code"), [("no-such-program", 127), ("/etc/passwd", 126)])
def test_a_command_that_cannot_run(tmp_path: Path, capfd: pytest.CaptureFixture[str], command: str, code: int) -> None:
    assert play(tmp_path, Options((command,)), Workers("w0", "w1")) == code
    assert f"cannot run {command}" in capfd.readouterr().err


def test_a_lost_worker_is_told_apart_from_a_failure(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Its peer fails because of it, and may end first."""
    up, down = tmp_path / "up", tmp_path / "down"
    program = (
        f"test $OMPI_COMM_WORLD_RANK = 2 && touch {up} && exec sleep 1000;"
        f"until test -e {down}; do sleep 0.02; done; exit 1"
    )
    workers = Workers("w0", "w1")

    async def scenario() -> None:
        await seen(up)
        down.touch()
        await asyncio.sleep(0)
        workers.lose("w1")

    assert play(tmp_path, sh(program), workers, scenario) == LOST_WORKER
    assert "mpirun: w1: the worker is gone" in capfd.readouterr().err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_are_passed_on_and_waited_for(tmp_path: Path, number: signal.Signals) -> None:
    name = number.name.removeprefix("SIG")
    program = (
        f"sleep 1000 & trap 'kill $!; sleep 0.1; touch {tmp_path}/saved.$OMPI_COMM_WORLD_RANK; exit 0' {name};"
        f"touch {tmp_path}/up.$OMPI_COMM_WORLD_RANK; wait"
    )

    async def scenario() -> None:
        for rank in range(3):
            await seen(tmp_path / f"up.{rank}")
        os.kill(os.getpid(), number)

    assert play(tmp_path, sh(program), Workers("w0", "w1"), scenario) == 128 + number
    assert all((tmp_path / f"saved.{rank}").exists() for rank in range(3))


def test_a_worker_that_does_not_run_yet_is_awaited(tmp_path: Path) -> None:
    workers = Workers("w0")
    started = tmp_path / "started"

    async def scenario() -> None:
        await eventually_async(lambda: workers.asked.count("w1") >= 2)
        assert not started.exists()  # no rank starts before all workers run
        workers.up.add("w1")

    assert play(tmp_path, sh(f"touch {started}"), workers, scenario) == 0


def test_a_worker_that_never_comes(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert play(tmp_path, sh("true"), Workers("w0")) == NOT_STARTED
    assert "w1 cannot be entered after 2 s: w1 is not running" in capfd.readouterr().err


def test_a_worker_that_is_leaving_is_not_waited_for(tmp_path: Path) -> None:
    workers = Workers("w0", "w1")
    workers.going.add("w1")
    assert play(tmp_path, sh("true"), workers) == LOST_WORKER


def test_a_signal_before_anything_has_started(tmp_path: Path) -> None:
    workers = Workers("w0")

    async def scenario() -> None:
        await eventually_async(lambda: workers.asked.count("w1"))
        os.kill(os.getpid(), signal.SIGTERM)

    assert play(tmp_path, sh("true"), workers, scenario) == 143


def test_a_time_limit(tmp_path: Path) -> None:
    assert play(tmp_path, sh("sleep 1000", timeout=1), Workers("w0", "w1")) == TIMED_OUT


def test_folders(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert play(tmp_path, Options(("pwd",), folder=str(tmp_path), processes=1), Workers("w0")) == 0
    assert capfd.readouterr().out.strip() == str(tmp_path)
