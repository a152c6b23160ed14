"""Shims: one process for each container, which outlives agent and fork server."""

import contextlib
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.embedded.shim.fork_servers import fork_server, node_fork_server, said
from tests.eventually import eventually
from understudy.embedded.shim import container_files, linux, messages, node_pid_files
from understudy.embedded.shim.container_files import ShimState

# Signals 32 and 33 belong to the C library and cannot be set, so the inherited setting stays.
THE_LIBRARYS_OWN = 0b11 << 31


def test_a_container_runs_and_its_exit_is_written(tmp_path: Path) -> None:
    with fork_server(tmp_path) as one:
        attempt, ending = one.run("sh", "-c", "echo out; echo err >&2; printf open; exit 3")
        assert sorted(said(attempt)) == ["stderr F err", "stdout F out", "stdout P open"]
        assert (ending.exit_code, ending.signal, ending.oom_killed) == (3, 0, False)
        assert ending.started_at is not None
        assert ending.started_at <= ending.finished_at


def test_the_exit_code_of_a_signal_is_that_of_shells(tmp_path: Path) -> None:
    with fork_server(tmp_path) as one:
        _, ending = one.run("sh", "-c", "kill -KILL $$")
        assert (ending.exit_code, ending.signal) == (137, 9)


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        ("nonesuch", 'exec: "nonesuch": executable file not found in $PATH'),
        ("/no/such/file", 'exec: "/no/such/file": no such file or directory'),
        ("/etc/passwd", 'exec: "/etc/passwd": permission denied'),
    ],
)
def test_a_command_that_cannot_run_says_why(tmp_path: Path, argv: str, words: str) -> None:
    with fork_server(tmp_path) as one:
        _, ending = one.run(argv)
        assert (ending.exit_code, ending.reason, ending.message) == (128, "StartError", words)
        assert ending.started_at is None


def test_an_order_given_twice_is_carried_out_once(tmp_path: Path) -> None:
    with fork_server(tmp_path) as one:
        attempt, _ = one.run("sh", "-c", "echo once")
        one.order(attempt)
        one.run("true", uid="next")
        assert said(attempt) == ["stdout F once"]


def test_a_container_gets_default_signals_and_no_open_files(tmp_path: Path) -> None:
    earlier = signal.signal(signal.SIGQUIT, signal.SIG_IGN)  # as shells have it for what they run in the background
    with contextlib.ExitStack() as stack:
        stack.callback(signal.signal, signal.SIGQUIT, earlier)
        one = stack.enter_context(fork_server(tmp_path))
        script = "sed -n 's/^Sig[IB][gl][nk]://p' /proc/self/status; ls /proc/self/fd | wc -l"
        attempt, _ = one.run("sh", "-c", script)
        blocked, ignored, files = (line.removeprefix("stdout F").strip() for line in said(attempt))
        assert (int(blocked, 16), int(ignored, 16) & ~THE_LIBRARYS_OWN) == (0, 0)
        assert files == "4", "three streams, and the folder ls reads"


def test_containers_outlive_the_fork_server_and_its_agent(tmp_path: Path) -> None:
    with fork_server(tmp_path) as one:
        attempt = one.prepare("sh", "-c", "until test -e now; do sleep 0.01; done; echo still here; exit 6")
        one.order(attempt)
        one.heard(messages.ContainerStarted)
        os.kill(one.process.pid, signal.SIGKILL)
    (tmp_path / "u" / "root" / "now").touch()
    ending = eventually(lambda: container_files.read(attempt.exit, container_files.ContainerExit))
    assert ending.exit_code == 6
    assert said(attempt) == ["stdout F still here"]


def test_the_next_fork_server_waits_for_the_one_before_and_not_for_its_shims(tmp_path: Path) -> None:
    with fork_server(tmp_path) as one:
        attempt = one.prepare("sleep", "1000")
        one.order(attempt)
        one.heard(messages.ContainerStarted)
    with fork_server(tmp_path) as other:
        assert other.run("true", uid="next")[1].exit_code == 0
    state = container_files.read(attempt.state, ShimState)
    assert state is not None
    assert linux.start_ticks(state.pid) == state.pid_birth
    os.kill(state.pid, signal.SIGKILL)
    eventually(lambda: attempt.exit.exists())


def test_everything_a_container_started_ends_with_it(tmp_path: Path) -> None:
    with fork_server(tmp_path) as one:
        escape = "setsid sh -c 'setsid sleep 1000 & echo $!; exec sleep 1000' & until test -s pid; do sleep 0.01; done"
        attempt, _ = one.run("sh", "-c", f"({escape}) & sleep 0.3; exit 0", uid="a")
        for line in said(attempt):
            assert linux.start_ticks(int(line.split()[-1])) is None


def test_the_main_process_dies_with_its_shim(tmp_path: Path) -> None:
    with fork_server(tmp_path) as one:
        attempt = one.prepare("sleep", "1000")
        one.order(attempt)
        one.heard(messages.ContainerStarted)
        state = container_files.read(attempt.state, ShimState)
        assert state is not None
        os.kill(state.shim, signal.SIGKILL)
        eventually(lambda: linux.start_ticks(state.pid) is None)
        assert not attempt.exit.exists()


def test_the_clean_up_command_runs_after_the_container(tmp_path: Path) -> None:
    with fork_server(tmp_path) as one:
        one.run("false", afterwards=("touch", str(tmp_path / "cleared")))
        assert (tmp_path / "cleared").exists()


def test_a_shim_is_small(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    with fork_server(tmp_path) as one:
        attempt = one.prepare("sleep", "1000")
        one.order(attempt)
        one.heard(messages.ContainerStarted)
        state = container_files.read(attempt.state, ShimState)
        assert state is not None
        private = private_memory(state.shim)
        os.kill(state.pid, signal.SIGKILL)
        one.heard(messages.ContainerEnded)
        record_property("measured", f"private memory of a shim: {private} KiB")
        assert private < 4096


def private_memory(pid: int) -> int:
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in rollup if line.startswith("Private_"))


def test_a_nodes_process_sends_heartbeats_and_forks(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    with fork_server(tmp_path) as one, node_fork_server(one, tmp_path / "nodes" / "a.json") as (child, pid):
        assert node_pid_files.running_nodes(tmp_path / "nodes") == {
            "a": node_pid_files.NodePid(pid, linux.start_ticks(pid) or 0)
        }
        assert Path(f"/proc/{pid}/comm").read_text() == "understudy-node\n"
        _, ending = child.run("true")
        assert ending.exit_code == 0
        before = time.time()
        assert child.heard(messages.Heartbeat).at > before - 1
        private = private_memory(pid)
        record_property("measured", f"private memory of a node's process: {private} KiB")
        assert private < 4096
        os.kill(pid, signal.SIGSTOP)
        eventually(lambda: linux.is_stopped(pid))
        assert node_pid_files.kill_all_nodes(tmp_path / "nodes") == {"a"}
        assert linux.start_ticks(pid) is None
        assert node_pid_files.kill_all_nodes(tmp_path / "nodes") == set()


def test_an_oom_kill_is_in_the_exit_file(tmp_path: Path) -> None:
    """Both versions of control groups report it; here one made of plain files."""
    for name, file in (("v1", "memory.oom_control"), ("v2", "memory.events")):
        group = tmp_path / name
        group.mkdir()
        (group / "cgroup.procs").touch()
        (group / file).write_text("oom_kill_disable 0\nunder_oom 0\noom_kill 1\n")
        with fork_server(tmp_path) as one:
            _, ending = one.run("sh", "-c", "kill -KILL $$", uid=name, cgroups=(str(group),))
            assert ending.oom_killed
            _, other = one.run("true", uid=f"{name}-well", cgroups=(str(group),))
            assert not other.oom_killed
