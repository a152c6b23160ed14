"""Writes that the cluster refused: each gang is told, and tried again by itself, later every time."""

import logging
from collections.abc import Container

from understudy.control.desk import CONFLICT, NOT_FOUND, Desk
from understudy.control.holding import book_of
from understudy.control.telling import About, Happening
from understudy.model.gangs import Gang
from understudy.ports import Refused

FIRST_RETRY, LAST_RETRY = 0.1, 30.0

_log = logging.getLogger(__name__)


class Retries:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._clock = desk.clock
        self._stumbles: dict[str, int] = {}  # how often in a row a gang's writes were refused
        self._at: dict[str, float] = {}  # when they are tried again

    def begin(self, gangs: Container[str]) -> None:
        """A plan is about to be carried out: what has waited long enough is tried again."""
        now = self._clock.now()
        self._at = {key: at for key, at in self._at.items() if at > now and key in gangs}
        if self._stumbles:
            self._stumbles = {key: times for key, times in self._stumbles.items() if key in gangs}

    def refused(self, gang: Gang, error: Refused) -> None:
        times = self._stumbles.get(gang.key, 0)
        self._stumbles[gang.key] = times + 1
        self._at[gang.key] = self._clock.now() + min(FIRST_RETRY * 2.0 ** min(times, 20), LAST_RETRY)
        self._tell(gang, error)

    def _tell(self, gang: Gang, error: Refused) -> None:
        """Another writer is quicker every day. Any other refusal may last, so it has to be seen on the job."""
        if error.code in (CONFLICT, NOT_FOUND):
            _log.info("%s: the cluster refused a write: %s", gang.key, error)
            return
        _log.warning("%s: the cluster refused a write: %s", gang.key, error)
        if book := book_of(self._desk, gang):
            words = f"The cluster refused what was decided, which is tried again: {error}"
            self._desk.teller.event(About.of(book), Happening("WriteRefused", words, warning=True))

    def went_well(self, key: str) -> None:
        self._stumbles.pop(key, None)

    def is_backing_off(self, key: str) -> bool:
        return key in self._at

    def next_look(self) -> float | None:
        return min(self._at.values(), default=None)
