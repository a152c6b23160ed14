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
        self._refusals: dict[str, int] = {}  # how many of a gang's writes were refused in a row
        self._at: dict[str, float] = {}  # when a gang is tried again

    def begin(self, gangs: Container[str]) -> None:
        """Called before a plan is applied: gangs whose delay is over are tried again."""
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
        """A conflict with another writer is common and ends soon. Any other refusal may last, so it is shown on the
        job."""
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
    """How many seconds a controller may take."""

    make: float = 30.0  # to create the pods of a stage
    remake: float = 300.0  # to create a pod again after its eviction: the controller may back off


class MissingPods:
    def __init__(self, context: ApplyContext, retries: WriteRetries, patience: PodPatience) -> None:
        self._context = context
        self._retries = retries
        self._patience = patience
        self._lacking: dict[str, float] = {}  # gang -> since when
        self._limits: dict[str, float] = {}  # gang -> for how many seconds it may lack pods
        self._passed_over: list[PassedOver] = []  # since the last take_passed_over

    def take_passed_over(self) -> list[PassedOver]:
        """The gangs that the next plans leave out, each once."""
        taken, self._passed_over = self._passed_over, []
        return taken

    def _as_seen(self, gang: str) -> PassedOver:
        view = self._context.view
        return PassedOver.of(gang, view.pods_of(gang), view.job_of(gang))

    async def blocked(self, by_gang: Mapping[str, GangChanges]) -> set[str]:
        """The gangs whose changes have to wait for pods."""
        waiting = [changes.gang for changes in by_gang.values() if self._lacks_first_stage(changes)]
        begun = [changes.gang for changes in by_gang.values() if lacks_pods(changes.gang)]
        await self._give_back(self._overdue([*waiting, *begun]))
        paused = [gang for gang in _preemptors(by_gang) if gang.suspension is Suspension.REQUEUED]
        await run_all(partial(self._resume_to_make_pods, gang) for gang in paused)
        return {gang.key for gang in (*waiting, *paused)}

    def next_look(self) -> float | None:
        """When the first gang exceeds its limit."""
        return min((since + self._limits[key] for key, since in self._lacking.items()), default=None)

    def _lacks_first_stage(self, changes: GangChanges) -> bool:
        gang = changes.gang
        wanted = changes.starts or (dict(changes.holds or ()) if changes.waits_for and not gang.seated() else {})
        if not wanted or gang.suspension is Suspension.REQUEUED:
            return False
        return lacks_first_stage(self._context, gang, wanted)

    def _overdue(self, gangs: Iterable[Gang]) -> list[Gang]:
        """The gangs that have lacked pods for longer than their limit. All other gangs are forgotten."""
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
        """A gang without seats is passed over. A gang that can run without the missing pods does so. Any other gang
        counts as stalled, and the next plan takes its seats."""
        for gang in overdue:
            try:
                if not await self._could_be_made(gang):
                    self._lacking[gang.key] = self._context.clock.now()
                    continue
                known = len(self._context.view.pods_of(gang.key))
                if gang.holds and (_can_do_without(gang) or not gang.seated()):
                    await hold_seats(self._context, gang, {})
                del self._lacking[gang.key]
                # A pod may have been created during that write.
                if not _can_do_without(gang) and len(self._context.view.pods_of(gang.key)) == known:
                    self._passed_over.append(self._as_seen(gang.key))
                    self._record(gang)
            except Refused as error:
                self._retries.refused(gang, error)

    async def _could_be_made(self, gang: Gang) -> bool:
        """If the controller waits until the pods of the earlier stage are ready, asks the API whether they are: the
        view does not keep that."""
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
        """A paused job has no pods, and no gang is preempted for pods that may never be created. So the job is resumed
        first, and waits for seats like any other."""
        try:
            await resume_job(self._context, gang, {})
        except Refused as error:
            self._retries.refused(gang, error)


def lacks_first_stage(context: ApplyContext, gang: Gang, seats: Mapping[str, str]) -> bool:
    """Whether the controller has not yet created those of the pods for these seats that it creates first."""
    stages = {m.name: m.stage for m in gang.members() if m.name in seats}
    first = min(stages.values(), default=0)
    return any(stages.get(member, first) == first for member in split_by_pod(context, gang, seats).absent)


def lacks_pods(gang: Gang) -> bool:
    """Whether some members have seats, and the controller could have created another pod by now, but has not."""
    return _next_to_be_made(gang) is not None


def _next_to_be_made(gang: Gang) -> Member | None:
    """A member with a reserved seat whose pod could exist by now; members that never had a seat come first."""
    due = (m for m, _ in gang.reserved() if not m.exists and _may_be_made(gang, m))
    return min(due, key=lambda m: (bool(m.last_node), m.stage), default=None)


def _may_be_made(gang: Gang, member: Member) -> bool:
    earlier = _stages_before(gang, member)
    if earlier and member.made is PodCreation.WHEN_DONE:  # members that are done are removed from the gang
        return False
    return all(m.node for m in earlier)


def _can_do_without(gang: Gang) -> bool:
    """Whether the gang runs with the members that have seats, and the others are optional."""
    return gang.elastic and len(gang.seated()) >= gang.minimum


def _stages_before(gang: Gang, member: Member) -> list[Member]:
    return [m for m in gang.members() if m.stage < member.stage]


def _preemptors(by_gang: Mapping[str, GangChanges]) -> list[Gang]:
    """The gangs for which other gangs are preempted."""
    return [by_gang[key].gang for key in sorted({changes.by for changes in by_gang.values() if changes.by in by_gang})]
