"""Annotations on nodes, written in the background: when a node failed, and which fence delays its use after it
returns."""

import asyncio
import logging

from understudy.control.clock import wait_for
from understudy.control.record.event_recorder import RETRYABLE
from understudy.control.record.writes import RecordWrites
from understudy.control.view.cluster_view import ClusterView
from understudy.decide.guards import mass_failure, pool_of
from understudy.decide.policy import Policy
from understudy.kinds.annotations import FAILED_AT, FENCED, format_times
from understudy.model.node_info import NODE_GONE
from understudy.model.nodes import Node
from understudy.model.snapshot import Snapshot
from understudy.ports import Clock, Refused, Unreachable

MAX_FAILURES = 20  # number of failures that are recorded of one node
SLACK = 2.0  # seconds by which two schedulers may differ about the time of a failure
# the same for nodes that are lost at the first look of this loop: signs of one loss may come far apart
FIRST_LOOK_SLACK = 60.0
WRITE_DELAY = 1.0  # seconds before the write: a changed node wakes all watchers, which are busy with the loss itself
RETRY = 1.0
_log = logging.getLogger(__name__)


class FailureAnnotations:
    def __init__(self, writer: RecordWrites, clock: Clock, policy: Policy) -> None:
        self._writer = writer
        self._clock = clock
        self._policy = policy
        self._lost: set[str] | None = None  # the nodes that were lost at the last look; None: there was none yet
        self._notes: dict[str, tuple[float, ...]] = {}  # by node, the failures to be written
        self._due = float("-inf")
        self._more = asyncio.Event()
        self._writing = False

    @property
    def idle(self) -> bool:
        return not self._notes and not self._writing

    def see(self, snapshot: Snapshot, now: float) -> None:
        lost = {name for name in snapshot.unhealthy if snapshot.is_lost(name) and _exists(snapshot.nodes[name].node)}
        fresh = lost - (self._lost or set())
        # If so many nodes of a pool fail together that the nodes are not the cause, no failure is recorded.
        spared = mass_failure(snapshot, self._policy, now) if fresh else {}
        for name in sorted(fresh):
            node = snapshot.nodes[name].node
            if pool_of(node, self._policy) not in spared and self._is_news(node):
                self._note(node, now)
        self._lost = lost

    def _is_news(self, node: Node) -> bool:
        """Whether this loss has not been recorded yet, by an earlier loop or another scheduler."""
        first_look = self._lost is None
        since, known = node.health.since, self._known(node)
        if since is None:
            return not first_look
        return not known or known[-1] < since - (FIRST_LOOK_SLACK if first_look else SLACK)

    def _known(self, node: Node) -> tuple[float, ...]:
        """The recorded failures and those still to be written."""
        return self._notes.get(node.name, node.failures)

    def _note(self, node: Node, now: float) -> None:
        at = now if node.health.since is None else min(node.health.since, now)
        recent = [moment for moment in self._known(node) if now - moment < self._policy.lemon_window]
        if not self._notes:  # the repeated failure of a node does not delay the write for ever
            self._due = now + WRITE_DELAY
        self._notes[node.name] = tuple([*recent, at][-MAX_FAILURES:])
        self._more.set()

    async def run(self) -> None:
        while True:
            self._more.clear()
            if not self._notes or self._due > self._clock.now():
                await wait_for(self._more, self._clock, self._due if self._notes else None)
                continue
            self._writing = True
            try:
                await self._write()
            finally:
                self._writing = False

    async def _write(self) -> None:
        name, note = next(iter(self._notes.items()))
        try:
            await self._writer.annotate_node(name, {FAILED_AT: format_times(note)})
        except (Refused, Unreachable) as error:
            if not isinstance(error, Refused) or error.code in RETRYABLE:
                await self._clock.sleep(RETRY)
                return
            # Most likely the node is gone. If it returns, its record starts anew.
            _log.debug("the failure of node %s is not written: %s", name, error)
        if self._notes.get(name) == note:
            del self._notes[name]


def _exists(node: Node) -> bool:
    """A deleted node has no object that could carry the annotation."""
    return node.health is not NODE_GONE


class FenceAnnotations:
    def __init__(self, writer: RecordWrites, clock: Clock, view: ClusterView) -> None:
        self._writer = writer
        self._clock = clock
        self._view = view
        self._due: float | None = None
        self._tried: dict[str, str | None] = {}  # the last write, which the view may not show yet
        self._more = asyncio.Event()

    @property
    def idle(self) -> bool:
        return self._due is None

    def see(self, now: float) -> None:
        """Called after every snapshot."""
        self._tried = {name: note for name, note in self._tried.items() if name in self._view.fence_notes}
        if self._due is None and self._open():
            self._due = now + WRITE_DELAY
            self._more.set()

    def _open(self) -> dict[str, str | None]:
        notes = self._view.fence_notes
        return {name: note for name, note in notes.items() if name not in self._tried or self._tried[name] != note}

    async def run(self) -> None:
        while True:
            self._more.clear()
            if self._due is None or self._due > self._clock.now():
                await wait_for(self._more, self._clock, self._due)
                continue
            for name, note in self._open().items():
                await self._write(name, note)
            self._due = None
            self.see(self._clock.now())

    async def _write(self, name: str, note: str | None) -> None:
        node = self._view.node(name)
        if node is None:
            return
        try:
            await self._writer.annotate_node(name, {FENCED: note}, node.metadata.uid)
        except Refused as error:  # most likely the node is gone, and its fence with it
            _log.debug("the fence of node %s is not written: %s", name, error)
        except Unreachable:
            await self._clock.sleep(RETRY)
            return
        self._tried[name] = note
