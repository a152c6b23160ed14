"""Binds each PersistentVolumeClaim at once to a new volume: a folder of this machine, which all nodes reach."""

from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any

import msgspec

from understudy.embedded.controllers.runtime.controller import ChangeHandler
from understudy.embedded.controllers.runtime.object_version import ObjectChange, ObservedPod
from understudy.embedded.controllers.runtime.work_queue import WorkQueue
from understudy.kinds.children.actions import owner_reference
from understudy.kinds.children.partial_objects import PartialObject
from understudy.objects.meta import Part
from understudy.objects.resources import CLAIMS, PODS, VOLUMES, Resource
from understudy.ports import Clock, Cluster, PatchForm, Ref, Refused

PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
OURS = "understudy.dev/folder"


class VolumeRef(Part, frozen=True, gc=False):
    uid: str = ""


class VolumeSpec(Part, frozen=True, gc=False):
    claim_ref: VolumeRef = VolumeRef()


class SeenVolume(PartialObject, frozen=True, gc=False, kw_only=True):
    spec: VolumeSpec = VolumeSpec()


class PersistentVolumeBinder:
    """Keys are `namespace/name` of a claim, the name of a volume (no slash), or `pod:namespace/name` of a pod with
    ephemeral volumes. A folder outlives its claim: a new claim of the same name has the old files."""

    name = "volume claims"

    def __init__(self, cluster: Cluster, clock: Clock, folders: Path) -> None:
        self.queue: WorkQueue[str] = WorkQueue(clock)
        self._cluster = cluster
        self._folders = folders
        self._claims: dict[str, bytes] = {}
        self._claim_uids: set[str] = set()
        self._volumes: dict[str, SeenVolume] = {}
        self._pods: dict[str, ObservedPod] = {}  # only those with ephemeral volumes

    def watches(self) -> Mapping[Resource, ChangeHandler]:
        return {CLAIMS: self._on_claim, VOLUMES: self._on_volume, PODS: self._on_pod}

    def _on_claim(self, change: ObjectChange) -> None:
        meta = change.read(PartialObject).metadata
        key = f"{meta.namespace}/{meta.name}"
        if change.is_deleted:
            self._claims.pop(key, None)
            self._claim_uids.discard(meta.uid)
            self.queue.add(_volume_name(meta.uid))
        else:
            self._claims[key] = change.raw
            self._claim_uids.add(meta.uid)
            self.queue.add(key)

    def _on_volume(self, change: ObjectChange) -> None:
        volume = change.read(SeenVolume)
        name = volume.metadata.name
        if change.is_deleted:
            self._volumes.pop(name, None)
        elif volume.metadata.annotations.get(PROVISIONED_BY) == OURS:
            self._volumes[name] = volume
            self.queue.add(name)

    def _on_pod(self, change: ObjectChange) -> None:
        pod = change.read(ObservedPod)
        key = f"pod:{pod.metadata.namespace}/{pod.metadata.name}"
        if change.is_deleted:
            self._pods.pop(key, None)
        elif any(volume.ephemeral for volume in pod.spec.volumes) and key not in self._pods:
            self._pods[key] = pod
            self.queue.add(key)

    async def reconcile(self, key: str) -> float | None:
        try:
            if key.startswith("pod:"):
                await self._make_claims(key)
            elif "/" in key:
                await self._bind(key)
            else:
                await self._take_away(key)
        except Refused as error:
            if error.code not in (
                HTTPStatus.NOT_FOUND,
                HTTPStatus.CONFLICT,
            ):  # the object has changed; the watch will tell
                raise
        return None

    async def _bind(self, key: str) -> None:
        raw = self._claims.get(key)
        claim = msgspec.json.decode(raw) if raw else {}
        if not claim or "deletionTimestamp" in claim["metadata"] or claim.get("status", {}).get("phase") == "Bound":
            return
        meta, spec = claim["metadata"], claim["spec"]
        namespace, name = meta["namespace"], meta["name"]
        volume = spec.get("volumeName")
        if not volume:
            volume = _volume_name(meta["uid"])
            await self._make_volume(volume, claim)
        ref = Ref(CLAIMS, namespace, name)
        await self._cluster.patch(
            ref, {"metadata": {"uid": meta["uid"]}, "spec": {"volumeName": volume}}, form=PatchForm.MERGE
        )
        status: dict[str, Any] = {"phase": "Bound", "accessModes": spec.get("accessModes") or ["ReadWriteOnce"]}
        if capacity := _capacity(spec):
            status["capacity"] = capacity
        patch = {"metadata": {"uid": meta["uid"]}, "status": status}
        await self._cluster.patch(ref, patch, sub="status", form=PatchForm.MERGE)

    async def _make_volume(self, name: str, claim: dict[str, Any]) -> None:
        meta, spec = claim["metadata"], claim["spec"]
        path = self._folders / meta["namespace"] / meta["name"]
        body = {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": name, "annotations": {PROVISIONED_BY: OURS}},
            "spec": {
                "accessModes": spec.get("accessModes") or ["ReadWriteOnce"],
                "capacity": _capacity(spec) or {"storage": "1Gi"},
                "claimRef": {"apiVersion": "v1", "kind": CLAIMS.kind, **_identity(meta)},
                "hostPath": {"path": str(path), "type": "DirectoryOrCreate"},
                "persistentVolumeReclaimPolicy": "Retain",
                "storageClassName": spec.get("storageClassName") or "",
                "volumeMode": spec.get("volumeMode") or "Filesystem",
            },
        }
        try:
            await self._cluster.create(Ref(VOLUMES), body)
        except Refused as error:
            if error.code != HTTPStatus.CONFLICT:
                raise
        patch = {"status": {"phase": "Bound"}}
        await self._cluster.patch(Ref(VOLUMES, name=name), patch, sub="status", form=PatchForm.MERGE)

    async def _take_away(self, name: str) -> None:
        """Deletes a volume whose claim is gone."""
        volume = self._volumes.get(name)
        if volume is not None and volume.spec.claim_ref.uid not in self._claim_uids:
            await self._cluster.delete(Ref(VOLUMES, name=name), uid=volume.metadata.uid)

    async def _make_claims(self, key: str) -> None:
        pod = self._pods.get(key)
        if pod is None:
            return
        meta = pod.metadata
        for volume in pod.spec.volumes:
            template = (volume.ephemeral or {}).get("volumeClaimTemplate")
            name = f"{meta.name}-{volume.name}"
            if template is None or f"{meta.namespace}/{name}" in self._claims:
                continue
            owners = [owner_reference(PODS.api_version, PODS.kind, meta)]
            metadata = {**(template.get("metadata") or {}), "name": name, "ownerReferences": owners}
            body = {"apiVersion": "v1", "kind": CLAIMS.kind, "metadata": metadata, "spec": template["spec"]}
            await self._cluster.create(Ref(CLAIMS, meta.namespace), body)


def _volume_name(uid: str) -> str:
    return f"pvc-{uid}"


def _identity(meta: dict[str, Any]) -> dict[str, str]:
    return {"namespace": meta["namespace"], "name": meta["name"], "uid": meta["uid"]}


def _capacity(spec: dict[str, Any]) -> dict[str, Any]:
    requests = (spec.get("resources") or {}).get("requests") or {}
    return {"storage": requests["storage"]} if "storage" in requests else {}
