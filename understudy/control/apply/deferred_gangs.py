"""Gangs whose changes have to wait: their pods are not made yet, or the cluster refused a write."""

import logging
from collections.abc import Container, Iterable, Mapping
from functools import partial
from http import HTTPStatus

import msgspec

from understudy.control.apply.context import ApplyContext
from understudy.control.apply.gang_changes import GangChanges
from understudy.control.apply.seats import annotated_object, hold_seats, resume_job, split_by_pod
from understudy.control.concurrency import run_all
from understudy.control.record.event_formats import EventSubject, EventText
from understudy.control.view.gang_parts import PassedOver
from understudy.model.gangs import Gang, Member, PodCreation, Suspension
from understudy.ports import Refused

FIRST_RETRY, LAST_RETRY = 0.1, 30.0
_log = logging.getLogger(__name__)


class WriteRetries:
    def __init__(self, context: ApplyContext) -> None:
        self._context = context
        self._clock = context.clock
        self._refusals: dict[str, int] = {}  # how often in a row a gang's writes were refused
        self._at: dict[str, float] = {}  # when they are tried again

    def begin(self, gangs: Container[str]) -> None:
        """A plan is about to be carried out: what has waited long enough is tried again."""
        now = self._clock.now()
        self._at = {key: at for key, at in self._at.items() if at > now and key in gangs}
        if self._refusals:
            self._refusals = {key: times for key, times in self._refusals.items() if key in gangs}

    def refused(self, gang: Gang, error: Refused) -> None:
        times = self._refusals.get(gang.key, 0)
        self._refusals[gang.key] = times + 1
        self._at[gang.key] = self._clock.now() + min(FIRST_RETRY * 2.0 ** min(times, 20), LAST_RETRY)
        self._record(gang, error)

    def _record(self, gang: Gang, error: Refused) -> None:
        """Another writer is quicker every day. Any other refusal may last, so it has to be seen on the job."""
        if error.code in (HTTPStatus.CONFLICT, HTTPStatus.NOT_FOUND):
            _log.info("%s: the cluster refused a write: %s", gang.key, error)
            return
        _log.warning("%s: the cluster refused a write: %s", gang.key, error)
        if book := annotated_object(self._context, gang):
            words = f"The cluster refused what was decided, which is tried again: {error}"
            self._context.recorder.event(EventSubject.of(book), EventText("WriteRefused", words, warning=True))

    def succeeded(self, key: str) -> None:
        self._refusals.pop(key, None)

    def is_delayed(self, key: str) -> bool:
        return key in self._at

    def next_look(self) -> float | None:
        return min(self._at.values(), default=None)


class PodPatience(msgspec.Struct, frozen=True):
    """Seconds that a controller is given."""

    make: float = 30.0  # to make the pods of a stage
    remake: float = 300.0  # to make a pod again that has left its seat: it may back off


class MissingPods:
    def __init__(self, context: ApplyContext, retries: WriteRetries, patience: PodPatience) -> None:
        self._context = context
        self._retries = retries
        self._patience = patience
        self._lacking: dict[str, float] = {}  # gang -> since when
        self._limits: dict[str, float] = {}  # gang -> for how many seconds it may lack them
        self._passed_over: list[PassedOver] = []  # since they were last taken

    def take_passed_over(self) -> list[PassedOver]:
        """The gangs that the next plans leave out, each once."""
        taken, self._passed_over = self._passed_over, []
        return taken

    def _as_seen(self, gang: str) -> PassedOver:
        view = self._context.view
        return PassedOver.of(gang, view.pods_of(gang), view.job_of(gang))

    async def blocked(self, by_gang: Mapping[str, GangChanges]) -> set[str]:
        """The gangs whose deeds have to wait for pods."""
        waiting = [changes.gang for changes in by_gang.values() if self._lacks_first_stage(changes)]
        begun = [changes.gang for changes in by_gang.values() if lacks_pods(changes.gang)]
        await self._give_back(self._overdue([*waiting, *begun]))
        paused = [gang for gang in _preemptors(by_gang) if gang.suspension is Suspension.REQUEUED]
        await run_all(partial(self._resume_to_make_pods, gang) for gang in paused)
        return {gang.key for gang in (*waiting, *paused)}

    def next_look(self) -> float | None:
        """When the first of them has lacked its pods for too long."""
        return min((since + self._limits[key] for key, since in self._lacking.items()), default=None)

    def _lacks_first_stage(self, changes: GangChanges) -> bool:
        gang = changes.gang
        wanted = changes.starts or (dict(changes.holds or ()) if changes.waits_for and not gang.seated() else {})
        if not wanted or gang.suspension is Suspension.REQUEUED:
            return False
        return lacks_first_stage(self._context, gang, wanted)

    def _overdue(self, gangs: Iterable[Gang]) -> list[Gang]:
        """Those that have lacked their pods for too long. These gangs, and no others, lack any."""
        now = self._context.clock.now()
        waiting = {gang.key: gang for gang in gangs}
        self._lacking = {key: self._lacking.get(key, now) for key in waiting}
        self._limits = {key: self._limit(gang) for key, gang in waiting.items()}
        return [waiting[key] for key, since in self._lacking.items() if now - since >= self._limits[key]]

    def _limit(self, gang: Gang) -> float:
        due = _next_to_be_made(gang)
        record_wait = due is not None and due.last_node and not _can_do_without(gang)
        return self._patience.remake if record_wait else self._patience.make

    async def _give_back(self, overdue: Iterable[Gang]) -> None:
        """A gang without seats is passed over; one that can do without those pods goes on without; any other counts as
        stalled, and the next plan takes its seats."""
        for gang in overdue:
            try:
                if not await self._could_be_made(gang):
                    self._lacking[gang.key] = self._context.clock.now()
                    continue
                known = len(self._context.view.pods_of(gang.key))
                if gang.holds and (_can_do_without(gang) or not gang.seated()):
                    await hold_seats(self._context, gang, {})
                del self._lacking[gang.key]
                # A pod may have come while that was written.
                if not _can_do_without(gang) and len(self._context.view.pods_of(gang.key)) == known:
                    self._passed_over.append(self._as_seen(gang.key))
                    self._record(gang)
            except Refused as error:
                self._retries.refused(gang, error)

    async def _could_be_made(self, gang: Gang) -> bool:
        """Where a controller waits until the pods of the stage before are ready, they are looked at: the view does not
        know."""
        due = _next_to_be_made(gang)
        if not gang.seated() or due is None or due.made is not PodCreation.WHEN_READY:
            return True
        return all([await self._context.is_ready(gang.namespace, m.name) for m in _stages_before(gang, due)])

    def _record(self, gang: Gang) -> None:
        job = self._context.view.job_of(gang.key)
        missing = sum(1 for member in gang.members() if not member.exists)
        if job is not None:
            words = f"{missing} of its {gang.size} pods have not been made by its controller; nothing is kept for it"
            self._context.recorder.record_wait(EventSubject.of(job), words)

    async def _resume_to_make_pods(self, gang: Gang) -> None:
        """A paused job has no pods, and no gang is preempted for pods that may not come. So the job goes on first, and
        waits for its seats like any other."""
        try:
            await resume_job(self._context, gang, {})
        except Refused as error:
            self._retries.refused(gang, error)


def lacks_first_stage(context: ApplyContext, gang: Gang, seats: Mapping[str, str]) -> bool:
    """Whether its controller has yet to make pods for these seats that it makes before any of the others sits."""
    stages = {m.name: m.stage for m in gang.members() if m.name in seats}
    first = min(stages.values(), default=0)
    return any(stages.get(member, first) == first for member in split_by_pod(context, gang, seats).absent)


def lacks_pods(gang: Gang) -> bool:
    """Whether some members sit, and the controller may make another of the pods by now, and has not."""
    return _next_to_be_made(gang) is not None


def _next_to_be_made(gang: Gang) -> Member | None:
    """Of the members with reserved seats whose pods could be there by now, one that has not sat before comes first."""
    due = (m for m, _ in gang.reserved() if not m.exists and _may_be_made(gang, m))
    return min(due, key=lambda m: (bool(m.last_node), m.stage), default=None)


def _may_be_made(gang: Gang, member: Member) -> bool:
    earlier = _stages_before(gang, member)
    if earlier and member.made is PodCreation.WHEN_DONE:  # once those are done, they are no members any more
        return False
    return all(m.node for m in earlier)


def _can_do_without(gang: Gang) -> bool:
    """Whether it runs with the members that sit, and the others are surplus."""
    return gang.elastic and len(gang.seated()) >= gang.minimum


def _stages_before(gang: Gang, member: Member) -> list[Member]:
    return [m for m in gang.members() if m.stage < member.stage]


def _preemptors(by_gang: Mapping[str, GangChanges]) -> list[Gang]:
    """The gangs for which others are to be preempted."""
    return [by_gang[key].gang for key in sorted({changes.by for changes in by_gang.values() if changes.by in by_gang})]
