"""Turns a Launch into a process: forks, sets up mounts, limits and streams, and executes the command."""

import contextlib
import os
import resource
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

import msgspec

from understudy.embedded.niceness import set_niceness
from understudy.embedded.shim import linux, mounts
from understudy.embedded.shim.container_files import Launch

_CANNOT_EXEC = 126
_PRELOAD = "LD_PRELOAD"
HOLD_FOLDER = (
    "UNDERSTUDY_HOLD_FOLDER"  # the variable with the descriptor of the folder where the activation will be written
)


class Streams(msgspec.Struct, frozen=True):
    """File descriptors that become stdin, stdout and stderr."""

    stdin: int
    stdout: int
    stderr: int


class CannotStart(Exception):
    """Why a command did not run."""


def spawn(launch: Launch, streams: Streams) -> tuple[int, tuple[str, ...]]:
    """The pid of the process, once it executes its command, and notes on requests that could not be met."""
    report_out, report_in = os.pipe2(os.O_CLOEXEC)
    pid = os.fork()
    if pid == 0:
        _become(launch, streams, report_in)
    os.close(report_in)
    with open(report_out, "rb") as report:
        lines = report.read().decode(errors="replace").splitlines()
    problem = next((line.removeprefix("!") for line in lines if line.startswith("!")), None)
    if problem is not None:
        os.waitpid(pid, 0)
        raise CannotStart(problem)
    return pid, tuple(lines)


def _become(launch: Launch, streams: Streams, report: int) -> NoReturn:
    """Never returns into the code of the shim."""
    try:
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
        hold_folder = os.open(launch.hold_folder, flags) if launch.hold_folder else None
        _write_report(report, _prepare(launch, streams))
        env = environment(launch)
        if hold_folder is not None:
            os.set_inheritable(hold_folder, True)
            env[HOLD_FOLDER] = str(hold_folder)
        execute(launch.argv, env)
    except BaseException as problem:
        _write_report(report, ["!" + error_text(problem)])
    finally:
        os._exit(_CANNOT_EXEC)


def _write_report(report: int, lines: list[str]) -> None:
    os.write(report, "".join(line.replace("\n", " ") + "\n" for line in lines).encode())


def _prepare(launch: Launch, streams: Streams) -> list[str]:
    with contextlib.suppress(OSError):
        linux.die_with_parent()
    os.setsid()
    set_niceness(launch.niceness)
    notes = [note for cgroup in launch.cgroups if (note := join_cgroup(cgroup))]
    if launch.address_space:
        resource.setrlimit(resource.RLIMIT_AS, (launch.address_space, launch.address_space))
    if launch.isolated:
        linux.unshare(linux.NEW_MOUNTS | linux.NEW_HOSTNAME)
        os.makedirs(launch.private, exist_ok=True)
        mounts.make_mounts(launch.mounts, Path(launch.private))
        linux.set_hostname(launch.hostname)
    notes += change_folder(launch)
    restore_signals()
    take_streams(streams)
    return notes


def change_folder(launch: Launch) -> list[str]:
    """Changes to the working folder; else to the pod's own folder; else, where a mount hides that, to the root."""
    notes: list[str] = []
    for folder in dict.fromkeys((launch.cwd, launch.root, "/")):
        try:
            os.chdir(folder)
            return [f"{note}; started in {folder} instead" for note in notes[:1]]
        except OSError as problem:
            notes.append(f"working folder {folder}: {problem.strerror}")
    return notes


def environment(launch: Launch) -> dict[str, str]:
    """To be called after the mounts: a library that they hide must not be preloaded."""
    if not launch.preload or not os.path.exists(launch.preload):
        return dict(launch.env)
    wanted = launch.env.get(_PRELOAD, "")
    return {**launch.env, _PRELOAD: f"{launch.preload}:{wanted}" if wanted else launch.preload}


def join_cgroup(cgroup: str) -> str:
    """What went wrong, or an empty text: the container starts without its limits then."""
    try:
        Path(cgroup, "cgroup.procs").write_text("0")
        return ""
    except OSError as problem:
        return f"cgroup {cgroup}: {problem.strerror}; its limits are not held"


def _ignored() -> set[int]:
    """The process that started the cluster may ignore signals, as shells do for background jobs."""
    settable = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}
    return {number for number in settable if signal.getsignal(number) is signal.SIG_IGN}


# Read once: reading all signals takes half as long as a start.
_TO_RESTORE = _ignored() | {
    signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD,
}  # fmt: skip


def restore_signals() -> None:
    for number in _TO_RESTORE:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def take_streams(streams: Streams) -> None:
    """All other descriptors are closed on exec, so the command gets only these three."""
    sources = [os.dup(file) for file in (streams.stdin, streams.stdout, streams.stderr)]
    for number, source in enumerate(sources):
        os.dup2(source, number)


def execute(argv: tuple[str, ...], env: Mapping[str, str]) -> NoReturn:
    try:
        os.execvpe(argv[0], argv, env)
    except FileNotFoundError as problem:
        why = "no such file or directory" if "/" in argv[0] else "executable file not found in $PATH"
        raise CannotStart(f'exec: "{argv[0]}": {why}') from problem
    except OSError as problem:
        raise CannotStart(f'exec: "{argv[0]}": {(problem.strerror or str(problem)).lower()}') from problem


def error_text(problem: BaseException) -> str:
    if isinstance(problem, OSError) and problem.strerror:
        return problem.strerror + (f": {problem.filename}" if problem.filename else "")
    return str(problem) or type(problem).__name__
