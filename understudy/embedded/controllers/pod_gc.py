"""Deletes pods of nodes that no longer exist, and the oldest finished pods beyond a limit."""

from collections.abc import Mapping
from http import HTTPStatus

from understudy.embedded.controllers.runtime.controller import ChangeHandler
from understudy.embedded.controllers.runtime.object_version import ObjectChange, ObservedPod
from understudy.embedded.controllers.runtime.work_queue import WorkQueue
from understudy.kinds.children.partial_objects import PartialObject, whole_seconds
from understudy.objects.resources import NODES, PODS, Resource
from understudy.ports import Clock, Cluster, Ref, Refused

MISSING = 5.0  # seconds between the absence of a node and the deletion of its pods
MOST_FINISHED = 5_000

_FINISHED = "finished pods"  # one key for all of them, which is no name of a pod


class PodGarbageCollector:
    """Keys are `namespace/name` of pods, and one key for all finished pods."""

    name = "pod garbage collection"

    def __init__(self, cluster: Cluster, clock: Clock, most_finished: int = MOST_FINISHED) -> None:
        self.queue: WorkQueue[str] = WorkQueue(clock)
        self._cluster = cluster
        self._clock = clock
        self._most_finished = most_finished
        self._nodes: set[str] = set()
        self._nodes_gone: dict[str, float] = {}
        self._seats: dict[str, dict[str, str]] = {}  # node -> pods there, by key, with their uids
        self._finished: dict[str, tuple[float, str]] = {}  # since when, and uid
        self._node_of: dict[str, str] = {}

    def watches(self) -> Mapping[Resource, ChangeHandler]:
        return {NODES: self._on_node, PODS: self._on_pod}

    def _on_node(self, change: ObjectChange) -> None:
        name = change.read(PartialObject).metadata.name
        if not change.is_deleted:
            self._nodes.add(name)
            self._nodes_gone.pop(name, None)
        elif name in self._nodes:
            self._nodes.discard(name)
            for key in self._seats.get(name, ()):
                self.queue.add(key)

    def _on_pod(self, change: ObjectChange) -> None:
        pod = change.read(ObservedPod)
        meta, node = pod.metadata, pod.spec.node_name
        key = f"{meta.namespace}/{meta.name}"
        self._forget(key)
        if change.is_deleted:
            return
        if node:
            self._seats.setdefault(node, {})[key] = meta.uid
            self._node_of[key] = node
            if node not in self._nodes:
                self.queue.add(key)
        if pod.finished:
            self._finished[key] = (pod.finished_at, meta.uid)
            if len(self._finished) > self._most_finished:
                self.queue.add(_FINISHED)

    def _forget(self, key: str) -> None:
        self._finished.pop(key, None)
        node = self._node_of.pop(key, None)
        if node is not None:
            pods = self._seats[node]
            del pods[key]
            if not pods:
                del self._seats[node]
                self._nodes_gone.pop(node, None)

    async def reconcile(self, key: str) -> float | None:
        if key == _FINISHED:
            return await self._delete_surplus()
        node = self._node_of.get(key)
        if node is None or node in self._nodes:
            return None
        given_up_at = self._nodes_gone.setdefault(node, self._clock.now()) + MISSING
        if self._clock.now() < given_up_at:
            return given_up_at
        if not await self._node_exists(node):
            await self._give_up(key, self._seats[node][key])
        return None

    async def _node_exists(self, name: str) -> bool:
        """Asks the API, since the watch of nodes may be behind the watch of pods."""
        try:
            await self._cluster.get(Ref(NODES, name=name))
        except Refused as error:
            if error.code != HTTPStatus.NOT_FOUND:
                raise
            return False
        return True

    async def _give_up(self, key: str, uid: str) -> None:
        """Records the disruption first, so that the owner of the pod does not count it as a failure."""
        namespace, _, name = key.partition("/")
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "DeletionByPodGC",
            "message": "PodGC: node no longer exists",
            "lastTransitionTime": whole_seconds(self._clock.now()),
        }
        ref = Ref(PODS, namespace, name)
        patch = {"metadata": {"uid": uid}, "status": {"phase": "Failed", "conditions": [condition]}}
        try:
            await self._cluster.patch(ref, patch, sub="status")
            await self._cluster.delete(ref, grace=0, uid=uid)
        except Refused as error:
            if error.code not in (HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT):
                raise

    async def _delete_surplus(self) -> float | None:
        """Deletes the oldest finished pods beyond the limit."""
        surplus = len(self._finished) - self._most_finished
        for key, (_, uid) in sorted(self._finished.items(), key=lambda item: item[1])[: max(0, surplus)]:
            namespace, _, name = key.partition("/")
            try:
                await self._cluster.delete(Ref(PODS, namespace, name), grace=0, uid=uid)
            except Refused as error:
                if error.code not in (HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT):
                    raise
            self._finished.pop(key, None)
        return None
