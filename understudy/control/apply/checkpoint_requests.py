"""Requests to save a checkpoint: turns what plans ask of gangs into an annotation on each of their pods.

The writes go on in the background, since a gang may have thousands of pods and notices may hit thousands of gangs. Each
plan says anew what is wanted, and the pods show what is written. So nothing has to survive in memory."""

import asyncio
import logging
from functools import partial

from understudy.control.apply.context import ApplyContext
from understudy.control.apply.record_writer import RecordWriter
from understudy.control.apply.seats import annotated_object
from understudy.control.clock import wait_for
from understudy.control.concurrency import MAX_CONCURRENT, run_all
from understudy.control.record.event_formats import EventSubject, EventText
from understudy.control.record.event_recorder import RETRYABLE
from understudy.decide.describe import time_text
from understudy.kinds.annotations import CHECKPOINT_BY, format_time
from understudy.kinds.gangs.lone_pod import is_live
from understudy.model.plans import Action, Plan, RequestCheckpoint
from understudy.model.snapshot import Snapshot
from understudy.objects.pods import Pod
from understudy.ports import Refused, Unreachable

REQUESTED = "CheckpointRequested"
RETRY = 1.0
_log = logging.getLogger(__name__)
Note = str | None  # the annotation; None: it is removed


class CheckpointRequests:
    def __init__(self, context: ApplyContext, writer: RecordWriter) -> None:
        self._context = context
        self._writer = writer
        self._pending: dict[str, tuple[Pod, Note]] = {}  # by uid
        self._written: dict[str, tuple[str, Note]] = {}  # by uid: the version the pod had then, and what was written
        self._requested: dict[str, Note] = {}  # by gang: the request that its job was given
        self._more = asyncio.Event()
        self._writing = False

    @property
    def idle(self) -> bool:
        return not self._pending and not self._writing

    def see(self, plan: Plan, snapshot: Snapshot) -> list[Action]:
        """Called with each plan. What only an earlier plan wanted is not written any more. Returns what is begun."""
        wanted: dict[str, tuple[Pod, Note]] = {}
        begun: list[Action] = []
        requests = [action for action in plan.actions if isinstance(action, RequestCheckpoint)]
        for action in requests:
            pods = self._unwritten(action)
            wanted.update(pods)
            if self._is_news(action, snapshot) and pods:
                begun.append(action)
        self._pending = wanted
        if not requests:
            self._written.clear()
        self._requested = {key: note for key, note in self._requested.items() if key in snapshot.gangs}
        if wanted:
            self._more.set()
        return begun

    def _unwritten(self, action: RequestCheckpoint) -> dict[str, tuple[Pod, Note]]:
        """The pods that lack the request, or have it for too long, except where the view only lags behind a write."""
        note = None if action.by is None else format_time(action.by)
        found = {}
        for pod in self._context.view.pods_of(action.gang):
            meta = pod.metadata
            shown = meta.annotations.get(CHECKPOINT_BY)
            if shown == note or not pod.spec.node_name or not is_live(pod):
                self._written.pop(meta.uid, None)
            elif self._written.get(meta.uid) != (meta.resource_version, note):
                found[meta.uid] = (pod, note)
        return found

    def _is_news(self, action: RequestCheckpoint, snapshot: Snapshot) -> bool:
        note = None if action.by is None else format_time(action.by)
        if self._requested.get(action.gang, "") == note:
            return False
        self._requested[action.gang] = note
        book = annotated_object(self._context, snapshot.gangs[action.gang])
        if book is not None and action.by is not None:
            words = f"Save a checkpoint by {time_text(action.by)}: {action.why}"
            self._context.recorder.event(EventSubject.of(book), EventText(REQUESTED, words))
        return True

    async def run(self) -> None:
        while True:
            self._more.clear()
            if not self._pending:
                await wait_for(self._more, self._context.clock)
                continue
            self._writing = True
            try:
                batch = list(self._pending.items())[:MAX_CONCURRENT]
                await run_all(partial(self._write, uid, pod, note) for uid, (pod, note) in batch)
            finally:
                self._writing = False

    async def _write(self, uid: str, pod: Pod, note: Note) -> None:
        if self._pending.get(uid) != (pod, note):
            return  # a later plan wants something else
        try:
            await self._writer.annotate_pod(pod, {CHECKPOINT_BY: note})
        except (Refused, Unreachable) as error:
            if not isinstance(error, Refused) or error.code in RETRYABLE:
                await self._context.clock.sleep(RETRY)
                return
            _log.debug("pod %s is not asked to save: %s", pod.title, error)  # most likely it is gone
        self._written[uid] = (pod.metadata.resource_version, note)
        if self._pending.get(uid) == (pod, note):
            del self._pending[uid]
