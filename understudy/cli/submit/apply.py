"""Server-side apply of documents in the order of their kinds: all are tried, then all are stored."""

import asyncio
import sys
import time
from collections.abc import Iterable, Sequence
from http import HTTPStatus
from typing import Any

import msgspec

from understudy.cli.errors import BadInput
from understudy.cli.input.documents import TOO_DEEP, Document
from understudy.cli.session import Session
from understudy.cli.submit import field_paths
from understudy.cli.submit.create import ApiObject
from understudy.cli.submit.discovery import Discovery
from understudy.kinds.registry import KINDS
from understudy.objects.resources import PRIORITY_CLASSES
from understudy.ports import PatchForm, Ref, Refused

_QUERY = "fieldManager=understudy&force=true&fieldValidation=Strict"
_OLD_CLASSES = ("scheduling.k8s.io/v1beta1", "scheduling.k8s.io/v1alpha1")
_BOOKKEEPING = ("managedFields", "resourceVersion", "generation")
_PATIENCE = 5.0  # seconds in which a kind that was just defined is served
_LOOK = 0.1


class ApplyItem(msgspec.Struct, frozen=True):
    """An object to be applied, and the place it was read from."""

    place: str
    body: dict[str, Any]

    @property
    def api_version(self) -> str:
        return str(self.body["apiVersion"])

    @property
    def kind(self) -> str:
        return str(self.body["kind"])


async def apply(session: Session, documents: Sequence[Document], *, dry_run: bool) -> int:
    items = sorted(map(_item, documents), key=lambda item: rank(item.kind))
    catalogue = Discovery(session.client)
    items = [await _modern(catalogue, item) for item in items]
    tried = await _tried(session, catalogue, items)
    for item, result in zip(items, tried, strict=True):
        if dry_run:
            print(f"{result} (dry run)")
        else:
            print(await _stored(session, item), flush=True)
    return 0


async def _tried(session: Session, catalogue: Discovery, items: Sequence[ApplyItem]) -> list[str]:
    """The result of a dry run for each item. An item that needs another item of the same input to exist first cannot be
    tried; it counts as created."""
    results: list[str] = []
    kinds, namespaces = set(_defined(items)), {_name(item.body) for item in items if item.kind == "Namespace"}
    for item in items:
        if (item.api_version.partition("/")[0], item.kind) in kinds:
            results.append(f"{item.kind.lower()}.{item.api_version.partition('/')[0]}/{_name(item.body)} created")
            continue
        piece = await _placed(catalogue, item)
        if piece.resource.namespaced and _namespace(session, piece) in namespaces:
            results.append(f"{piece.title} created")
            continue
        results.append(await _applied(session, piece, "&dryRun=All"))
    return results


async def _stored(session: Session, item: ApplyItem) -> str:
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            return await _applied(session, await _placed(Discovery(session.client), item))
        except (BadInput, Refused) as error:
            absent = isinstance(error, BadInput) or error.code == HTTPStatus.NOT_FOUND
            if not absent or time.monotonic() > deadline:
                raise
        await asyncio.sleep(_LOOK)  # its kind was defined a moment ago, with a document before it


async def _placed(catalogue: Discovery, item: ApplyItem) -> ApiObject:
    return ApiObject(await catalogue.resource(item.api_version, item.kind, item.place), item.body)


async def _modern(catalogue: Discovery, item: ApplyItem) -> ApplyItem:
    """PriorityClasses of a version that clusters once served, as what they serve now."""
    old = item.kind == PRIORITY_CLASSES.kind and item.api_version in _OLD_CLASSES
    if not old or await catalogue.kinds(item.api_version):
        return item
    message = f"{item.place}: {item.api_version} is no longer served; taken as {PRIORITY_CLASSES.api_version}"
    print(f"understudy: {message}", file=sys.stderr)
    return ApplyItem(item.place, {**item.body, "apiVersion": PRIORITY_CLASSES.api_version})


async def _applied(session: Session, piece: ApiObject, more: str = "") -> str:
    ref = Ref(piece.resource, _namespace(session, piece), _name(piece.document))
    before = await _there(session, ref)
    answer = await session.client.request("PATCH", f"{ref.path()}?{_QUERY}{more}", piece.document, PatchForm.APPLY)
    after = msgspec.json.decode(answer)
    outcome = "created" if before is None else "unchanged" if _content(before) == _content(after) else "configured"
    return f"{piece.title} {outcome}"


async def _there(session: Session, ref: Ref) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = msgspec.json.decode(await session.client.get(ref))
    except Refused as error:
        if error.code != HTTPStatus.NOT_FOUND:
            raise
        return None
    return found


def _content(document: dict[str, Any]) -> dict[str, Any]:
    metadata = {key: value for key, value in document["metadata"].items() if key not in _BOOKKEEPING}
    return {**document, "metadata": metadata}


def _item(document: Document) -> ApplyItem:
    body = document.value
    for field in ("apiVersion", "kind"):
        if not isinstance(body.get(field), str) or not body[field]:
            raise BadInput(f"{document.place}: {field}: missing; expected apiVersion, kind and metadata")
    given = body.get("metadata")
    metadata = given if isinstance(given, dict) else {}
    if not isinstance(metadata.get("name"), str) or not metadata["name"]:
        hint = "; what has a generateName can be created, not applied" if "generateName" in metadata else ""
        raise BadInput(f"{document.place}: metadata.name: missing{hint}")
    kept = {key: value for key, value in metadata.items() if key != "managedFields"}
    try:
        return ApplyItem(document.place, field_paths.copy_document({**body, "metadata": kept}))
    except RecursionError:
        raise BadInput(f"{document.place}: {TOO_DEEP}") from None


def _defined(items: Iterable[ApplyItem]) -> Iterable[tuple[str, str]]:
    """The groups and kinds that the definitions among the objects bring."""
    for item in items:
        spec = item.body.get("spec")
        if item.kind == "CustomResourceDefinition" and isinstance(spec, dict) and isinstance(spec.get("names"), dict):
            yield str(spec.get("group")), str(spec["names"].get("kind"))


def _namespace(session: Session, piece: ApiObject) -> str:
    return piece.document["metadata"].get("namespace") or session.namespace if piece.resource.namespaced else ""


def _name(document: dict[str, Any]) -> str:
    return str(document["metadata"]["name"])


# Kinds of one line are sent in its order, objects of one kind in the order they were read.
_BEFORE = (
    ("Namespace", "CustomResourceDefinition"),
    ("PriorityClass", "RuntimeClass", "StorageClass", "CSIDriver", "DeviceClass"),
    ("NetworkPolicy", "ResourceQuota", "LimitRange", "PodDisruptionBudget"),
    ("ServiceAccount", "Secret", "ConfigMap"),
    ("PersistentVolume", "PersistentVolumeClaim", "ResourceClaimTemplate", "ResourceClaim"),
    ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"),
    ("Node", "Service", "Endpoints", "EndpointSlice"),
)


# Every kind that stands in no line is sent here: runtimes, queues and groups, which jobs refer to.
_AFTER = (
    ("DaemonSet", "Pod", "ReplicationController", "ReplicaSet", "Deployment", "StatefulSet", "HorizontalPodAutoscaler"),
    (*KINDS, "CronJob"),
    ("IngressClass", "Ingress", "APIService", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"),
)
_BEFORE_KINDS = [kind for line in _BEFORE for kind in line]
_RANKS = {kind: rank for rank, kind in enumerate(_BEFORE_KINDS)}


_RANKS |= {kind: rank for rank, kind in enumerate((kind for line in _AFTER for kind in line), len(_BEFORE_KINDS) + 1)}


def rank(kind: str) -> int:
    return _RANKS.get(kind, len(_BEFORE_KINDS))
