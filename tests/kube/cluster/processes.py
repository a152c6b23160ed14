"""Programs as child processes that end with their parent, with a log each; and ports for them on loopback."""

import contextlib
import os
import random
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from understudy.embedded.shim import linux

HOST = "127.0.0.1"
PORTS = range(12_000, 32_000)  # below the ports that the kernel hands out to clients
END_SECONDS = 10.0
_PREFIX = "understudy-kube-"


class Ended(Exception):
    """A program that should run has ended: its name, and the end of its log."""


class Process(msgspec.Struct):
    name: str
    popen: "subprocess.Popen[bytes]"
    log: Path

    @property
    def pid(self) -> int:
        return self.popen.pid

    def check(self) -> None:
        if (code := self.popen.poll()) is not None:
            raise Ended(f"{self.name} ended with {code}; it said: {self.last_words()}")

    def last_words(self) -> str:
        return self.log.read_text(errors="replace")[-3000:]

    def kill(self) -> None:
        """Kills the process with SIGKILL."""
        self.popen.kill()
        self.popen.wait()

    def end(self) -> None:
        self.popen.terminate()
        try:
            self.popen.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()


@contextlib.contextmanager
def running(
    command: Sequence[str], log: Path, environment: Mapping[str, str] | None = None, name: str = ""
) -> Iterator[Process]:
    """Runs the program until the block ends, or until the calling thread ends, even if it is killed."""
    with log.open("ab") as out:
        popen = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            env={**os.environ, **(environment or {})},
            start_new_session=True,  # Ctrl-C is for us; we end them in order
            preexec_fn=_die_with_parent,
        )
    process = Process(name or Path(command[0]).name, popen, log)
    try:
        yield process
    finally:
        process.end()


def _die_with_parent() -> None:
    with contextlib.suppress(OSError):  # only Linux can; elsewhere they outlive a parent that is killed
        linux.die_with_parent()


def wait_until(
    done: Callable[[], object], what: str, seconds: float, alive: Sequence[Process] = (), every: float = 0.05
) -> None:
    """Repeats the question while these processes live. Errors of the connection mean `not yet`."""
    deadline = time.monotonic() + seconds
    while True:
        with contextlib.suppress(OSError):
            if done():
                return
        for process in alive:
            process.check()
        if time.monotonic() > deadline:
            words = "".join(f"\n{process.name} said: {process.last_words()}" for process in alive)
            raise TimeoutError(f"not within {seconds:.0f} s: {what}{words}")
        time.sleep(every)


def free_port() -> int:
    """A port without a listener. It is random, so that clusters that start together get different ones."""
    while True:
        port = random.choice(PORTS)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind((HOST, port))
            return port


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    """The folder of a cluster. It is removed at the end, or by the next cluster if this one was killed."""
    _sweep()
    with tempfile.TemporaryDirectory(prefix=f"{_PREFIX}{os.getpid()}-", ignore_cleanup_errors=True) as place:
        yield Path(place)


def _sweep() -> None:
    for left in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        owner = left.name.removeprefix(_PREFIX).partition("-")[0]
        if owner.isdecimal() and linux.start_ticks(int(owner)) is None:
            shutil.rmtree(left, ignore_errors=True)
