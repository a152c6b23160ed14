"""The processes of pods end when their cluster goes down: asked first, then killed."""

import asyncio
import contextlib
import errno
import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from understudy.embedded.cluster_folder import ClusterFolder
from understudy.embedded.clusters import pod_processes
from understudy.embedded.shim import container_files, linux
from understudy.embedded.shim.container_files import ShimState
from understudy.embedded.shim.pod_folders import PodFolder

STUBBORN = "import signal,time; signal.signal(15, signal.SIG_IGN); print('on', flush=True); time.sleep(3600)"
SHIM = """
import fcntl, os, sys, time
from understudy.embedded.shim import linux
linux.set_name("understudy-shim")
fcntl.flock(os.open(sys.argv[1], os.O_RDONLY), fcntl.LOCK_EX)
print("on", flush=True)
time.sleep(3600)
"""
POLITE = "import time; print('on', flush=True); time.sleep(3600)"


@contextlib.contextmanager
def container(folder: ClusterFolder, pod: str, code: str) -> Iterator["subprocess.Popen[bytes]"]:
    """A process with the files a shim would have written about it."""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        attempt = PodFolder(folder.pods / pod).attempt("main", 0)
        attempt.path.mkdir(parents=True)
        birth = linux.start_ticks(process.pid) or 0
        container_files.write(
            attempt.state, ShimState(shim=1, pid=process.pid, pid_birth=birth, started_at=time.time())
        )
        try:
            yield process
        finally:
            process.kill()


def ended(folder: ClusterFolder, grace: float, *processes: "subprocess.Popen[bytes]") -> list[int]:
    """Reaps while it waits, as shims do."""

    async def run() -> list[int]:
        reaping = [asyncio.to_thread(process.wait) for process in processes]
        codes = asyncio.gather(*reaping)
        await pod_processes.end_all_pods(folder, grace)
        return list(await codes)

    return asyncio.run(run())


def test_containers_are_asked_to_end(tmp_path: Path) -> None:
    folder = ClusterFolder(tmp_path)
    with container(folder, "a", POLITE) as one, container(folder, "b", POLITE) as two:
        assert len(pod_processes.running_containers(folder)) == 2
        assert ended(folder, 10.0, one, two) == [-signal.SIGTERM, -signal.SIGTERM]
        assert pod_processes.running_containers(folder) == []


def test_those_that_do_not_are_killed(tmp_path: Path) -> None:
    folder = ClusterFolder(tmp_path)
    with container(folder, "a", POLITE) as one, container(folder, "b", STUBBORN) as two:
        assert ended(folder, 0.3, one, two) == [-signal.SIGTERM, -signal.SIGKILL]


def test_those_that_stand_still_are_not_waited_for(tmp_path: Path) -> None:
    folder = ClusterFolder(tmp_path)
    with container(folder, "a", POLITE) as one:
        one.send_signal(signal.SIGSTOP)
        while not linux.is_stopped(one.pid):
            pass
        assert ended(folder, 1000.0, one) == [-signal.SIGKILL]


def test_another_process_that_got_the_same_id_is_left_alone(tmp_path: Path) -> None:
    folder = ClusterFolder(tmp_path)
    with container(folder, "a", POLITE) as process:
        attempt = PodFolder(folder.pods / "a").attempt("main", 0)
        container_files.write(attempt.state, ShimState(shim=1, pid=process.pid, pid_birth=1, started_at=0.0))
        asyncio.run(pod_processes.end_all_pods(folder, 0.0))
        assert process.poll() is None


def test_a_cluster_that_never_ran_a_pod(tmp_path: Path) -> None:
    assert pod_processes.running_containers(ClusterFolder(tmp_path)) == []


def test_control_groups_that_a_killed_agent_left_are_taken_away(tmp_path: Path) -> None:
    folder, base = ClusterFolder(tmp_path / "cluster"), tmp_path / "groups"
    folder.path.mkdir()
    for group in ("idle", "busy/process"):
        (base / group).mkdir(parents=True)
    folder.control_groups.write_text(f"{base}\n{tmp_path / 'missing'}\n")
    assert asyncio.run(pod_processes.end_all_pods(folder, 0.0)) == 0
    assert [path.name for path in base.iterdir()] == ["busy"], "a process is in it"


def test_a_full_disk_keeps_nothing_running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a container that cannot be marked as stopped, nor a shim that cannot write down how it ended."""
    monkeypatch.setattr(pod_processes, "LAST_WORDS", 0.1)

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    folder = ClusterFolder(tmp_path)
    with container(folder, "pod", POLITE) as process, subprocess.Popen(["sleep", "3600"]) as shim:
        attempt = PodFolder(folder.pods / "pod").attempt("main", 0)
        state = container_files.read(attempt.state, ShimState)
        assert state is not None
        container_files.write(attempt.state, msgspec.structs.replace(state, shim=shim.pid))
        held = os.open(attempt.path, os.O_RDONLY)
        fcntl.flock(held, fcntl.LOCK_EX)
        monkeypatch.setattr(Path, "touch", refuse)
        assert ended(folder, 30.0, process, shim) == [-signal.SIGTERM, -signal.SIGKILL]
        os.close(held)


@pytest.mark.parametrize("has_state", [True, False])
def test_a_shim_whose_container_ended_before_is_killed_too(
    has_state: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stop in good order that is cut short by `--now` has ended the containers; on a full disk their shims remain."""
    monkeypatch.setattr(pod_processes, "LAST_WORDS", 0.1)
    folder = ClusterFolder(tmp_path)
    attempt = PodFolder(folder.pods / "pod").attempt("main", 0)
    attempt.path.mkdir(parents=True)
    with subprocess.Popen([sys.executable, "-c", SHIM, str(attempt.path)], stdout=subprocess.PIPE) as shim:
        assert shim.stdout is not None
        shim.stdout.readline()
        if has_state:
            container_files.write(
                attempt.state, ShimState(shim=shim.pid, pid=shim.pid, pid_birth=1, started_at=time.time())
            )
        assert pod_processes.running_containers(folder) == []
        try:
            assert ended(folder, 0.0, shim) == [-signal.SIGKILL]
        finally:
            shim.kill()
