"""Asks an autoscaler for machines: turns gangs that wait into ProvisioningRequests, written in the background.

The explained plan says which gangs wait for machines, the watch which requests exist, and names follow from the needs.
So nothing has to survive in memory. Where the kind is not served, it is looked for again later."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterator
from functools import partial

import msgspec

from understudy.control.apply.context import ApplyContext
from understudy.control.apply.provisioning_documents import (
    CLASS_NAME,
    CONSUMES,
    MAX_POD_SETS,
    NAME_START,
    SCHEDULER,
    AutoscalerSettings,
    MachineNeed,
    machine_need,
    waits_for_machines,
)
from understudy.control.apply.record_writer import RecordWriter
from understudy.control.apply.seats import annotated_object
from understudy.control.clock import wait_for
from understudy.control.concurrency import run_all
from understudy.control.record.event_formats import EventSubject, EventText
from understudy.control.record.event_recorder import RETRYABLE
from understudy.control.view.gang_parts import wants_a_seat
from understudy.model.gangs import Gang
from understudy.model.plans import Plan, Wait, WaitCode
from understudy.model.snapshot import Snapshot
from understudy.objects.meta import KubeObject
from understudy.objects.pods import Pod
from understudy.objects.provisioning_requests import ProvisioningRequest
from understudy.objects.resources import POD_TEMPLATES, PROVISIONING_REQUESTS
from understudy.ports import Change, ChangeType, Ref, Refused, Unreachable

FAILED = "ProvisioningFailed"
ABSENT_RETRY = 15.0  # seconds before a kind that the cluster did not serve is asked for again
RETRY = 1.0
MAX_TOLD = 10_000  # one that is forgotten is told again
_log = logging.getLogger(__name__)
Name = tuple[str, str]  # (namespace, name)
Write = Callable[[], Awaitable[None]]


class Wanted(msgspec.Struct, frozen=True):
    gang: str
    owner: KubeObject
    need: MachineNeed
    new: bool  # False: a request that exists is kept, and none is made


class ProvisioningRequests:
    def __init__(
        self, context: ApplyContext, writer: RecordWriter, settings: AutoscalerSettings, scheduler: str
    ) -> None:
        self._context = context
        self._writer = writer
        self._settings = settings
        self._scheduler = scheduler
        self._known: dict[Name, ProvisioningRequest] = {}
        self._attempts: dict[Name, dict[int, ProvisioningRequest]] = {}  # the same, by the name of the need
        self._needs: dict[str, tuple[Gang, str, MachineNeed | None]] = {}  # of gangs without seats; and their owner
        self._wanted: list[Wanted] | None = None  # None: no plan was made yet
        self._not_before: dict[object, float] = {}  # what was refused, and when it is tried again
        self._annotated: dict[str, tuple[str, str | None]] = {}  # by uid: the version the pod had, and what was written
        self._told: dict[str, None] = {}  # the failures of which events tell, the oldest first
        self._began = context.clock.now()
        self._served = asyncio.Event()
        self._more = asyncio.Event()
        self._writing = False

    @property
    def idle(self) -> bool:
        return not self._writing and not self._writes()

    # What is wanted

    def see(self, plan: Plan, snapshot: Snapshot) -> None:
        """Called with each plan that has the reasons of all gangs that wait."""
        if not self._settings.provisioning_class:
            return
        waits = [action for action in plan.actions if isinstance(action, Wait)]
        self._wanted = [wanted for wait in waits if (wanted := self._wanted_for(wait, snapshot)) is not None]
        self._needs = {one.gang: self._needs[one.gang] for one in self._wanted if one.gang in self._needs}
        if not self._wanted:
            self._annotated.clear()
        self._more.set()

    def _wanted_for(self, wait: Wait, snapshot: Snapshot) -> Wanted | None:
        new = waits_for_machines(wait.reason)
        if not new and wait.reason.code is not WaitCode.STILL_LEAVING:  # that passes in a moment
            return None
        gang = snapshot.gangs.get(wait.gang)
        owner = annotated_object(self._context, gang) if gang is not None and not gang.warm_for else None
        need = self._need(gang, snapshot, owner) if gang is not None and owner is not None else None
        if gang is None or owner is None or need is None or self._asks_for_itself(gang.key):
            return None
        if len(need.templates) > MAX_POD_SETS:
            self._tell(need.name, owner, f"its pods differ in more than {MAX_POD_SETS} ways, one request has no more")
            return None
        return Wanted(gang.key, owner, need, new)

    def _need(self, gang: Gang, snapshot: Snapshot, owner: KubeObject) -> MachineNeed | None:
        """Of a gang without seats it depends on the gang alone. Thousands of gangs may wait for hours."""
        known = self._needs.get(gang.key)
        if known is not None and known[0] is gang and known[1] == owner.metadata.uid:
            return known[2]
        need = machine_need(gang, snapshot, owner)
        if not any(member.node for member in gang.members()):
            self._needs[gang.key] = (gang, owner.metadata.uid, need)
        return need

    def _asks_for_itself(self, gang: str) -> bool:
        """Whether its pods name a request of their user's, or of Kueue's."""
        named = (pod.metadata.annotations.get(CONSUMES, NAME_START) for pod in self._context.view.pods_of(gang))
        return any(not name.startswith(NAME_START) for name in named)

    def _attempt(self, need: MachineNeed) -> tuple[int, float | None]:
        """The attempt that there should be now, and when the next one is due. A failed request stays until then."""
        attempts = self._attempts.get((need.namespace, need.name))
        if not attempts:
            return 1, None
        last = max(attempts)
        if (ended_at := attempts[last].ended_at) is None:
            return last, None
        again_at = ended_at + self._settings.retry_after
        return (last, again_at) if self._context.clock.now() < again_at else (last + 1, None)

    def _tell_of_failures(self) -> None:
        """What failed before this loop began was told by another one."""
        for wanted in self._wanted or ():
            attempts = self._attempts.get((wanted.need.namespace, wanted.need.name))
            last = attempts[max(attempts)] if attempts else None
            if last is not None and last.end is not None and (last.ended_at or 0.0) >= int(self._began):
                words = last.end.message or last.end.reason
                self._tell(last.metadata.name, wanted.owner, f"ProvisioningRequest {last.metadata.name}: {words}")

    def _tell(self, name: str, owner: KubeObject, words: str) -> None:
        if name not in self._told:
            self._told[name] = None
            if len(self._told) > MAX_TOLD:
                del self._told[next(iter(self._told))]
            _log.warning("no machines are provided for %s: %s", owner.title, words)
            text = EventText(FAILED, f"No machines are provided: {words}", warning=True)
            self._context.recorder.event(EventSubject.of(owner), text)

    # Read

    async def follow(self) -> None:
        """Only requests of this scheduler."""
        told = ""
        while self._settings.provisioning_class:
            pause = RETRY
            try:
                selector = f"{SCHEDULER}={self._scheduler}"
                changes = self._context.cluster.follow(PROVISIONING_REQUESTS, labels=selector)
                async with contextlib.aclosing(changes):  # type: ignore[type-var]
                    async for change in changes:
                        self._heard(change)
            except (Refused, Unreachable) as error:
                pause = ABSENT_RETRY if isinstance(error, Refused) else RETRY
                if told != str(error):
                    _log.warning("no machines are asked for, cannot follow %s: %s", PROVISIONING_REQUESTS.key, error)
                told = str(error)
            self._served.clear()
            self._known.clear()
            self._attempts.clear()
            await self._context.clock.sleep(pause)

    def _heard(self, change: Change) -> None:
        if change.type is ChangeType.SYNCED:
            self._served.set()
        else:
            try:
                request = msgspec.json.decode(change.raw, type=ProvisioningRequest)
            except msgspec.DecodeError:  # not as the kind is defined: most likely it is of another version
                return
            name = (request.metadata.namespace, request.metadata.name)
            if change.type is ChangeType.DELETED or request.metadata.deletion_timestamp is not None:
                self._forget(name)
            else:
                self._remember(name, request)
        self._more.set()

    def _remember(self, name: Name, request: ProvisioningRequest) -> None:
        stem, _, number = name[1].rpartition("-")
        self._known[name] = request
        if number.isdecimal():
            self._attempts.setdefault((name[0], stem), {})[int(number)] = request

    def _forget(self, name: Name) -> None:
        stem, _, number = name[1].rpartition("-")
        attempts = self._attempts.get((name[0], stem), {})
        if self._known.pop(name, None) is not None and number.isdecimal():
            attempts.pop(int(number), None)
        if not attempts:
            self._attempts.pop((name[0], stem), None)

    # Write

    async def run(self) -> None:
        while True:
            self._more.clear()
            self._tell_of_failures()
            writes = self._writes()
            if not writes:
                await wait_for(self._more, self._context.clock, self._next_look())
                continue
            self._writing = True
            try:
                await run_all(partial(self._attempted, what, write) for what, write in writes.items())
            finally:
                self._writing = False

    def _next_look(self) -> float | None:
        now = self._context.clock.now()
        moments = [at for at in self._not_before.values() if at > now]
        moments += [at for wanted in self._wanted or () if (at := self._attempt(wanted.need)[1]) is not None]
        return min(moments, default=None)

    def _writes(self) -> dict[object, Write]:
        """What is to be written now, by what it is about."""
        if not self._served.is_set() or self._wanted is None:
            return {}
        now = self._context.clock.now()
        self._not_before = {what: at for what, at in self._not_before.items() if at > now}
        return {what: write for what, write in self._differences(self._wanted) if what not in self._not_before}

    def _differences(self, wanted: list[Wanted]) -> Iterator[tuple[object, Write]]:
        named: set[Name] = set()
        for one in wanted:
            attempt, _ = self._attempt(one.need)
            name = (one.need.namespace, one.need.request_name(attempt))
            named.add(name)
            if one.new and name not in self._known:
                yield name, partial(self._create, one, attempt)
            yield from self._annotations(one, name)
        for name, request in self._known.items():
            if name not in named:
                yield name, partial(self._delete, name, request)

    def _annotations(self, wanted: Wanted, name: Name) -> Iterator[tuple[object, Write]]:
        """Pods that wait for a request name it. Otherwise the autoscaler would add machines for both."""
        value = name[1] if name in self._known else None
        for pod in self._context.view.pods_of(wanted.gang):
            meta = pod.metadata
            if meta.annotations.get(CONSUMES) == value or not wants_a_seat(pod) or meta.name not in wanted.need.members:
                self._annotated.pop(meta.uid, None)
            elif self._annotated.get(meta.uid) != (meta.resource_version, value):
                yield meta.uid, partial(self._annotate, pod, value)

    async def _attempted(self, what: object, write: Write) -> None:
        try:
            await write()
        except Unreachable:
            self._not_before[what] = self._context.clock.now() + RETRY
        except Refused as error:
            pause = RETRY if error.code in RETRYABLE else self._settings.retry_after
            self._not_before[what] = self._context.clock.now() + pause
            if error.code not in RETRYABLE:
                self._tell_of_refusal(what, error)

    def _tell_of_refusal(self, what: object, error: Refused) -> None:
        for one in self._wanted or ():
            if what == (one.need.namespace, one.need.request_name(self._attempt(one.need)[0])):
                self._tell(one.need.name, one.owner, f"the request for them was refused: {error.message}")
                return
        _log.debug("%s is not written: %s", what, error)  # most likely the object is gone

    async def _create(self, wanted: Wanted, attempt: int) -> None:
        """The templates first: a request that names one that does not exist fails."""
        need = wanted.need
        for template in need.pod_templates(attempt):
            await self._writer.create_once(Ref(POD_TEMPLATES, need.namespace, template["metadata"]["name"]), template)
        document = need.request(attempt, self._settings, self._scheduler)
        name = (need.namespace, need.request_name(attempt))
        if await self._writer.create_once(Ref(PROVISIONING_REQUESTS, *name), document):
            if name not in self._known:
                self._remember(name, msgspec.convert(document, ProvisioningRequest))
            _log.info("machines are asked for: ProvisioningRequest %s/%s for %s", *name, wanted.owner.title)
        else:  # an earlier loop made it, and the watch shows it soon; or it is just being deleted
            self._not_before[name] = self._context.clock.now() + RETRY

    async def _delete(self, name: Name, request: ProvisioningRequest) -> None:
        """The request last: as long as it is there, its templates can be found."""
        for pods in request.spec.pod_sets:
            await self._writer.delete_if_there(Ref(POD_TEMPLATES, name[0], pods.pod_template_ref.name))
        await self._writer.delete_if_there(Ref(PROVISIONING_REQUESTS, *name))
        self._forget(name)

    async def _annotate(self, pod: Pod, value: str | None) -> None:
        name_of_class = self._settings.provisioning_class if value is not None else None
        await self._writer.annotate_pod(pod, {CONSUMES: value, CLASS_NAME: name_of_class})
        self._annotated[pod.metadata.uid] = (pod.metadata.resource_version, value)
