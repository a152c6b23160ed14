"""Supervises the ranks of one host: starts them, passes signals on, and exits as the first that fails.

Its standard input has a line of JSON with the ranks to start, then names of signals, one on each line; at its end the
ranks are killed. A program of its own that imports only the standard library, so that it starts fast.
"""

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from typing import Any

LEAVING = 219  # this worker is being stopped; the exit codes of its ranks do not count
KILLED = 250  # a rank was killed; 137 means that the supervisor itself was killed
_PATIENCE = 10.0  # seconds that ranks have to end after the first failure
_NOT_FOUND, _NOT_RUN = 127, 126
_NAMES = {"TERM": signal.SIGTERM, "INT": signal.SIGINT, "KILL": signal.SIGKILL}


class RankSupervisor:
    def __init__(self, order: dict[str, Any], heard: bytes) -> None:
        """`heard` are names of signals that arrived with the order."""
        self._order = order
        self._heard = heard
        self._running: dict[int, subprocess.Popen[bytes]] = {}
        self._failed = 0
        self._leaving = False
        self._wake, self._waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._deadline: float | None = None

    def run(self) -> int:
        signal.set_wakeup_fd(self._waker, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, self._on_sigterm)
        signal.signal(signal.SIGINT, lambda *_: None)  # it arrives on standard input where it is meant
        for variables in self._order["ranks"]:
            if self._failed or not self._start(variables):
                break
        self._forward(self._heard)
        self._wait_for_end()
        return LEAVING if self._leaving else self._failed

    def _start(self, variables: dict[str, str]) -> bool:
        command = self._order["command"]
        try:
            process = subprocess.Popen(
                command,
                env={**os.environ, **self._order["variables"], **variables},
                cwd=_folder(self._order),
                stdin=subprocess.DEVNULL,
                stderr=subprocess.STDOUT if self._order["merge"] else None,
                start_new_session=True,
            )
        except OSError as problem:
            rank = variables["OMPI_COMM_WORLD_RANK"]
            sys.stderr.write(f"mpirun: rank {rank} cannot run {command[0]}: {problem.strerror}\n")
            self._fail(_NOT_FOUND if isinstance(problem, FileNotFoundError) else _NOT_RUN)
            return False
        self._running[process.pid] = process
        return True

    def _wait_for_end(self) -> None:
        poll = select.poll()
        poll.register(self._wake, select.POLLIN)
        poll.register(0, select.POLLIN)
        while self._running:
            for file, _ in poll.poll(self._time_left()):
                if file == self._wake:
                    os.read(self._wake, 4096)
                elif not self._listen():
                    poll.unregister(0)
            if self._deadline is not None and time.monotonic() >= self._deadline:
                self._signal_all(signal.SIGKILL)
            self._reap()

    def _time_left(self) -> float | None:
        """In milliseconds; None without a deadline."""
        return None if self._deadline is None else max(0.0, self._deadline - time.monotonic()) * 1000

    def _listen(self) -> bool:
        """Reads names of signals. False at the end of the input."""
        words = os.read(0, 4096)
        self._forward(words or b"KILL")
        return bool(words)

    def _forward(self, words: bytes) -> None:
        for word in words.decode(errors="replace").split():
            self._signal_all(_NAMES.get(word, signal.SIGTERM))

    def _reap(self) -> None:
        for process in list(self._running.values()):
            code = process.poll()
            if code is None:
                continue
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)  # processes that the rank left behind
            del self._running[process.pid]
            if code:
                self._fail(KILLED if code in (-signal.SIGKILL, 128 + signal.SIGKILL) else code)

    def _fail(self, code: int) -> None:
        """The first failure determines the exit code; the other ranks get SIGTERM."""
        if not self._failed:
            self._failed = 128 - code if code < 0 else code
            self._deadline = time.monotonic() + _PATIENCE
            self._signal_all(signal.SIGTERM)

    def _on_sigterm(self, *_: object) -> None:
        self._leaving = True
        self._signal_all(signal.SIGTERM)

    def _signal_all(self, number: int) -> None:
        for pid in list(self._running):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, number)


def _folder(order: dict[str, Any]) -> str | None:
    """The folder of the command line or of mpirun, where it exists here; else the worker's."""
    folder: str = order["folder"]
    return folder if folder and (order["folder_is_asked"] or os.path.isdir(folder)) else None


def _order_and_rest() -> tuple[dict[str, Any], bytes]:
    text = b""
    while b"\n" not in text and (block := os.read(0, 1 << 16)):
        text += block
    line, _, rest = text.partition(b"\n")
    return json.loads(line), rest


if __name__ == "__main__":
    sys.exit(RankSupervisor(*_order_and_rest()).run())
