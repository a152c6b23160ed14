"""The checkpoints of a training loop: when to save, when to stop, where to go on from. One rank writes, all agree."""

from __future__ import annotations

import dataclasses
import logging
import os
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from understudy.train import job_environment, notices, stop_signals
from understudy.train.checkpoint_folder import CheckpointFolder, NoneReadable
from understudy.train.reports import Reporter

log = logging.getLogger("understudy.train")

_GO_ON, _SAVE, _STOP = 0, 1, 2  # what a rank has to say after a step; the greatest of it is done by all
_EVERY_SECONDS = 600.0
_LAST_WORDS = 3.0  # seconds that the last report may take


@dataclasses.dataclass
class Checkpoints:
    """`write(path)` makes a file or a folder of all that the next step depends on; `read(path)` takes it from there.

    `agree(number)` gives back the greatest number that any rank came with. It is the caller's own reduction, and is
    called at the same places by all ranks: without it, each rank saves and stops by itself.
    """

    folder: str | os.PathLike[str]
    write: Callable[[Path], object]
    read: Callable[[Path], object]
    every_steps: int | None = None
    every_seconds: float | None = None  # 600 where nothing is said of steps either
    keep: int = 2
    rank: int | None = None
    shared: bool = True  # one folder for all, which rank 0 writes; else a folder in it for each rank
    agree: Callable[[int], int] | None = None
    agree_every: int = 1  # steps; each time costs a round among the ranks
    report: bool = True

    def __post_init__(self) -> None:
        for name, count in (("every_steps", self.every_steps), ("agree_every", self.agree_every)):
            if count is not None and count < 1:
                raise ValueError(f"{name}={count}: write 1 or more")
        if self.every_steps is None and self.every_seconds is None:
            self.every_seconds = _EVERY_SECONDS
        self.rank = job_environment.rank() if self.rank is None else self.rank
        self.writes = self.rank == 0 or not self.shared
        folder = Path(self.folder)
        self._folder = CheckpointFolder(folder if self.shared else folder / f"rank-{self.rank}", self.keep)
        self._safe_step = 0  # what is saved
        self._tried_step = 0  # and what was to be
        self._tried_at = time.monotonic()
        self._reporter: Reporter | None = None
        self._answered: notices.Notice | None = None  # the notice after which a checkpoint was saved, or failed

    def __enter__(self) -> Checkpoints:
        """Listens for the stop; in the main thread, and after libraries that take over signals."""
        stop_signals.watch()
        if self.agree is None and job_environment.size() > 1:
            log.warning(
                "%d ranks and no agree=: a stop that they notice at different steps leaves some of them waiting for "
                "the others", job_environment.size()
            )  # fmt: skip
        if self.writes:
            self._folder.clear_up()
        if self.report and self.rank == 0:
            self._reporter = _reporter()
        if self.rank == 0 or (self.writes and self.agree is None):  # with `agree`, one rank tells the others
            notices.begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._reporter is not None:
            stop = stop_signals.stopping()
            self._reporter.close(_LAST_WORDS if stop is None else min(_LAST_WORDS, stop.seconds_left))
            self._reporter = None

    def resume(self) -> int:
        """Reads the newest checkpoint that all ranks can read; how many steps were done by then.

        Those that cannot be read are skipped with a warning. Raises NoneReadable where there are some and none will do.
        """
        step = self._together(-self._folder.newest(), least=True)
        first = step
        while step:
            unreadable = self._problem_with(step)
            if not self._together(int(unreadable is not None)):
                self._note(step, safe=True)
                return step
            log.warning("the checkpoint of step %d is skipped: %s", step, unreadable or "another rank cannot read it")
            step = self._together(-self._folder.newest(below=step), least=True)
        if first:
            raise NoneReadable(f"no checkpoint in {self._folder.folder} can be read; move them away to begin anew")
        return 0

    def _problem_with(self, step: int) -> str | None:
        try:
            self.read(self._folder.place(step))
        except Exception as problem:  # half a file shows itself in many ways
            return f"{type(problem).__name__}: {problem}"
        return None

    def after(self, step: int) -> None:
        """To be called when so many steps are done: saves where it is time to, and once when a machine of the job is
        about to go; on a stop saves, and leaves."""
        if self.agree is not None and step % self.agree_every:
            return
        word = self._together(self._word(step))
        if word == _STOP:
            if step != self._safe_step:
                self.save(step)
            log.info("told to go: saved at step %d", step)
            stop_signals.leave()
        if word == _SAVE:
            try:
                self.save(step)
            except OSError as problem:  # a full disk costs a checkpoint, not the training
                log.warning("step %d is not saved: %s", step, problem)
                self._note(step, safe=False)
                self._answered = notices.latest()

    def save(self, step: int) -> None:
        """Now. What `write` raises comes through, and the checkpoints are as they were."""
        began, notice = time.time(), notices.latest()
        if self.writes:
            self._folder.put(step, self.write)
        self._note(step, safe=True)
        if self._reporter is not None:
            self._reporter.tell(began, at_once=notice is not None and notice != self._answered)
        self._answered = notice

    def due(self, step: int) -> bool:
        if step <= self._tried_step:
            return False
        if self.every_steps is not None and step - self._tried_step >= self.every_steps:
            return True
        return self.every_seconds is not None and time.monotonic() - self._tried_at >= self.every_seconds

    def _word(self, step: int) -> int:
        if stop_signals.stopping() is not None:
            return _STOP
        if (notice := notices.latest()) is not None and notice != self._answered:
            return _SAVE
        return _SAVE if self.writes and self.due(step) else _GO_ON

    def _together(self, number: int, least: bool = False) -> int:
        """The greatest that any rank says; with `least` it was negated, and is given back as it was."""
        agreed = number if self.agree is None else int(self.agree(number))
        return -agreed if least else agreed

    def _note(self, step: int, *, safe: bool) -> None:
        self._tried_step = step
        self._tried_at = time.monotonic()
        if safe:
            self._safe_step = step


def _reporter() -> Reporter | None:
    """None where there is no cluster to report to."""
    from understudy.train import job_client  # with ssl, which takes its time to load

    try:
        return Reporter(job_client.Job().report) if job_client.access() is not None else None
    except (OSError, ValueError, LookupError) as problem:
        log.warning("checkpoints are not reported on the job: %s", problem)
        return None
