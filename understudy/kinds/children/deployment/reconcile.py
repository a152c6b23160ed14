"""An apps/v1 Deployment and its ReplicaSets, into what is to be done next: a ReplicaSet for a new template, pods moved
from old ReplicaSets to it, old revisions forgotten."""

import hashlib
from collections.abc import Mapping

import msgspec

from understudy.kinds.children.actions import (
    NO_ACTIONS,
    ChildActions,
    CreateChild,
    DeleteChild,
    Document,
    EventNote,
    ObservedChildren,
    PatchChild,
    owner_reference,
)
from understudy.kinds.children.deployment.replica_counts import replicas_wanted
from understudy.kinds.children.deployment.spec import (
    DESIRED,
    MOST,
    REVISION,
    TEMPLATE_HASH,
    Rollout,
    revision_of,
    rollout_of,
    without_hash,
)
from understudy.kinds.children.deployment.status import is_complete, next_deadline, status_of
from understudy.kinds.children.partial_objects import PartialReplicaSet
from understudy.objects.resources import DEPLOYMENTS, REPLICA_SETS

HISTORY = "deployment.kubernetes.io/revision-history"
_NOT_PASSED_ON = {REVISION, HISTORY, DESIRED, MOST, "kubectl.kubernetes.io/last-applied-configuration"}
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"  # no vowels, so no words


def reconcile(document: Document, observed: ObservedChildren, now: float) -> ChildActions:
    rollout = rollout_of(document, observed, now)
    if rollout.deployment.metadata.leaving:
        return NO_ACTIONS
    creates = () if rollout.current or rollout.deployment.spec.paused else _first(rollout)
    scaled, notes = _scaled(rollout)
    return ChildActions(
        status=status_of(rollout),
        patches=(*scaled, *_revisions(rollout)),
        deletes=_forgotten(rollout),
        creates=creates,
        notes=notes,
        again_at=next_deadline(rollout),
    )


def _first(rollout: Rollout) -> tuple[CreateChild, ...]:
    """The ReplicaSet of the template. With Recreate it waits until all older pods are gone."""
    deployment = rollout.deployment
    if deployment.spec.strategy.type == "Recreate" and any(_has_pods(one) for one in rollout.old):
        return ()
    meta, template = deployment.metadata, without_hash(deployment.spec.template)
    hashed = {TEMPLATE_HASH: _hash(meta.uid, template)}
    selector = rollout.document["spec"]["selector"]
    count = replicas_wanted(rollout)[""]
    labels = {**template["metadata"]["labels"], **hashed}
    metadata = {
        "name": f"{meta.name}-{hashed[TEMPLATE_HASH]}",
        "namespace": meta.namespace,
        "labels": labels,
        "annotations": {**_passed_on(meta.annotations), **_sizes(rollout), REVISION: str(_newest(rollout) + 1)},
        "ownerReferences": [owner_reference(DEPLOYMENTS.api_version, DEPLOYMENTS.kind, meta)],
    }
    spec: Document = {
        "replicas": count,
        "selector": {**selector, "matchLabels": {**(selector.get("matchLabels") or {}), **hashed}},
        "template": {**template, "metadata": {**template["metadata"], "labels": labels}},
    }
    if deployment.spec.min_ready_seconds:
        spec["minReadySeconds"] = deployment.spec.min_ready_seconds
    kind = {"apiVersion": REPLICA_SETS.api_version, "kind": REPLICA_SETS.kind}
    note = EventNote("ScalingReplicaSet", f"Scaled up replica set {metadata['name']} from 0 to {count}")
    return (CreateChild(REPLICA_SETS, {**kind, "metadata": metadata, "spec": spec}, note),)


def _has_pods(one: PartialReplicaSet) -> bool:
    status = one.status
    seen = status.observed_generation >= one.metadata.generation
    return bool(one.spec.replicas or status.replicas or status.terminating_replicas) or not seen


def _hash(uid: str, template: Document) -> str:
    """The uid keeps the ReplicaSets of a deployment apart from those that an earlier one of its name left behind."""
    digest = hashlib.sha256(uid.encode() + msgspec.json.encode(template, order="deterministic")).digest()
    return "".join(_ALPHABET[byte % len(_ALPHABET)] for byte in digest[:10])


def _newest(rollout: Rollout) -> int:
    return max((revision_of(one) for one in rollout.old), default=0)


def _passed_on(annotations: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in annotations.items() if key not in _NOT_PASSED_ON}


def _sizes(rollout: Rollout) -> dict[str, str]:
    deployment = rollout.deployment
    wanted = deployment.spec.replicas
    return {DESIRED: str(wanted), MOST: str(wanted + deployment.max_surge)}


def _scaled(rollout: Rollout) -> tuple[tuple[PatchChild, ...], tuple[EventNote, ...]]:
    wanted = replicas_wanted(rollout)
    patches, notes = [], []
    for one in rollout.all:
        name, before, after = one.metadata.name, one.spec.replicas, wanted[one.metadata.name]
        if before == after:
            continue
        seen = {"uid": one.metadata.uid, "resourceVersion": one.metadata.resource_version}
        spec = {"replicas": after}
        patches.append(
            PatchChild(REPLICA_SETS, name, {"metadata": {**seen, "annotations": _sizes(rollout)}, "spec": spec})
        )
        way = "up" if after > before else "down"
        notes.append(EventNote("ScalingReplicaSet", f"Scaled {way} replica set {name} from {before} to {after}"))
    return tuple(patches), tuple(notes)


def _revisions(rollout: Rollout) -> list[PatchChild]:
    """The ReplicaSet of the template has the highest revision, also after a rollback, and so has the deployment."""
    current, meta = rollout.current, rollout.deployment.metadata
    if current is None:
        return []
    patches: list[PatchChild] = []
    own, newest = revision_of(current), _newest(rollout)
    revision = own if own > newest else newest + 1
    change: Document = {}
    if own != revision:
        earlier = [text for text in (current.metadata.annotations.get(HISTORY), str(own) if own else "") if text]
        change = {REVISION: str(revision), **({HISTORY: ",".join(earlier)} if earlier else {})}
    passed = _passed_on(meta.annotations)
    change |= {key: value for key, value in passed.items() if current.metadata.annotations.get(key) != value}
    if change:
        patches.append(PatchChild(REPLICA_SETS, current.metadata.name, {"metadata": {"annotations": change}}))
    if meta.annotations.get(REVISION) != str(revision):
        annotation = {"metadata": {"uid": meta.uid, "annotations": {REVISION: str(revision)}}}
        patches.append(PatchChild(DEPLOYMENTS, meta.name, annotation))
    ready = rollout.deployment.spec.min_ready_seconds
    if rollout.document["spec"].get("minReadySeconds", 0) != current.spec.min_ready_seconds:
        patches.append(PatchChild(REPLICA_SETS, current.metadata.name, {"spec": {"minReadySeconds": ready}}))
    return patches


def _forgotten(rollout: Rollout) -> tuple[DeleteChild, ...]:
    """Old ReplicaSets without pods, beyond the history limit, once the update is complete."""
    if not is_complete(rollout):
        return ()
    empty = sorted((one for one in rollout.old if not _has_pods(one)), key=revision_of)
    surplus = empty[: max(0, len(empty) - rollout.deployment.spec.revision_history_limit)]
    return tuple(DeleteChild(REPLICA_SETS, one.metadata.name, one.metadata.uid) for one in surplus)
