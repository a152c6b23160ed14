"""Log lines of the processes of a cluster: written to a file descriptor, or dropped and counted.

A full disk, a broken pipe or a closed descriptor may cost lines of the log, but never ends the process that writes it.
"""

import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable

STDERR = 2
RETRY = 5.0  # seconds

Stamp = Callable[[str], str]  # a text into a whole line, without its end


class LogOutput:
    """`write` never raises. When writing works again, the first line says how many lines are missing."""

    def __init__(self, descriptor: int, stamp: Stamp) -> None:
        """`stamp` formats the line about missing lines."""
        self._descriptor = descriptor
        self._stamp = stamp
        self._lock = threading.Lock()  # logging handlers are called by any thread
        self._dropped = 0
        self._problem = ""
        self._is_torn = False  # the last line was written in part
        self.retrying = self._retrier()

    def write(self, line: str) -> None:
        with self._lock:
            try:
                self._tell_missing()
                self._put(line)
            except OSError as error:
                self._dropped += 1
                self._problem = error.strerror or str(error)
                if not self.retrying.is_alive():
                    self.retrying = self._retrier()
                    self.retrying.start()

    def _retrier(self) -> threading.Thread:
        return threading.Thread(target=self._retry, name="log-output", daemon=True)

    def _retry(self) -> None:
        """Reports missing lines also when the process has nothing more to log."""
        while self._dropped:
            time.sleep(RETRY)
            with self._lock, contextlib.suppress(OSError):
                self._tell_missing()

    def _tell_missing(self) -> None:
        if self._dropped:
            self._put(self._stamp(missing(self._dropped, self._problem)))
            self._dropped = 0

    def _put(self, line: str) -> None:
        text = f"{line}\n".encode(errors="backslashreplace")
        view = memoryview(b"\n" + text if self._is_torn else text)
        while view:
            view = view[os.write(self._descriptor, view) :]
            self._is_torn = bool(view)


class LogOutputHandler(logging.Handler):
    def __init__(self, descriptor: int = STDERR) -> None:
        super().__init__()
        self._output = LogOutput(descriptor, self._warning)

    def emit(self, record: logging.LogRecord) -> None:
        try:
            line = self.format(record)
        except Exception:
            self.handleError(record)
        else:
            self._output.write(line)

    def _warning(self, text: str) -> str:
        return self.format(logging.LogRecord(__name__, logging.WARNING, __file__, 0, text, (), None))


def missing(lines: int, problem: str) -> str:
    return f"{lines} line{'s' * (lines != 1)} of this log could not be written: {problem}"


def log_to_stderr(form: str) -> None:
    """Sends all log records of this process to stderr; `form` is a format of the logging module."""
    logging.basicConfig(level=logging.INFO, format=form, handlers=[LogOutputHandler()])


def timestamped(form: str, descriptor: int = STDERR) -> Callable[[str], None]:
    """Returns a function that writes lines that begin with the time, in a format of strftime."""

    def stamp(text: str) -> str:
        return f"{time.strftime(form)} {text}"

    output = LogOutput(descriptor, stamp)
    return lambda text: output.write(stamp(text))
