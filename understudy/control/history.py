"""Remembers on nodes when they failed, for the guards that avoid those which do so again and again.

A verdict that turns to lost is one failure, however long it lasts and whoever looks. It is written in the background.
"""

import asyncio
import logging

from understudy.control.moments import wait_for
from understudy.control.telling import IN_TROUBLE
from understudy.decide.guards import mass_failure, pool_of
from understudy.decide.policy import Policy
from understudy.kinds.annotations import FAILED_AT, format_times
from understudy.model.node_info import NODE_GONE
from understudy.model.nodes import Node, Verdict
from understudy.model.snapshot import Snapshot
from understudy.objects.resources import NODES
from understudy.ports import Clock, Cluster, PatchForm, Ref, Refused, Unreachable

MOST = 20  # failures that are remembered of one node
SLACK = 2.0  # seconds by which two may differ on when a node failed
SEEN_ANEW = 60.0  # the same for one that was lost when this loop came: a loss has first signs and later ones
LATER = (
    1.0  # seconds after which it is written: a change of a node makes everybody look, who has better things to do now
)
TRY_AGAIN = 1.0

_log = logging.getLogger(__name__)


class NodeHistory:
    def __init__(self, cluster: Cluster, clock: Clock, policy: Policy) -> None:
        self._cluster = cluster
        self._clock = clock
        self._policy = policy
        self._lost: set[str] | None = None  # the nodes that were lost when last seen; None: nobody looked yet
        self._notes: dict[str, tuple[float, ...]] = {}  # the failures that are to be written, by node
        self._due = float("-inf")
        self._more = asyncio.Event()
        self._writing = False

    @property
    def quiet(self) -> bool:
        return not self._notes and not self._writing

    def see(self, snapshot: Snapshot, now: float) -> None:
        lost = {name for name in snapshot.unhealthy if _is_lost(snapshot.nodes[name].node)}
        fresh = lost - (self._lost or set())
        # Where so many fail together that they are not to blame, nobody is blamed.
        spared = mass_failure(snapshot, self._policy, now) if fresh else {}
        for name in sorted(fresh):
            node = snapshot.nodes[name].node
            if pool_of(node, self._policy) not in spared and self._is_news(node):
                self._note(node, now)
        self._lost = lost

    def _is_news(self, node: Node) -> bool:
        """Whether this loss has not been written down yet, by an earlier loop or by anybody else."""
        first_look = self._lost is None
        since, known = node.health.since, self._known(node)
        if since is None:
            return not first_look
        return not known or known[-1] < since - (SEEN_ANEW if first_look else SLACK)

    def _known(self, node: Node) -> tuple[float, ...]:
        """With those that are still to be written."""
        return self._notes.get(node.name, node.failures)

    def _note(self, node: Node, now: float) -> None:
        at = now if node.health.since is None else min(node.health.since, now)
        recent = [moment for moment in self._known(node) if now - moment < self._policy.lemon_window]
        if not self._notes:  # a node that keeps failing does not put it off for ever
            self._due = now + LATER
        self._notes[node.name] = tuple([*recent, at][-MOST:])
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
        patch = {"metadata": {"annotations": {FAILED_AT: format_times(note)}}}
        try:
            await self._cluster.patch(Ref(NODES, name=name), patch, form=PatchForm.MERGE)
        except (Refused, Unreachable) as error:
            if not isinstance(error, Refused) or error.code in IN_TROUBLE:
                await self._clock.sleep(TRY_AGAIN)
                return
            # It is gone, most likely; should it come back, it starts anew.
            _log.debug("the failure of node %s is not written: %s", name, error)
        if self._notes.get(name) == note:
            del self._notes[name]


def _is_lost(node: Node) -> bool:
    """A node that does not exist has nowhere to write it on."""
    return node.health.verdict is Verdict.LOST and node.health is not NODE_GONE
