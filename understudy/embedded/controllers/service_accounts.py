"""Creates the service account `default` in every namespace that is not being deleted."""

from collections.abc import Mapping
from http import HTTPStatus

from understudy.embedded.controllers.runtime.controller import ChangeHandler
from understudy.embedded.controllers.runtime.object_version import ObjectChange
from understudy.embedded.controllers.runtime.work_queue import WorkQueue
from understudy.kinds.children.partial_objects import PartialObject
from understudy.objects.resources import NAMESPACES, SERVICE_ACCOUNTS, Resource
from understudy.ports import Clock, Cluster, Ref, Refused

DEFAULT = "default"
_NOT_POSSIBLE = (
    HTTPStatus.FORBIDDEN,
    HTTPStatus.NOT_FOUND,
    HTTPStatus.CONFLICT,
)  # the namespace is being deleted, or gone, or has the account already


class ServiceAccountController:
    """Keys are names of namespaces."""

    name = "service accounts"

    def __init__(self, cluster: Cluster, clock: Clock) -> None:
        self.queue: WorkQueue[str] = WorkQueue(clock)
        self._cluster = cluster
        self._namespaces: set[str] = set()
        self._served: set[str] = set()  # namespaces that have the account

    def watches(self) -> Mapping[Resource, ChangeHandler]:
        return {NAMESPACES: self._on_namespace, SERVICE_ACCOUNTS: self._on_account}

    def _on_namespace(self, change: ObjectChange) -> None:
        meta = change.read(PartialObject).metadata
        if change.is_deleted or meta.leaving:
            self._namespaces.discard(meta.name)
        else:
            self._namespaces.add(meta.name)
            self.queue.add(meta.name)

    def _on_account(self, change: ObjectChange) -> None:
        meta = change.read(PartialObject).metadata
        if meta.name != DEFAULT:
            return
        if change.is_deleted:
            self._served.discard(meta.namespace)
            self.queue.add(meta.namespace)
        else:
            self._served.add(meta.namespace)

    async def reconcile(self, key: str) -> float | None:
        if key not in self._namespaces or key in self._served:
            return None
        document = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": DEFAULT}}
        try:
            await self._cluster.create(Ref(SERVICE_ACCOUNTS, key), document)
        except Refused as error:
            if error.code not in _NOT_POSSIBLE:
                raise
        return None
