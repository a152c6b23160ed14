"""How long to wait: for pods that a controller has yet to make, and before a write that was refused is tried again."""

from collections.abc import Container, Iterable

from understudy.control.telling import About, Teller
from understudy.control.view import View
from understudy.model.gangs import Gang
from understudy.ports import Clock

FIRST_RETRY, LAST_RETRY = 0.1, 30.0


class Patience:
    """A gang whose pods are not made within `limit` seconds is passed over until one of them is: nobody keeps a seat
    for pods that may never come."""

    def __init__(self, clock: Clock, view: View, teller: Teller, limit: float) -> None:
        self._clock = clock
        self._view = view
        self._teller = teller
        self._limit = limit
        self._lacking: dict[str, float] = {}  # gang -> since when
        self._stumbles: dict[str, int] = {}  # how often in a row a gang's writes were refused
        self._retries: dict[str, float] = {}  # when they are tried again

    def waits_for_pods(self, gangs: Iterable[Gang]) -> None:
        """These gangs, and no others, could be seated if only their pods were there."""
        now = self._clock.now()
        waiting = {gang.key: gang for gang in gangs}
        self._lacking = {key: self._lacking.get(key, now) for key in waiting}
        for key, since in list(self._lacking.items()):
            if now - since >= self._limit:
                del self._lacking[key]
                self._view.pass_over(key)
                self._tell(waiting[key])

    def _tell(self, gang: Gang) -> None:
        job = self._view.job_of(gang.key)
        missing = sum(1 for member in gang.members() if not member.exists)
        if job is not None:
            words = f"{missing} of its {gang.size} pods have not been made by its controller; nothing is kept for it"
            self._teller.waits(About.of(job), words)

    def begin(self, gangs: Container[str]) -> None:
        """A plan is about to be carried out: what has waited long enough is tried again."""
        now = self._clock.now()
        self._retries = {key: at for key, at in self._retries.items() if at > now and key in gangs}
        if self._stumbles:
            self._stumbles = {key: times for key, times in self._stumbles.items() if key in gangs}

    def stumbled(self, key: str) -> None:
        times = self._stumbles.get(key, 0)
        self._stumbles[key] = times + 1
        self._retries[key] = self._clock.now() + min(FIRST_RETRY * 2.0 ** min(times, 20), LAST_RETRY)

    def went_well(self, key: str) -> None:
        self._stumbles.pop(key, None)

    def is_backing_off(self, key: str) -> bool:
        return key in self._retries

    def next_look(self) -> float | None:
        """When something that was put off should be tried again, or is given up."""
        given_up = (since + self._limit for since in self._lacking.values())
        return min((*self._retries.values(), *given_up), default=None)
