"""The view: Kubernetes objects in, one by one as they change; the Snapshot of the cluster out, whenever asked for."""

from collections.abc import Callable, Iterable
from typing import Any, get_args

import msgspec

from understudy.control.budgets import BudgetBook
from understudy.control.gangs import GangBook
from understudy.control.health import DEFAULT_LIMITS, HealthLimits
from understudy.control.nodes import NodeBook
from understudy.kinds.context import Context
from understudy.model.snapshot import Snapshot
from understudy.objects.cluster import (
    Namespace,
    PersistentVolume,
    PersistentVolumeClaim,
    PodDisruptionBudget,
    PriorityClass,
)
from understudy.objects.jobs import TrainingRuntime, Workload
from understudy.objects.meta import KubeObject
from understudy.objects.nodes import Lease, Node
from understudy.objects.pods import Pod


class View:
    """Keeps what it was given. A snapshot costs what changed since the last one; nothing changed: it is that one."""

    def __init__(
        self, index: Iterable[str] = (), scheduler_name: str | None = None, limits: HealthLimits = DEFAULT_LIMITS
    ) -> None:
        self._context = Context(scheduler_name)
        self._gangs = GangBook(self._context)
        self._nodes = NodeBook(limits)
        self._budgets = BudgetBook()
        self._context_stale = False
        self._snapshot = Snapshot.of(index=index)
        self._put: dict[type, Callable[[Any], None]] = {
            Pod: self._gangs.put_pod,
            Node: self._nodes.put,
            Lease: self._nodes.put_lease,
            PodDisruptionBudget: self._budgets.put,
            **dict.fromkeys(get_args(Workload), self._gangs.put_job),
        }
        self._remove: dict[type, Callable[[Any], None]] = {
            Pod: self._gangs.remove_pod,
            Node: self._nodes.remove,
            Lease: self._nodes.remove_lease,
            PodDisruptionBudget: self._budgets.remove,
            **dict.fromkeys(get_args(Workload), self._gangs.remove_job),
        }

    def put(self, obj: KubeObject) -> None:
        """Takes an object as it is now, in place of what was known under its name."""
        put = self._put.get(type(obj))
        if put is not None:
            put(obj)
        else:
            self._surround(obj, gone=False)

    def remove(self, obj: KubeObject) -> None:
        remove = self._remove.get(type(obj))
        if remove is not None:
            remove(obj)
        else:
            self._surround(obj, gone=True)

    def snapshot(self, now: float) -> Snapshot:
        """Raises BadObject where an object contradicts another, such as a job whose PriorityClass does not exist."""
        if self._context_stale:
            self._context.changed()
            self._gangs.touch_all()
            self._context_stale = False
        pods_changed = self._gangs.touched
        nodes, gone_nodes = self._nodes.changes(now)
        gangs = self._gangs.changes()
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

    def _surround(self, obj: KubeObject, gone: bool) -> None:
        """The objects that change what others mean. They change rarely, and then everything is looked at again."""
        meta, around = obj.metadata, self._context.surroundings
        match obj:
            case PriorityClass():
                _set(self._context.classes, meta.name, obj, gone)
            case Namespace():
                _set(around.namespaces, meta.name, obj, gone)
            case PersistentVolumeClaim():
                _set(around.claims, (meta.namespace, meta.name), obj, gone)
            case PersistentVolume():
                _set(around.volumes, meta.name, obj, gone)
            case TrainingRuntime():
                namespace = "" if obj.kind == "ClusterTrainingRuntime" else meta.namespace
                _set(self._context.runtimes, (obj.kind, namespace, meta.name), obj, gone)
            case _:
                raise TypeError(f"the view has no use for {obj.title}")
        self._context_stale = True


def _set(shelf: dict[Any, Any], key: object, obj: KubeObject, gone: bool) -> None:
    if gone:
        shelf.pop(key, None)
    else:
        shelf[key] = obj
