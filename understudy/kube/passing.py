"""A Cluster that passes everything on to another: what stands between the loops and a cluster begins with this."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from understudy.objects.resources import Resource
from understudy.ports import Change, Cluster, Departure, PatchForm, Ref, Seating


class Passing:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def follow(
        self, resource: Resource, *, namespace: str = "", labels: str = "", fields: str = "", decoded: bool = False
    ) -> AsyncIterator[Change]:
        return self._cluster.follow(resource, namespace=namespace, labels=labels, fields=fields, decoded=decoded)

    def age(self) -> float:
        return self._cluster.age()

    async def get(self, ref: Ref) -> bytes:
        return await self._cluster.get(ref)

    async def create(self, ref: Ref, body: Mapping[str, Any], sub: str = "") -> bytes:
        return await self._cluster.create(ref, body, sub)

    async def patch(self, ref: Ref, patch: Any, *, sub: str = "", form: PatchForm = PatchForm.STRATEGIC) -> bytes:
        return await self._cluster.patch(ref, patch, sub=sub, form=form)

    async def delete(self, ref: Ref, *, grace: int | None = None, uid: str = "", propagation: str = "") -> None:
        await self._cluster.delete(ref, grace=grace, uid=uid, propagation=propagation)

    async def bind(self, namespace: str, seatings: Sequence[Seating]) -> None:
        await self._cluster.bind(namespace, seatings)

    async def release(self, namespace: str, departures: Sequence[Departure]) -> None:
        await self._cluster.release(namespace, departures)
