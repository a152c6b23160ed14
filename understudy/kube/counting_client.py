"""A cluster client that counts followed objects, bound pods and released pods."""

import contextlib
from collections.abc import AsyncIterator, Sequence

from understudy.kube.fenced_client import ClientWrapper
from understudy.objects.resources import Resource
from understudy.ports import Change, ChangeType, Cluster, PodBinding, PodEviction


class CountingClient(ClientWrapper):
    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster)
        self.objects: dict[str, int] = {}  # by resource
        self.bound = 0
        self.released = 0

    async def follow(
        self, resource: Resource, *, namespace: str = "", labels: str = "", fields: str = "", decoded: bool = False
    ) -> AsyncIterator[Change]:
        there, synced, key = 0, False, resource.key
        changes = super().follow(resource, namespace=namespace, labels=labels, fields=fields, decoded=decoded)
        try:
            async with contextlib.aclosing(changes):  # type: ignore[type-var]
                async for change in changes:
                    step = (change.type is ChangeType.ADDED) - (change.type is ChangeType.DELETED)
                    there, synced = there + step, True
                    self._count(key, step)
                    yield change
        finally:
            if synced:  # otherwise the cluster does not serve this resource
                self._count(key, -there)

    def _count(self, key: str, step: int) -> None:
        self.objects[key] = self.objects.get(key, 0) + step

    async def bind(self, namespace: str, bindings: Sequence[PodBinding]) -> None:
        await super().bind(namespace, bindings)
        self.bound += len(bindings)

    async def release(self, namespace: str, releases: Sequence[PodEviction]) -> None:
        await super().release(namespace, releases)
        self.released += len(releases)
