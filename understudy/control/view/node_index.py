"""Node objects and leases into model nodes. Verdicts also change with time, so a heap holds when to look again."""

import heapq
from collections.abc import Iterable, Mapping

import msgspec

from understudy.control.view.drain_requests import DrainRequests
from understudy.control.view.invalid_objects import InvalidObjects
from understudy.control.view.node_capacity import capacity_of
from understudy.control.view.node_fences import NodeFences
from understudy.control.view.node_health import (
    HealthFinding,
    HealthLimits,
    Heartbeat,
    examine_node,
    heartbeat,
    is_silent,
    is_worse,
    renewal_interval,
)
from understudy.control.view.node_leases import LeaseClock, NodeLeases
from understudy.kinds.annotations import PREFIX, read_times
from understudy.model.nodes import Fence, Health, Node, SpareRole, Taint, Verdict
from understudy.model.quantity import parse_quantity
from understudy.objects import nodes as objects
from understudy.objects.drain_requests import DrainRequest
from understudy.objects.errors import BadObject
from understudy.objects.meta import seconds
from understudy.objects.nodes import LEASE_NAMESPACE, Lease
from understudy.objects.pods import Pod

SPARE = f"{PREFIX}spare"
MAX_PODS = 110  # the default of the kubelet


def node_of(node: objects.Node, health: Health, spot_labels: Mapping[str, str] = {}) -> Node:
    meta, spec = node.metadata, node.spec
    amounts = node.status.allocatable or node.status.capacity
    offered = {name: parse_quantity(amount, name) for name, amount in amounts.items()}
    offered.setdefault("pods", MAX_PODS)
    return Node(
        meta.name,
        meta.labels,
        offered,
        tuple(Taint(t.key, t.effect, t.value) for t in spec.taints),
        spec.unschedulable,
        health,
        spare_role(node) if SPARE in meta.labels else SpareRole.NONE,
        read_times(meta.annotations, "failed-at", node) if meta.annotations else (),
        capacity_of(meta.labels, spot_labels),
    )


def spare_role(node: objects.Node) -> SpareRole:
    value = node.metadata.labels[SPARE]
    if value not in (SpareRole.LENDABLE, SpareRole.KEPT):
        raise BadObject(node.title, f"metadata.labels[{SPARE}]", f'{value!r} is neither "true" nor "keep"')
    return SpareRole(value)


def without_our_words(node: objects.Node) -> objects.Node:
    """A node with invalid understudy.dev labels or annotations, as it is without them."""
    labels = {key: value for key, value in node.metadata.labels.items() if key != SPARE}
    annotations = {key: value for key, value in node.metadata.annotations.items() if not key.startswith(PREFIX)}
    metadata = msgspec.structs.replace(node.metadata, labels=labels, annotations=annotations)
    return msgspec.structs.replace(node, metadata=metadata)


class NodeIndex:
    """The nodes of the cluster. `changes` updates those that changed, or that time has changed.

    With `invalid_objects`, an invalid node is recorded there and gets no new seats; without, it is an error. With
    `lease_clock`, leases are judged by the renewals of all nodes, as in a live cluster."""

    def __init__(
        self, limits: HealthLimits, invalid_objects: InvalidObjects | None = None, lease_clock: LeaseClock | None = None
    ) -> None:
        self._limits = limits
        self._invalid_objects = invalid_objects
        self._node_leases = NodeLeases(limits, lease_clock) if lease_clock is not None else None
        self._fences = NodeFences(limits.return_margin)
        self.drain_requests = DrainRequests()
        self._objects: dict[str, objects.Node] = {}
        self._leases: dict[str, Lease] = {}
        self._newest = 0.0  # the time of the newest renewal
        self._nodes: dict[str, Node] = {}  # as they were returned last
        self._dirty: dict[str, None] = {}
        self._clock: list[tuple[float, str]] = []  # when to look at a node again
        self._due: dict[str, float] = {}  # the valid entry of the heap for each node
        self._now = float("-inf")

    def put(self, node: objects.Node) -> None:
        """A status update that only reports that the node is alive changes nothing."""
        name = node.metadata.name
        known = self._objects.get(name)
        self._objects[name] = node
        if known is None or not _is_as_before(node, known):
            self._dirty[name] = None

    def remove(self, node: objects.Node) -> None:
        name = node.metadata.name
        if self._objects.pop(name, None) is not None:
            self._fences.forget(name)
            self._dirty[name] = None

    def get(self, name: str) -> objects.Node | None:
        return self._objects.get(name)

    def pod_gone(self, pod: Pod) -> None:
        """A pod that disappears from a lost node was force-deleted: its kubelet cannot have confirmed its end."""
        name = pod.spec.node_name
        node, obj = self._nodes.get(name), self._objects.get(name)
        if node is None or obj is None:
            return
        if name in self._dirty:  # the loss may have been reported just before
            node, _ = self._form(obj, self._now)
        fence = self.fence_wanted(name, [pod]) if node.health.verdict is Verdict.LOST else None
        if fence is not None:
            self.fence(name, fence)

    def fence_wanted(self, name: str, pods: Iterable[Pod]) -> Fence | None:
        """The annotation that a node needs before these pods are force-deleted there; None if nothing is to be
        written."""
        obj = self._objects.get(name)
        return self._fences.wanted(obj, pods, self._now) if obj is not None else None

    def fence(self, name: str, fence: Fence) -> None:
        self._fences.raise_for(name, fence)
        self._dirty[name] = None

    @property
    def fence_notes(self) -> Mapping[str, str | None]:
        """Annotations of fences that nodes should have and do not have; None: the annotation is to be removed."""
        return self._fences.notes

    def put_drain_request(self, request: DrainRequest) -> None:
        self._dirty.update(dict.fromkeys(self.drain_requests.put(request)))

    def remove_drain_request(self, request: DrainRequest) -> None:
        self._dirty.update(dict.fromkeys(self.drain_requests.remove(request)))

    def put_lease(self, lease: Lease) -> None:
        """A renewal of a healthy node's lease only delays the time at which the node becomes suspect."""
        name = lease.metadata.name
        if lease.metadata.namespace != LEASE_NAMESPACE:
            return
        if self._node_leases is not None and self._node_leases.observe(lease):
            self._fences.renewed(name, renewal_interval(lease))
        old = self._leases.get(name)
        self._leases[name] = lease
        self._newest = max(self._newest, seconds(lease.spec.renew_time) or 0.0)
        node = self._nodes.get(name)
        if node is not None and not (old and node.health.verdict is Verdict.HEALTHY and _later(lease, old)):
            self._dirty[name] = None

    def remove_lease(self, lease: Lease) -> None:
        name = lease.metadata.name
        if lease.metadata.namespace == LEASE_NAMESPACE and name in self._leases:
            del self._leases[name]
            if self._node_leases is not None:
                self._node_leases.forget(name)
            if name in self._objects:
                self._dirty[name] = None

    def changes(self, now: float) -> tuple[dict[str, Node], list[str]]:
        """The nodes that have changed, and the names of deleted nodes. `settle` records them."""
        self._look_at_the_clock(now)
        fresh: dict[str, Node] = {}
        gone: list[str] = []
        for name in self._dirty:
            obj = self._objects.get(name)
            if obj is None:
                if name in self._nodes:
                    gone.append(name)
                continue
            node, changes_at = self._form(obj, now)
            self._wake(name, changes_at)
            if node != self._nodes.get(name):
                fresh[name] = node
        return fresh, gone

    def settle(self, fresh: dict[str, Node], gone: list[str]) -> None:
        self._nodes.update(fresh)
        for name in gone:
            del self._nodes[name]
        self._dirty.clear()

    @property
    def touched(self) -> bool:
        return bool(self._dirty)

    def next_look(self) -> float | None:
        """When time alone may change a verdict."""
        return self._clock[0][0] if self._clock else None

    def _form(self, obj: objects.Node, now: float) -> tuple[Node, float | None]:
        """A node with invalid words of ours is cordoned until they are corrected, and not lost. A time of others that
        cannot be read is only reported."""
        try:
            found = self._examined(obj, now)
            node = node_of(obj, found.health, self._limits.spot_labels)
        except BadObject as error:
            if self._invalid_objects is None:
                raise
            self._invalid_objects.found(obj.title, error)
            plain = without_our_words(obj)
            found = self._examined(plain, now)
            node = node_of(plain, found.health, self._limits.spot_labels)
            return msgspec.structs.replace(node, unschedulable=True), found.changes_at
        if self._invalid_objects is not None:
            if found.problem is not None:
                self._invalid_objects.found(obj.title, found.problem)
            else:
                self._invalid_objects.over(obj.title)
        return node, found.changes_at

    def _examined(self, obj: objects.Node, now: float) -> HealthFinding:
        name = obj.metadata.name
        beat = self._node_leases.of(name, now) if self._node_leases is not None else self._heartbeat(name, now)
        finding, silent = examine_node(obj, beat, now, self._limits), is_silent(obj, beat, now, self._limits)
        asked = self.drain_requests.health_of(name)
        if asked is not None and is_worse(asked, finding.health):
            finding = finding._replace(health=asked)
        lease = self._leases.get(name) if self._node_leases is not None else None
        interval = renewal_interval(lease) if lease is not None else None
        return self._fences.with_fence(obj, finding, silent, now, interval)._replace(problem=finding.problem)

    def _heartbeat(self, name: str, now: float) -> Heartbeat | None:
        """A command that reads a live cluster once does not know the cluster's clock: leases are judged against the
        newest one. In a dump they are as old as their times say."""
        lease = self._leases.get(name)
        if lease is None or self._invalid_objects is None:
            return heartbeat(lease)
        return heartbeat(lease, now - self._newest - renewal_interval(lease))

    def _wake(self, name: str, at: float | None) -> None:
        if at is None:
            self._due.pop(name, None)
        elif at != self._due.get(name):
            self._due[name] = at
            heapq.heappush(self._clock, (at, name))

    def _look_at_the_clock(self, now: float) -> None:
        if now < self._now:  # the clock was set back: changes by time may be undone
            self._dirty.update(dict.fromkeys(self._objects))
        self._now = now
        while self._clock and self._clock[0][0] <= now:
            at, name = heapq.heappop(self._clock)
            if self._due.get(name) != at:
                continue
            del self._due[name]
            obj = self._objects.get(name)
            if obj is None:
                continue
            # If the lease was renewed since, only the time of the next look changes.
            node, changes_at = self._form(obj, now)
            known = self._nodes.get(name)
            if known is not None and node.health == known.health:
                self._wake(name, changes_at)
            else:
                self._dirty[name] = None


def _is_as_before(node: objects.Node, known: objects.Node) -> bool:
    if node.status != known.status or node.spec != known.spec:
        return False
    return msgspec.structs.replace(node.metadata, resource_version=known.metadata.resource_version) == known.metadata


def _later(new: Lease, old: Lease) -> bool:
    """Whether the new lease is valid at least as long as the old one."""
    if new.spec.renew_time is None or old.spec.renew_time is None:
        return False
    return new.spec.renew_time >= old.spec.renew_time and (
        new.spec.lease_duration_seconds >= old.spec.lease_duration_seconds
    )
