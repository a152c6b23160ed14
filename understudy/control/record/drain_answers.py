"""Answers to drain requests, written in the background: a node from which every pod has gone is reported as drained."""

import asyncio
import logging
from http import HTTPStatus

from understudy.control.clock import wait_for
from understudy.control.record.event_recorder import RETRYABLE
from understudy.control.record.writes import RecordWrites
from understudy.control.view.cluster_view import ClusterView
from understudy.kinds.annotations import format_time
from understudy.model.snapshot import Snapshot
from understudy.objects.drain_requests import DRAIN_COMPLETE, DrainRequest
from understudy.objects.pods import ENDED_PHASES, is_of_daemon_set
from understudy.objects.resources import DRAIN_REQUESTS
from understudy.ports import Clock, Ref, Refused, Unreachable

RETRY = 1.0
_log = logging.getLogger(__name__)


class DrainAnswers:
    def __init__(self, writer: RecordWrites, clock: Clock, view: ClusterView) -> None:
        self._writer = writer
        self._clock = clock
        self._view = view
        self._open: dict[str, DrainRequest] = {}  # by uid: the answers to be written
        self._answered: dict[str, str] = {}  # uid -> the version that was answered, until the view shows the answer
        self._more = asyncio.Event()
        self._writing = False

    @property
    def idle(self) -> bool:
        return not self._open and not self._writing

    def see(self, snapshot: Snapshot) -> None:
        """Called after every snapshot: it gives no new seats on the nodes that are asked for."""
        seen = {request.metadata.uid: request for request in self._view.drain_requests}
        self._answered = {uid: version for uid, version in self._answered.items() if uid in seen}
        self._open = {
            uid: request
            for uid, request in seen.items()
            if not request.complete
            and self._answered.get(uid) != request.metadata.resource_version
            and self._is_empty(request, snapshot)
        }
        if self._open:
            self._more.set()

    def _is_empty(self, request: DrainRequest, snapshot: Snapshot) -> bool:
        """Whether neither a pod of ours nor one that the request names is on the node, not even one that is ending."""
        info = snapshot.nodes.get(request.spec.node_name)
        gangs = {seat.gang for seat in info.seats} if info is not None else set()
        if any(snapshot.gangs[key].managed and not snapshot.gangs[key].infrastructure for key in gangs):
            return False
        named = ((namespace, name) for namespace, names in request.spec.pods_to_drain.items() for name in names)
        return not any(self._sits(namespace, name, request.spec.node_name) for namespace, name in named)

    def _sits(self, namespace: str, name: str, node: str) -> bool:
        pod = self._view.pod(namespace, name)
        if pod is None or pod.spec.node_name != node or is_of_daemon_set(pod.metadata):
            return False
        return pod.status.phase not in ENDED_PHASES

    async def run(self) -> None:
        while True:
            self._more.clear()
            if not self._open:
                await wait_for(self._more, self._clock, None)
                continue
            self._writing = True
            try:
                await self._answer(*next(iter(self._open.items())))
            finally:
                self._writing = False

    async def _answer(self, uid: str, request: DrainRequest) -> None:
        meta = request.metadata
        now = format_time(int(self._clock.now()))
        message = f"no pod is left to be moved from node {request.spec.node_name}"
        condition = {"type": DRAIN_COMPLETE, "status": "True", "reason": "PodsMoved", "message": message}
        others = [one for one in request.status.conditions if one.get("type") != DRAIN_COMPLETE]
        status = {"conditions": [*others, {**condition, "lastTransitionTime": now}]}
        seen = {"uid": uid, "resourceVersion": meta.resource_version}
        try:
            await self._writer.update_drain_status(Ref(DRAIN_REQUESTS, meta.namespace, meta.name), seen, status)
            _log.info("drain request %s/%s is answered: %s", meta.namespace, meta.name, message)
        except (Refused, Unreachable) as error:
            if not isinstance(error, Refused) or error.code in RETRYABLE:
                await self._clock.sleep(RETRY)
                return
            if error.code not in (HTTPStatus.CONFLICT, HTTPStatus.NOT_FOUND):  # it changed, and is seen again soon
                _log.warning("drain request %s/%s cannot be answered: %s", meta.namespace, meta.name, error)
        self._answered[uid] = meta.resource_version
        self._open.pop(uid, None)
