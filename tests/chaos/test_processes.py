"""What a chaos run relies on outside of the cluster: processes that lock what they have, and a reaper that ends all."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.chaos import ledger, member
from tests.chaos.member import LOCKS
from tests.eventually import eventually
from tests.faults.server_process import PATIENCE, processes_of
from understudy.embedded.clusters.component import package_root

Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Processes of pods that run until they are told to end."""
    started: list[subprocess.Popen[bytes]] = []
    (tmp_path / LOCKS).mkdir()

    def member_of(pod: str, device: str = "", hostname: str = "") -> "subprocess.Popen[bytes]":
        told = {"POD_UID": f"uid-{pod}", "POD_NAME": pod, "NODE_NAME": "a", "HOSTNAME": hostname or pod}
        command = [sys.executable, "-I", "-S", member.__file__, str(tmp_path), "train", "-1", "0"]
        process = subprocess.Popen(command, env={**os.environ, **told, "CUDA_VISIBLE_DEVICES": device})
        started.append(process)
        eventually(lambda: any(line.what == "start" and line.pid == process.pid for line in ledger.read(tmp_path)))
        eventually(lambda: not device or _locks(tmp_path, process.pid))
        return process

    yield member_of
    for process in started:
        process.kill()
        process.wait()


def _locks(folder: Path, pid: int) -> bool:
    """Whether the process has come to its locks: it has its name's, or has told that another has it."""
    told = any(line.pid == pid and line.what in ("conflict", "shadow") for line in ledger.read(folder))
    names = [path.read_text() for path in (folder / LOCKS).glob("name-*")]
    return told or any(f'"pid": {pid}' in text for text in names)


def conflicts(folder: Path) -> list[tuple[str, str]]:
    return [(line.what, line.lock) for line in ledger.read(folder) if line.lock]


def test_a_process_tells_when_a_living_one_has_its_accelerator(tmp_path: Path, start: Start) -> None:
    start("one", "3")
    start("two", "3,4")
    assert conflicts(tmp_path) == [("conflict", "accelerator-3")]


def test_a_process_that_was_killed_has_nothing_any_more(tmp_path: Path, start: Start) -> None:
    first = start("one", "3", "place")
    first.send_signal(signal.SIGKILL)
    first.wait()
    start("one", "3", "place")
    assert conflicts(tmp_path) == []


def test_a_process_that_stands_still_does_not_count(tmp_path: Path, start: Start) -> None:
    first = start("one", "3")
    first.send_signal(signal.SIGSTOP)
    eventually(lambda: Path(f"/proc/{first.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T")
    start("two", "3")
    assert conflicts(tmp_path) == [("shadow", "accelerator-3")]


def test_a_process_tells_that_it_was_told_to_end_and_then_ends(tmp_path: Path, start: Start) -> None:
    first = start("one")
    first.terminate()
    assert first.wait(PATIENCE) == member.TERMINATED
    assert [line.what for line in ledger.read(tmp_path)] == ["start", "term", "end"]


def test_when_the_run_is_killed_all_its_processes_end_and_its_folder_goes(tmp_path: Path) -> None:
    """The reaper hears of it by the end of its input, which no kill can prevent."""
    folder = tmp_path / "run"
    folder.mkdir()
    reaper = [sys.executable, "-m", "tests.chaos.process_reaper", str(folder)]
    script = "import subprocess, sys; subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE); input()"
    run = subprocess.Popen([sys.executable, "-c", script, *reaper], cwd=package_root(), stdin=subprocess.PIPE)
    assert run.stdin is not None
    left = subprocess.Popen(["sleep", "1000"], env={**os.environ, "UNDERSTUDY_HOME": str(folder)})
    try:
        eventually(lambda: len(processes_of(folder)) == 3)  # the reaper, its parent, and a process of the run
        run.kill()
        run.wait()
        assert left.wait(PATIENCE) == -signal.SIGKILL
        eventually(lambda: not folder.exists() and not processes_of(folder))
    finally:
        run.stdin.close()
        for process in (run, left):
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            process.wait()
