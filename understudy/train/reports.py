"""Reports the time of the last checkpoint on the job, from a thread, at most every few seconds."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

log = logging.getLogger("understudy.train")
PAUSE = 10.0  # seconds between two reports


class Reporter:
    """`send` is given the newest moment as text and may fail."""

    def __init__(self, send: Callable[[str], None], pause: float = PAUSE) -> None:
        self._send = send
        self._pause = pause
        self._moment = self._sent = 0.0
        self._news = threading.Event()
        self._closing = threading.Event()
        self._hurry = threading.Event()  # the next report does not wait for the pause to end
        self._warned = False
        self._thread = threading.Thread(target=self._work, name="understudy-reports", daemon=True)
        self._thread.start()

    def tell(self, moment: float, at_once: bool = False) -> None:
        self._moment = moment
        if at_once:
            self._hurry.set()
        self._news.set()

    def close(self, seconds: float) -> None:
        """Waits that long for the last report."""
        self._closing.set()
        self._hurry.set()
        self._news.set()
        self._thread.join(seconds)

    def _work(self) -> None:
        while True:
            self._news.wait()
            self._news.clear()
            self._hurry.clear()
            if (moment := self._moment) != self._sent:
                self._report(moment)
            if self._closing.is_set() and self._moment == moment:
                return
            if not self._closing.is_set():
                self._hurry.wait(self._pause)

    def _report(self, moment: float) -> None:
        self._sent = moment
        try:
            self._send(written(moment))
        except Exception as problem:  # no failure of a report may stop the training
            if not self._warned:
                self._warned = True
                log.warning("the last checkpoint is not reported on the job: %s", problem)


def written(moment: float) -> str:
    """RFC 3339, rounded down: what is not saved yet must not count as safe. A fraction is kept, since a checkpoint may
    begin in the same second in which a notice comes."""
    fraction = f".{int(moment % 1 * 1e6):06d}" if moment % 1 else ""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(moment)) + f"{fraction}Z"
