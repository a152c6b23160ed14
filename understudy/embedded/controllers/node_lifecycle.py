"""Nodes whose lease has run out are marked as unreachable until the lease is renewed.

A mark outlives this process. It is taken away only for a renewal that came after it, never for a lack of memory.
"""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import msgspec

from understudy.control.record.event_formats import EventSubject
from understudy.control.view.node_health import HealthLimits, Heartbeat
from understudy.control.view.node_leases import LeaseClock, NodeLeases
from understudy.embedded.controllers.runtime.controller import ChangeHandler
from understudy.embedded.controllers.runtime.event_aggregator import EventAggregator
from understudy.embedded.controllers.runtime.object_version import ObjectChange, ObjectVersion
from understudy.embedded.controllers.runtime.work_queue import WorkQueue
from understudy.kinds.children.actions import EventNote
from understudy.kinds.children.partial_objects import PartialObject, find_condition, whole_seconds
from understudy.objects.meta import seconds
from understudy.objects.nodes import LEASE_NAMESPACE, Lease, NodeSpec, NodeStatus
from understudy.objects.resources import LEASES, NODES, Resource
from understudy.ports import Clock, Cluster, PatchForm, Ref, Refused

UNREACHABLE = "node.kubernetes.io/unreachable"
SILENT = "NodeStatusUnknown"  # the reason in conditions that this controller wrote


class SeenNode(PartialObject, frozen=True, gc=False, kw_only=True):
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    @property
    def marked(self) -> bool:
        ready = find_condition(self.status.conditions, "Ready")
        silent = ready is not None and ready.status == "Unknown" and ready.reason == SILENT
        return silent or any(taint.key == UNREACHABLE for taint in self.spec.taints)

    @property
    def marked_at(self) -> float:
        """In whole seconds; -inf if the objects do not say."""
        times = [taint.time_added for taint in self.spec.taints if taint.key == UNREACHABLE]
        ready = find_condition(self.status.conditions, "Ready")
        times += [ready.last_transition_time] if ready is not None and ready.reason == SILENT else []
        return max((at for time in times if (at := seconds(time)) is not None), default=float("-inf"))


class NodeLifecycleController:
    """Keys are names of nodes. A node without a lease is ignored."""

    name = "node lifecycle"

    def __init__(self, cluster: Cluster, clock: Clock, recorder: EventAggregator, limits: HealthLimits) -> None:
        self.queue: WorkQueue[str] = WorkQueue(clock)
        self._cluster = cluster
        self._clock = clock
        self._recorder = recorder
        self._node_leases = NodeLeases(limits, LeaseClock(clock, one_clock=True))
        self._nodes: dict[str, ObjectVersion] = {}
        self._leases: dict[str, Lease] = {}
        self._marked: dict[str, bool] = {}  # whether the lease was renewed since

    def watches(self) -> Mapping[Resource, ChangeHandler]:
        return {NODES: self._on_node, LEASES: self._on_lease}

    def _on_node(self, change: ObjectChange) -> None:
        node = change.read(SeenNode)
        name = node.metadata.name
        self._nodes.pop(name, None)
        renewed_since = self._marked.pop(name, False)
        if not change.is_deleted:
            self._nodes[name] = change.object_version
            if node.marked:
                self._marked[name] = renewed_since
            self.queue.add(name)

    def _on_lease(self, change: ObjectChange) -> None:
        """A renewal matters only for a marked node, or one without a known lease."""
        lease = change.read(Lease)
        name = lease.metadata.name
        if lease.metadata.namespace != LEASE_NAMESPACE:
            return
        if change.is_deleted:
            self._leases.pop(name, None)
            self._node_leases.forget(name)
            return
        lives = self._node_leases.observe(lease)
        known = name in self._leases
        self._leases[name] = lease
        if name in self._marked:
            self._marked[name] |= lives
        if not known or name in self._marked:
            self.queue.add(name)

    async def reconcile(self, key: str) -> float | None:
        version, lease, now = self._nodes.get(key), self._leases.get(key), self._clock.now()
        beat = self._node_leases.of(key, now)
        if version is None or lease is None or beat is None:
            return None
        node, runs_out = version.read(SeenNode), beat.since + lease.spec.lease_duration_seconds
        if node.marked:
            if self._is_back(node, beat):
                await self._heal(node, version.raw)
        elif runs_out <= now:
            await self._mark(node, version.raw)
        # When all leases stop at once, the API server is suspected, not the nodes, and leases get more time.
        return max(runs_out, now + beat.interval)

    def _is_back(self, node: SeenNode, beat: Heartbeat) -> bool:
        """Whether its lease was renewed after it was marked. The order of events decides, whatever the clock does; for
        renewals before this process started, their time does."""
        if beat.given_up or not beat.proven:
            return False
        return self._marked.get(node.metadata.name, False) or beat.renewed > node.marked_at

    async def _mark(self, node: SeenNode, raw: bytes) -> None:
        now = whole_seconds(self._clock.now())
        message = "Kubelet stopped posting node status."
        taints = [{"key": UNREACHABLE, "effect": effect, "timeAdded": now} for effect in ("NoSchedule", "NoExecute")]
        ready = find_condition(node.status.conditions, "Ready")
        known = ready is not None and ready.status == "Unknown"  # keep the time and reason of the first writer
        condition = None if known else _ready("Unknown", SILENT, message, now)
        await self._write(node, condition, [*_other_taints(raw), *taints])
        self._tell(node, "NodeNotReady")

    async def _heal(self, node: SeenNode, raw: bytes) -> None:
        now = whole_seconds(self._clock.now())
        ready = find_condition(node.status.conditions, "Ready")
        ours = ready is not None and ready.reason == SILENT
        condition = _ready("True", "KubeletReady", "kubelet is posting ready status", now) if ours else None
        await self._write(node, condition, _other_taints(raw))
        self._tell(node, "NodeReady")

    async def _write(self, node: SeenNode, condition: dict[str, str] | None, taints: list[dict[str, Any]]) -> None:
        meta = node.metadata
        ref = Ref(NODES, name=meta.name)
        seen = {"uid": meta.uid, "resourceVersion": meta.resource_version}
        try:
            await self._cluster.patch(ref, {"metadata": seen, "spec": {"taints": taints}}, form=PatchForm.MERGE)
            if condition is not None:
                patch = {"metadata": {"uid": meta.uid}, "status": {"conditions": [condition]}}
                await self._cluster.patch(ref, patch, sub="status")
        except Refused as error:
            if error.code != HTTPStatus.NOT_FOUND:
                raise

    def _tell(self, node: SeenNode, reason: str) -> None:
        name = node.metadata.name
        about = EventSubject(NODES.api_version, NODES.kind, "", name, node.metadata.uid)
        self._recorder.record(about, EventNote(reason, f"Node {name} status is now: {reason}"))


def _ready(status: str, reason: str, message: str, now: str) -> dict[str, str]:
    return {"type": "Ready", "status": status, "reason": reason, "message": message, "lastTransitionTime": now}


def _other_taints(raw: bytes) -> list[dict[str, Any]]:
    taints = msgspec.json.decode(raw).get("spec", {}).get("taints") or []
    return [taint for taint in taints if taint["key"] != UNREACHABLE]
