"""Who is which part of a cluster: right after crashes, reboots and forks."""

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.embedded.disks import Room
from understudy.embedded.clusters import process_lock
from understudy.embedded.clusters.process_lock import (
    SERVER,
    SUPERVISOR,
    AlreadyRunning,
    end_process,
    hold_lock,
    lock_holder,
)

FAKE = Path(__file__).with_name("fake_component.py")
FORKING = """
import os, sys, time
from pathlib import Path
from understudy.embedded.clusters.process_lock import hold_lock
with hold_lock(Path(sys.argv[1])):
    if os.fork() == 0:
        time.sleep(3600)
    print("held", flush=True)
    time.sleep(3600)
"""


def test_the_process_that_holds_a_part_sees_itself_and_keeps_it(tmp_path: Path) -> None:
    path = tmp_path / SUPERVISOR
    with hold_lock(path):
        found = lock_holder(path)
        assert found is not None
        assert found.pid == os.getpid()
        assert lock_holder(path) == found
    assert lock_holder(path) is None


def test_a_file_left_by_a_process_that_is_gone_means_nothing(tmp_path: Path) -> None:
    path = tmp_path / SERVER
    path.write_text(f'{{"pid": {os.getpid()}, "started": {time.time()}}}')
    assert lock_holder(path) is None
    assert lock_holder(tmp_path / "never-there") is None


def test_a_component_that_runs_is_not_started_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_lock, "_PATIENCE", 0.05)
    with subprocess.Popen([sys.executable, FAKE, SERVER, tmp_path], stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        process.stderr.readline()
        path = tmp_path / "run" / SERVER
        found = lock_holder(path)
        assert found is not None
        assert found.pid == process.pid
        with pytest.raises(AlreadyRunning, match="server runs already"), hold_lock(path):
            pass
        asyncio.run(end_process(path, 10.0))
        assert lock_holder(path) is None
    assert process.returncode == 0


def test_what_a_part_forked_does_not_stand_for_it(tmp_path: Path) -> None:
    """As the containers of an agent that was killed: they go on, and the agent is known to be gone."""
    path = tmp_path / "agent"
    with subprocess.Popen(
        [sys.executable, "-c", FORKING, path], stdout=subprocess.PIPE, start_new_session=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert lock_holder(path) is not None
        process.kill()
        process.wait()
        assert lock_holder(path) is None
        os.killpg(process.pid, 9)


def test_a_part_that_ignores_the_request_to_end_is_killed(tmp_path: Path) -> None:
    (tmp_path / "server-is-stubborn").touch()
    with subprocess.Popen([sys.executable, FAKE, SERVER, tmp_path], stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        process.stderr.readline()
        asyncio.run(end_process(tmp_path / "run" / SERVER, 0.1))
    assert process.returncode == -9


def test_a_part_on_a_full_disk_is_found_by_its_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / SUPERVISOR
    room = Room(monkeypatch)
    room.bytes = 0
    with hold_lock(path):
        assert path.read_text() == ""
        assert lock_holder(path) == process_lock.LockHolder(os.getpid(), process_lock.lock_holder(path).started)  # type: ignore[union-attr]


def test_a_record_that_could_not_be_written_is_not_taken_for_the_one_before(tmp_path: Path) -> None:
    """To end a cluster by it would be to end another process."""
    with subprocess.Popen([sys.executable, FAKE, SERVER, tmp_path], stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        process.stderr.readline()
        path = tmp_path / "run" / SERVER
        for left in (f'{{"pid": {os.getpid()}, "started": 1}}', "", '{"pid'):
            with open(path, "r+") as file:
                file.truncate(0)
                file.write(left)
            found = lock_holder(path)
            assert found is not None
            assert found.pid == process.pid
            assert abs(found.started - time.time()) < 3600
            assert lock_holder(path) == found
        asyncio.run(end_process(path, 10.0))
    assert lock_holder(path) is None
