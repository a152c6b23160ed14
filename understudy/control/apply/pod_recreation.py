"""Preempted pods without an owner that ask to be queued again: kept in a ConfigMap until they are created again.

Kubernetes deletes such a pod for good. Here its manifest is written before the deletion, so that no crash can lose it.
When the pod has left, it is created again under its name, with its place in the queue."""

import asyncio
import contextlib
import hashlib
import logging
from http import HTTPStatus
from typing import Any

import msgspec

from understudy.control.apply.context import ApplyContext
from understudy.kinds.annotations import LAST_SEATS, PREFIX, QUEUED_AT, format_time
from understudy.model.gangs import Gang, OnPreemption
from understudy.objects.pods import Pod
from understudy.objects.resources import CONFIG_MAPS, PODS
from understudy.ports import ChangeType, Cluster, Ref, Refused, Unreachable

LABEL = f"{PREFIX}requeued"
ON_PREEMPTION = f"{PREFIX}on-preemption"
RETRY = 1.0

_log = logging.getLogger(__name__)
Name = tuple[str, str]  # (namespace, name)


class KeptPod(msgspec.Struct, frozen=True):
    """A pod to be created again once the pod with this uid is gone."""

    uid: str
    manifest: dict[str, Any]


class _Record(msgspec.Struct, frozen=True):
    data: dict[str, str] = {}


def is_recreated(pod: Pod) -> bool:
    """Only pods that ask for it: the creator of a pod without an owner may have created a replacement already."""
    meta = pod.metadata
    return not meta.owner_references and meta.annotations.get(ON_PREEMPTION) == OnPreemption.REQUEUE


class PodRecreator:
    """`changed` is set when a pod can be created again."""

    def __init__(self, cluster: Cluster, context: ApplyContext, changed: asyncio.Event, place: str = "") -> None:
        """`place` is the namespace in which all manifests are kept; '': each in the pod's own namespace."""
        self._cluster = cluster
        self._place = place
        self._context = context
        self._changed = changed
        self._kept: dict[Name, KeptPod] = {}
        self.synced = asyncio.Event()

    async def run(self) -> None:
        while True:
            try:
                changes = self._cluster.follow(CONFIG_MAPS, namespace=self._place, labels=f"{LABEL}=pod")
                async with contextlib.aclosing(changes):  # type: ignore[type-var]
                    async for change in changes:
                        self._heard(change.type, change.raw)
            except (Refused, Unreachable) as error:
                _log.warning("cannot follow %s: %s", CONFIG_MAPS.key, error)
                self.synced.set()  # pods without owners are not created again then, but nothing else has to wait
            await self._context.clock.sleep(RETRY)

    def _heard(self, change: ChangeType, raw: bytes) -> None:
        if change is ChangeType.SYNCED:
            self.synced.set()
            return
        try:
            name, kept = _read(msgspec.json.decode(raw, type=_Record))
        except (KeyError, msgspec.DecodeError):
            return  # not written by the scheduler, or damaged: no pod can be created from it
        if change is ChangeType.DELETED:
            self._kept.pop(name, None)
        else:
            self._kept[name] = kept
            self._changed.set()

    async def keep(self, pod: Pod, gang: Gang) -> None:
        """Writes the manifest of the pod before the pod is deleted."""
        meta = pod.metadata
        manifest = msgspec.json.decode(await self._cluster.get(Ref(PODS, meta.namespace, meta.name)))
        kept = KeptPod(meta.uid, _anew(manifest, gang, pod.spec.node_name))
        record = self._record((meta.namespace, meta.name))
        body, place = _body(record, kept), Ref(CONFIG_MAPS, record.namespace)
        try:
            await self._cluster.create(place, body)
        except Refused as error:
            if error.code != HTTPStatus.CONFLICT:
                raise
            await self._forget((meta.namespace, meta.name))
            await self._cluster.create(place, body)

    async def make_again(self) -> None:
        """Called when no preemption is under way: a pod whose manifest is kept and that still exists was not deleted
        after all."""
        for name, kept in list(self._kept.items()):
            pod = self._context.view.pod(*name)
            if pod is not None and pod.metadata.uid == kept.uid and pod.metadata.deletion_timestamp is not None:
                continue
            try:
                if pod is None:
                    await self._make(name[0], kept)
                await self._forget(name)
            except Refused as error:
                self._kept.pop(name, None)
                _log.warning("cannot make pod %s/%s again: %s", *name, error)

    async def _make(self, namespace: str, kept: KeptPod) -> None:
        try:
            await self._cluster.create(Ref(PODS, namespace), kept.manifest)
        except Refused as error:
            if error.code != HTTPStatus.CONFLICT:  # a conflict means that a pod of this name exists already
                raise

    async def _forget(self, name: Name) -> None:
        self._kept.pop(name, None)
        try:
            await self._cluster.delete(self._record(name))
        except Refused as error:
            if error.code != HTTPStatus.NOT_FOUND:
                raise

    def _record(self, name: Name) -> Ref:
        """Where the manifest of a pod is kept. The readable name may be cut; a digest keeps cut names distinct."""
        namespace, pod = name
        digest = hashlib.blake2b("/".join(name).encode(), digest_size=4).hexdigest()
        return Ref(CONFIG_MAPS, self._place or namespace, f"understudy-requeued-{pod[:200]}-{digest}")


def _read(record: _Record) -> tuple[Name, KeptPod]:
    kept = msgspec.json.decode(record.data["pod"], type=KeptPod)
    meta = kept.manifest["metadata"]
    return (meta["namespace"], meta["name"]), kept


def _body(place: Ref, kept: KeptPod) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": place.name, "namespace": place.namespace, "labels": {LABEL: "pod"}},
        "data": {"pod": msgspec.json.encode(kept).decode()},
    }


def _anew(manifest: dict[str, Any], gang: Gang, node: str) -> dict[str, Any]:
    """The pod as its creator specified it, without what the cluster added since."""
    meta = manifest["metadata"]
    notes = {QUEUED_AT: format_time(gang.queued_at), LAST_SEATS: f"{meta['name']}={node}"}
    kept = {key: meta[key] for key in ("name", "namespace", "labels") if key in meta}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**kept, "annotations": {**meta.get("annotations", {}), **notes}},
        "spec": {key: value for key, value in manifest["spec"].items() if key != "nodeName"},
    }
