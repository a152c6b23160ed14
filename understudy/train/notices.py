"""Notices: turns an annotation that the scheduler writes on the pod into by when the job should have saved.

A thread reads the annotation: from a file, as the downward API projects it, or else from the API with the pod's token.
Between two looks, asking costs a read of one attribute."""

from __future__ import annotations

import dataclasses
import logging
import os
import re
import threading
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from understudy.train import job_environment

log = logging.getLogger("understudy.train")

CHECKPOINT_BY = "understudy.dev/checkpoint-by"
FILE_PAUSE = 0.5  # seconds between two looks into the file
API_PAUSE = 5.0  # seconds between two requests to the API
LONGEST_PAUSE = 60.0  # after requests that failed
_PODINFO = Path("/etc/podinfo/annotations")  # where the documentation of Kubernetes projects them
_ENTRY = re.compile(rf'^{re.escape(CHECKPOINT_BY)}="([^"]*)"$', re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Notice:
    """A machine of the job will go, and the job moves. What is saved by then is not lost."""

    by: float  # in seconds since 1970

    @property
    def seconds_left(self) -> float:
        return max(self.by - time.time(), 0.0)


class NoticeWatch:
    """`look` returns the text of the annotation, '' where there is none. It may fail."""

    def __init__(self, look: Callable[[], str], pause: float) -> None:
        self.notice: Notice | None = None
        self._look = look
        self._pause = pause
        self._failures = 0
        self._ended = threading.Event()
        threading.Thread(target=self._work, name="understudy-notices", daemon=True).start()

    def end(self) -> None:
        self._ended.set()

    def _work(self) -> None:
        while not self._ended.is_set():
            try:
                text = self._look()
                self.notice = Notice(_moment(text)) if text else None
                self._failures = 0
            except Exception as problem:  # no failure here may stop the training
                self._failures += 1
                if self._failures == 1:
                    log.warning("it is not known whether a machine of the job will go: %s", problem)
            self._ended.wait(min(self._pause * 2 ** min(self._failures, 10), max(self._pause, LONGEST_PAUSE)))


_watch: NoticeWatch | None = None


def begin() -> None:
    """Watches from now on, if there is a file or an API to read the annotation from."""
    global _watch
    if _watch is None:
        _watch = _source()


def latest() -> Notice | None:
    """What was seen last; None before `begin`."""
    return None if _watch is None else _watch.notice


def notice() -> Notice | None:
    """None, or by when the job should have saved, since a machine of it will go. Begins to watch when first asked."""
    begin()
    return latest()


def _source() -> NoticeWatch | None:
    if given := os.environ.get(job_environment.ANNOTATIONS):
        return NoticeWatch(lambda: from_file(Path(given)), FILE_PAUSE)
    if _PODINFO.is_file():
        return NoticeWatch(lambda: from_file(_PODINFO), FILE_PAUSE)
    from understudy.train import job_client  # with ssl, which takes its time to load

    try:
        if job_client.access() is not None:
            return NoticeWatch(lambda: job_client.pod_annotation(CHECKPOINT_BY), API_PAUSE)
    except (OSError, ValueError, LookupError) as problem:
        log.warning("it is not known whether a machine of the job will go: %s", problem)
    return None


def from_file(path: Path) -> str:
    """From a list of annotations in the form of the downward API. The file may come later, with the first notice."""
    try:
        found = _ENTRY.search(path.read_text())
    except FileNotFoundError:
        return ""
    return found[1] if found else ""


def _moment(text: str) -> float:
    """Python before 3.11 does not read the Z."""
    return datetime.fromisoformat(text.strip().replace("Z", "+00:00")).timestamp()


def _forget() -> None:
    """In a child process the thread does not run."""
    global _watch
    _watch = None


os.register_at_fork(after_in_child=_forget)
