"""Deletes what a measurement left in the cluster, and waits until the API server has none of it any more.

A PodGroup stays until its pods are gone and a controller has removed its finalizer. A contender that began before that
would find objects of the contender before.
"""

import asyncio
from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

from bench.kube.workload import NAMESPACE, POD_GROUPS
from understudy.objects.resources import JOBS, PODS, Resource
from understudy.ports import Refused

KINDS = (JOBS, PODS, POD_GROUPS)  # Jobs first: their controller makes pods
PAGE = 500
LOOK_AGAIN = 0.25  # seconds
NOT_FOUND = 404
_NAMED = 3  # objects that an error names


class NotRemoved(Exception):
    """Objects of a measurement are still there."""


class Api(Protocol):
    async def request(self, method: str, path: str, body: Any = None) -> bytes: ...


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    deletion_timestamp: str = ""
    finalizers: tuple[str, ...] = ()


class _Object(msgspec.Struct, frozen=True):
    metadata: _Metadata


class _List(msgspec.Struct, frozen=True):
    items: tuple[_Object, ...] | None = None


_list = msgspec.json.Decoder(_List).decode


async def remove_traces(api: Api, seconds: float, look_again: float = LOOK_AGAIN) -> None:
    """Objects that a controller makes meanwhile are deleted as well."""
    left: dict[Resource, Sequence[_Object]] = {}
    try:
        async with asyncio.timeout(seconds):
            while True:
                left = {resource: await _objects(api, resource) for resource in KINDS}
                if not any(left.values()):
                    return
                for resource, objects in left.items():
                    if any(not one.metadata.deletion_timestamp for one in objects):
                        await _delete_all(api, resource)
                await asyncio.sleep(look_again)
    except TimeoutError:
        words = "; ".join(_described(resource, objects) for resource, objects in left.items() if objects)
        raise NotRemoved(f"still there after {seconds:g} s: {words}") from None


async def _objects(api: Api, resource: Resource) -> Sequence[_Object]:
    """The first page of the objects; empty where the cluster does not serve the resource."""
    try:
        return _list(await api.request("GET", f"{resource.path(NAMESPACE)}?limit={PAGE}")).items or ()
    except Refused as error:
        if error.code != NOT_FOUND:
            raise
        return ()


async def _delete_all(api: Api, resource: Resource) -> None:
    options: dict[str, Any] = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}
    if resource is PODS:
        options["gracePeriodSeconds"] = 0  # no kubelet is left on a dead node that could end them
    await api.request("DELETE", resource.path(NAMESPACE), options)


def _described(resource: Resource, objects: Sequence[_Object]) -> str:
    count = f"{len(objects)} or more" if len(objects) >= PAGE else str(len(objects))
    named = ", ".join(_with_finalizers(one.metadata) for one in objects[:_NAMED])
    return f"{count} {resource.plural} ({named}{', ...' if len(objects) > _NAMED else ''})"


def _with_finalizers(metadata: _Metadata) -> str:
    return f"{metadata.name} held by {' and '.join(metadata.finalizers)}" if metadata.finalizers else metadata.name
