"""The view: Kubernetes objects in, one by one as they change; a Snapshot of the cluster out, on demand."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, get_args

import msgspec

from understudy.control.view.disruption_budgets import DisruptionBudgets
from understudy.control.view.gang_index import GangIndex
from understudy.control.view.gang_parts import PassedOver
from understudy.control.view.invalid_objects import InvalidObjects
from understudy.control.view.node_health import DEFAULT_LIMITS, HealthLimits
from understudy.control.view.node_index import NodeIndex
from understudy.control.view.node_leases import LeaseClock
from understudy.decide.policy import DEFAULT_POLICY, Policy
from understudy.kinds.context import Context
from understudy.kinds.registry import JOB_STRUCTS
from understudy.model.nodes import Fence
from understudy.model.snapshot import Snapshot
from understudy.objects.cluster_objects import (
    Namespace,
    PersistentVolume,
    PersistentVolumeClaim,
    PodDisruptionBudget,
    PriorityClass,
    StorageClass,
)
from understudy.objects.drain_requests import DrainRequest
from understudy.objects.jobs import TrainingRuntime, Workload
from understudy.objects.meta import KubeObject
from understudy.objects.nodes import Lease, Node
from understudy.objects.pod_groups import AnyGroup
from understudy.objects.pods import Pod
from understudy.objects.volumes import NamedClaim, unprovisioned_claims


class WatchedCluster(NamedTuple):
    """What the view can rely on if its objects come from watches and not from a dump."""

    leases: LeaseClock | None = None  # None: leases are judged as in a dump
    complete: bool = True  # the view contains every object of the cluster: a claim that is not in it does not exist
    job_lag: float = 0.0  # seconds by which a job may be put later than its pods


class ClusterView:
    """Keeps the objects. A snapshot costs what changed since the last one; without changes it is the same snapshot.

    With `invalid_objects`, invalid objects are recorded there and do not stop the others. With `watched`, the objects
    come from watches: a lease expires while other nodes renew theirs."""

    def __init__(
        self,
        policy: Policy = DEFAULT_POLICY,
        scheduler_name: str | None = None,
        limits: HealthLimits = DEFAULT_LIMITS,
        invalid_objects: InvalidObjects | None = None,
        watched: WatchedCluster | None = None,
    ) -> None:
        by_priority = policy.default_capacity if policy.capacity_by_priority else None
        self._context = Context(scheduler_name, by_priority)
        self._context.surroundings.complete = watched is not None and watched.complete
        self._gangs = GangIndex(self._context, invalid_objects, watched.job_lag if watched is not None else 0.0)
        self._nodes = NodeIndex(limits, invalid_objects, watched.leases if watched is not None else None)
        self._budgets = DisruptionBudgets()
        self._context_stale = False
        self._snapshot = Snapshot.of(index=policy.index)
        self._put: dict[type, Callable[[Any], None]] = {
            Pod: self._put_pod,
            Node: self._nodes.put,
            Lease: self._nodes.put_lease,
            DrainRequest: self._nodes.put_drain_request,
            PodDisruptionBudget: self._budgets.put,
            **dict.fromkeys(JOB_STRUCTS, self._gangs.put_job),
            **dict.fromkeys(get_args(AnyGroup), self._gangs.put_group),
        }
        self._remove: dict[type, Callable[[Any], None]] = {
            Pod: self._remove_pod,
            Node: self._nodes.remove,
            Lease: self._nodes.remove_lease,
            DrainRequest: self._nodes.remove_drain_request,
            PodDisruptionBudget: self._budgets.remove,
            **dict.fromkeys(JOB_STRUCTS, self._gangs.remove_job),
            **dict.fromkeys(get_args(AnyGroup), self._gangs.remove_group),
        }

    def put(self, obj: KubeObject) -> None:
        """Replaces what was known of the object."""
        put = self._put.get(type(obj))
        if put is not None:
            put(obj)
        else:
            self._update_context(obj, gone=False)

    def remove(self, obj: KubeObject) -> None:
        remove = self._remove.get(type(obj))
        if remove is not None:
            remove(obj)
        else:
            self._update_context(obj, gone=True)

    def _put_pod(self, pod: Pod) -> None:
        known = self._gangs.pod(pod.metadata.namespace, pod.metadata.name)
        if known is not None and known.metadata.uid != pod.metadata.uid:
            self._nodes.pod_gone(known)
        self._gangs.put_pod(pod)

    def _remove_pod(self, pod: Pod) -> None:
        self._nodes.pod_gone(pod)
        self._gangs.remove_pod(pod)

    @property
    def has_changed(self) -> bool:
        """Whether an object was put or removed that may change the snapshot."""
        return self._context_stale or self._gangs.touched or self._nodes.touched or self._budgets.touched

    def next_look(self) -> float | None:
        """When passing time alone may change the snapshot."""
        moments = (self._nodes.next_look(), self._gangs.next_look())
        return min((at for at in moments if at is not None), default=None)

    def pod(self, namespace: str, name: str) -> Pod | None:
        return self._gangs.pod(namespace, name)

    def pods(self) -> Iterable[Pod]:
        return self._gangs.pods()

    def pods_of(self, gang: str) -> list[Pod]:
        return [entry.pod for entry in self._gangs.group(gang).entries.values()]

    def job_of(self, gang: str) -> Workload | None:
        """The job of the gang; None for lone pods, and for pods whose job is not known."""
        return self._gangs.group(gang).top_level_job

    def node(self, name: str) -> Node | None:
        return self._nodes.get(name)

    def fence_wanted(self, node: str, pods: Iterable[Pod]) -> Fence | None:
        """The annotation that the node needs before these pods are force-deleted; None: nothing to write."""
        return self._nodes.fence_wanted(node, pods)

    def fence(self, node: str, fence: Fence) -> None:
        """The node gets no pods for a while when it returns; this counts from now on, before the node shows it."""
        self._nodes.fence(node, fence)

    @property
    def fence_notes(self) -> Mapping[str, str | None]:
        """Annotations of fences that nodes should have and do not have; None: the annotation is to be removed."""
        return self._nodes.fence_notes

    @property
    def drain_requests(self) -> Iterable[DrainRequest]:
        return self._nodes.drain_requests

    def unmade_volumes(self, pod: Pod) -> list[NamedClaim]:
        return unprovisioned_claims(pod.spec, pod.metadata.namespace, pod.metadata.name, self._context.surroundings)

    def pass_over(self, found: PassedOver) -> None:
        """Snapshots leave this gang out until one of its pods is created or deleted, or its job changes its spec. A
        gang that has seats counts as stalled instead."""
        self._gangs.pass_over(found)

    def catch_up(self, gangs: Iterable[str]) -> bool:
        """Whether changes of one of these gangs were left out so far. The next snapshot has them."""
        return self._gangs.catch_up(gangs)

    def snapshot(self, now: float) -> Snapshot:
        """Raises BadObject if an object contradicts another, such as a job whose PriorityClass does not exist."""
        if self._context_stale:
            self._context.changed()
            self._gangs.touch_all()
            self._context_stale = False
        pods_changed = self._gangs.touched
        nodes, gone_nodes = self._nodes.changes(now)
        gangs = self._gangs.changes(now)
        gone_gangs = self._gangs.settle(gangs)
        self._nodes.settle(nodes, gone_nodes)
        if nodes or gangs or gone_nodes:
            self._snapshot = self._snapshot.updated(
                nodes=nodes.values(),
                gangs=[gang for gang in gangs.values() if gang is not None],
                gone_nodes=gone_nodes,
                gone_gangs=gone_gangs,
            )
        budgets = self._budgets.current(self._gangs.pods, pods_changed)
        if budgets != self._snapshot.budgets:
            self._snapshot = msgspec.structs.replace(self._snapshot, budgets=budgets)
        return self._snapshot

    def _update_context(self, obj: KubeObject, gone: bool) -> None:
        """Objects that change the meaning of others. Most change rarely, and then all gangs are formed again. Claims
        and volumes change all day, and affect only the pods that name them."""
        kept, key = self._kept_objects(obj)
        storage = self._context.surroundings
        before, was_known = kept.get(key), storage.is_known
        if gone:
            kept.pop(key, None)
        else:
            metadata = msgspec.structs.replace(obj.metadata, resource_version="")
            kept[key] = msgspec.structs.replace(obj, metadata=metadata)
        if kept.get(key) == before:
            return
        if storage.is_known != was_known or not isinstance(obj, PersistentVolumeClaim | PersistentVolume):
            self._context_stale = True
        elif isinstance(obj, PersistentVolumeClaim):
            self._gangs.touch_claimants(obj.metadata.namespace, obj.metadata.name)
        # before the first snapshot no gang is formed, and all volumes of the cluster arrive at once
        elif self._gangs.looked_at:
            for namespace, name in storage.claims_on(obj.metadata.name):
                self._gangs.touch_claimants(namespace, name)

    def _kept_objects(self, obj: KubeObject) -> tuple[dict[Any, Any], object]:
        meta, around = obj.metadata, self._context.surroundings
        match obj:
            case PriorityClass():
                return self._context.classes, meta.name
            case Namespace():
                return around.namespaces, meta.name
            case PersistentVolumeClaim():
                return around.claims, (meta.namespace, meta.name)
            case PersistentVolume():
                return around.volumes, meta.name
            case StorageClass():
                return around.classes, meta.name
            case TrainingRuntime():
                namespace = "" if obj.kind == "ClusterTrainingRuntime" else meta.namespace
                return self._context.runtimes, (obj.kind, namespace, meta.name)
            case _:
                raise TypeError(f"the view has no use for {obj.title}")
