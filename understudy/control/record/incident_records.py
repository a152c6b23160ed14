"""Writes incidents in the background, after all urgent writes, and reads those of earlier loops.

Where the cluster does not serve the kind, it is asked again later; until then incidents exist as events only."""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from http import HTTPStatus
from typing import NamedTuple

import msgspec

from understudy.control.clock import wait_for
from understudy.control.record.event_recorder import RETRYABLE
from understudy.control.record.writes import RecordWrites
from understudy.model.incidents import Incident
from understudy.objects.incidents import document_of, incident_of
from understudy.objects.resources import INCIDENTS
from understudy.ports import ChangeType, Clock, ClusterReader, Ref, Refused, Unreachable

WRITE_DELAY = 1.0  # seconds for which the steps of an open incident are collected into one write
PAUSE = 0.02  # between two batches of writes
AT_ONCE = 8
ABSENT_RETRY = 15.0  # seconds before a kind that the cluster did not serve is asked for again
RETRY = 1.0

_log = logging.getLogger(__name__)
Name = tuple[str, str]  # (namespace, name)


class IncidentStore(NamedTuple):
    """Where incidents are kept."""

    cluster: ClusterReader
    writer: RecordWrites
    keep: int  # number of closed incidents to keep; older ones are deleted


class IncidentRecords:
    """`adopt` is called for every open incident that is found in the cluster."""

    def __init__(self, store: IncidentStore, clock: Clock, adopt: Callable[[Incident], None]) -> None:
        self._cluster, self._writer, self._keep = store
        self._clock = clock
        self._adopt = adopt
        self._kept: dict[Name, Incident] = {}  # as the cluster shows them
        self._new: dict[Name, Incident] = {}  # changes to be written
        self._due: dict[Name, float] = {}
        self.loaded = asyncio.Event()  # the incidents of earlier loops are known, if the cluster can be read
        self._served = asyncio.Event()  # the cluster serves the kind and has listed all incidents
        self._more = asyncio.Event()
        self._writing: set[Name] = set()  # two writes of one incident never run at the same time
        self._group: asyncio.TaskGroup | None = None  # while `run` runs
        self._writes = False  # False while another loop leads: its incidents are only read

    @property
    def idle(self) -> bool:
        """Whether no write is pending."""
        now = self._clock.now()
        return not self._writing and not (self._served.is_set() and any(due <= now for due in self._due.values()))

    def open_of(self, gang: str, uid: str) -> Incident | None:
        found = [one for one in self._kept.values() if one.open and (one.gang, one.uid) == (gang, uid)]
        return min(found, key=lambda one: (one.detected_at, one.name), default=None)

    def has(self, incident: Incident) -> bool:
        return _name_of(incident) in self._kept

    def put(self, incident: Incident) -> None:
        """The incident is written after WRITE_DELAY, or earlier after `hurry`."""
        name = _name_of(incident)
        self._new[name] = incident
        self._due.setdefault(name, self._clock.now() + WRITE_DELAY)
        self._more.set()

    def write_at_once(self, incident: Incident) -> None:
        """The write begins now, before all others that have not begun."""
        name = _name_of(incident)
        if name not in self._due:
            return
        self._due[name] = self._clock.now()
        if self._group is not None and self._served.is_set() and len(self._writing) < AT_ONCE:
            self._group.create_task(self._write_one(name))
        else:
            self._more.set()

    def drop(self, incident: Incident) -> None:
        """The incident is neither written nor kept any longer."""
        name = _name_of(incident)
        self._new.pop(name, None)
        self._due.pop(name, None)

    def take_over(self) -> None:
        """From now on this loop writes, and goes on with incidents that other loops left open."""
        self._writes = True
        for incident in [one for one in self._kept.values() if one.open]:
            self._adopt(incident)

    # Read

    async def follow(self) -> None:
        while True:
            pause = RETRY
            try:
                changes = self._cluster.follow(INCIDENTS)
                async with contextlib.aclosing(changes):  # type: ignore[type-var]
                    async for change in changes:
                        self._heard(change.type, change.raw)
            except Refused as error:
                pause = ABSENT_RETRY
                if error.code != HTTPStatus.NOT_FOUND:
                    _log.warning("cannot follow %s: %s", INCIDENTS.key, error)
                self._forget_oldest()
            except Unreachable as error:
                _log.warning("cannot follow %s: %s", INCIDENTS.key, error)
            self.loaded.set()
            self._served.clear()
            self._kept.clear()
            await self._clock.sleep(pause)

    def _heard(self, change: ChangeType, raw: bytes) -> None:
        if change is ChangeType.SYNCED:
            self.loaded.set()
            self._served.set()
            self._more.set()
            return
        try:
            incident = incident_of(raw)
        except (ValueError, msgspec.DecodeError):
            return  # not written by a scheduler, or damaged
        name = _name_of(incident)
        if change is ChangeType.DELETED:
            self._kept.pop(name, None)
            return
        if not self._writes:
            self._kept[name] = incident
            return
        # For incidents that were written here, the watch is older: it may show one as open that is closed here.
        self._kept[name] = self._new.get(name, incident)
        if not incident.open and name not in self._due:
            self._new.pop(name, None)
        elif incident.open and name not in self._new:
            self._adopt(incident)

    def _forget_oldest(self) -> None:
        """While the cluster cannot be written to, which may last, the oldest changes are dropped."""
        closed = sorted((one for one in self._new.values() if not one.open), key=lambda one: one.detected_at)
        for incident in closed[: max(0, len(closed) - self._keep)]:
            self.drop(incident)

    # Write

    async def write(self) -> None:
        async with asyncio.TaskGroup() as group:
            self._group = group
            group.create_task(self._write_on())

    async def _write_on(self) -> None:
        while True:
            await self._served.wait()
            self._more.clear()
            now = self._clock.now()
            waiting = {name: at for name, at in self._due.items() if name not in self._writing}
            due = [name for name, at in waiting.items() if at <= now][:AT_ONCE]
            if not due:
                await wait_for(self._more, self._clock, min(waiting.values(), default=None))
                continue
            await asyncio.gather(*(self._write_one(name) for name in due))
            await self._clock.sleep(PAUSE)

    async def _write_one(self, name: Name) -> None:
        incident = self._new.get(name)
        if incident is None or name in self._writing or self._due.pop(name, None) is None:
            return
        self._writing.add(name)
        try:
            await self._writer.put_incident(Ref(INCIDENTS, *name), document_of(incident), name in self._kept)
            self._kept[name] = incident
            await self._prune()
        except (Refused, Unreachable) as error:
            if isinstance(error, Refused) and error.code not in (*RETRYABLE, HTTPStatus.CONFLICT):
                _log.debug("incident %s is not written: %s", name[1], error)
            else:
                self._due.setdefault(name, self._clock.now() + RETRY)
        finally:
            self._writing.discard(name)
            self._more.set()

    async def _prune(self) -> None:
        """Keeps the newest closed incidents, up to the limit, and all open ones."""
        surplus = len(self._kept) - self._keep
        if surplus <= 0:
            return
        closed = sorted((one.detected_at, name) for name, one in self._kept.items() if not one.open)
        for _, name in closed[:surplus]:
            self._kept.pop(name, None)
            with contextlib.suppress(Refused, Unreachable):
                await self._writer.delete_incident(Ref(INCIDENTS, *name))


def _name_of(incident: Incident) -> Name:
    return (incident.namespace, incident.name)
