"""Writes what the recording parts hand over: events, conditions of pods, annotations of nodes, incidents,
answers to drain requests, requests for machines."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from understudy.objects.pods import Pod
from understudy.objects.resources import INCIDENTS, NODES, PODS
from understudy.ports import Cluster, PatchForm, Ref, Refused


class RecordWriter:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    async def create_event(self, ref: Ref, event: Mapping[str, Any]) -> bool:
        return await self.create_once(ref, event)

    async def update_event(self, ref: Ref, patch: Mapping[str, Any]) -> bool:
        try:
            await self._cluster.patch(ref, patch, form=PatchForm.MERGE)
        except Refused as error:
            if error.code != HTTPStatus.NOT_FOUND:
                raise
            return False
        return True

    async def update_pod_status(self, ref: Ref, uid: str, status: Mapping[str, Any]) -> None:
        patch = {"metadata": {"uid": uid}, "status": status}
        await self._cluster.patch(Ref(PODS, ref.namespace, ref.name), patch, sub="status")

    async def annotate_node(self, name: str, annotations: Mapping[str, str | None], uid: str = "") -> None:
        metadata = {**({"uid": uid} if uid else {}), "annotations": annotations}
        await self._cluster.patch(Ref(NODES, name=name), {"metadata": metadata}, form=PatchForm.MERGE)

    async def update_drain_status(self, ref: Ref, seen: Mapping[str, str], status: Mapping[str, Any]) -> None:
        await self._cluster.patch(ref, {"metadata": seen, "status": status}, sub="status", form=PatchForm.MERGE)

    async def annotate_pod(self, pod: Pod, annotations: Mapping[str, str | None]) -> None:
        meta = pod.metadata
        patch = {"metadata": {"uid": meta.uid, "annotations": annotations}}
        await self._cluster.patch(Ref(PODS, meta.namespace, meta.name), patch, form=PatchForm.MERGE)

    async def put_incident(self, ref: Ref, document: Mapping[str, Any], is_known: bool) -> None:
        """An incident that is not known may exist all the same: an earlier loop may have created it just before it
        ended."""
        patch = {"spec": document["spec"], "status": document["status"]}
        if is_known:
            try:
                await self._cluster.patch(ref, patch, form=PatchForm.MERGE)
                return
            except Refused as error:
                if error.code != HTTPStatus.NOT_FOUND:
                    raise
        try:
            await self._cluster.create(Ref(INCIDENTS, ref.namespace), _without_nulls(document))
        except Refused as error:
            if error.code != HTTPStatus.CONFLICT:
                raise
            await self._cluster.patch(ref, patch, form=PatchForm.MERGE)

    async def delete_incident(self, ref: Ref) -> None:
        await self._cluster.delete(ref)

    async def create_once(self, ref: Ref, document: Mapping[str, Any]) -> bool:
        """False: an object of this name exists already."""
        try:
            await self._cluster.create(Ref(ref.resource, ref.namespace), document)
        except Refused as error:
            if error.code != HTTPStatus.CONFLICT:
                raise
            return False
        return True

    async def delete_if_there(self, ref: Ref) -> None:
        try:
            await self._cluster.delete(ref)
        except Refused as error:
            if error.code != HTTPStatus.NOT_FOUND:
                raise


def _without_nulls(value: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: part for key, part in value.items() if part is not None}
    return {key: _without_nulls(part) if isinstance(part, dict) else part for key, part in kept.items()}
