"""The service account `default`: every namespace that is not being deleted has one, again where it was deleted."""

from collections.abc import Mapping

import msgspec

from understudy.embedded.controllers.runtime.controller import CONFLICT, ChangeHandler
from understudy.embedded.controllers.runtime.work_queue import WorkQueue
from understudy.kinds.children.partial_objects import PartialObject
from understudy.objects.resources import NAMESPACES, SERVICE_ACCOUNTS, Resource
from understudy.ports import Change, ChangeType, Clock, Cluster, Ref, Refused

DEFAULT = "default"
_NOT_POSSIBLE = (403, 404, CONFLICT)  # the namespace is on its way out, or gone; or it has one by now
_read = msgspec.json.Decoder(PartialObject).decode


class ServiceAccountController:
    """Works by the name of the namespace."""

    name = "service accounts"

    def __init__(self, cluster: Cluster, clock: Clock) -> None:
        self.worklist: WorkQueue[str] = WorkQueue(clock)
        self._cluster = cluster
        self._namespaces: set[str] = set()
        self._served: set[str] = set()  # namespaces that have the account

    def hearings(self) -> Mapping[Resource, ChangeHandler]:
        return {NAMESPACES: self._hear_namespace, SERVICE_ACCOUNTS: self._hear_account}

    def _hear_namespace(self, change: Change) -> None:
        meta = _read(change.raw).metadata
        if change.type is ChangeType.DELETED or meta.leaving:
            self._namespaces.discard(meta.name)
        else:
            self._namespaces.add(meta.name)
            self.worklist.add(meta.name)

    def _hear_account(self, change: Change) -> None:
        meta = _read(change.raw).metadata
        if meta.name != DEFAULT:
            return
        if change.type is ChangeType.DELETED:
            self._served.discard(meta.namespace)
            self.worklist.add(meta.namespace)
        else:
            self._served.add(meta.namespace)

    async def settle(self, key: str) -> float | None:
        if key not in self._namespaces or key in self._served:
            return None
        document = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": DEFAULT}}
        try:
            await self._cluster.create(Ref(SERVICE_ACCOUNTS, key), document)
        except Refused as error:
            if error.code not in _NOT_POSSIBLE:
                raise
        return None
