"""A list, for those who want no watch: all there is of a resource now."""

from understudy.embedded.controllers.runtime.informer import closing
from understudy.objects.resources import Resource
from understudy.ports import ChangeType, Cluster


async def list_objects(cluster: Cluster, resource: Resource, namespace: str = "") -> list[bytes]:
    found: list[bytes] = []
    async with closing(cluster.follow(resource, namespace=namespace)) as changes:
        async for change in changes:
            if change.type is ChangeType.SYNCED:
                break
            found.append(change.raw)
    return found
