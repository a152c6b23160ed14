"""Turns documents into the snapshot a plan is made from. Errors name the file, the object and the field."""

from collections import Counter
from collections.abc import Iterable, Iterator

import msgspec

from understudy.cli.errors import BadInput, close_names
from understudy.cli.input.documents import TOO_DEEP, Document
from understudy.cli.input.settings import Settings
from understudy.control.view.cluster_view import ClusterView
from understudy.control.view.invalid_objects import InvalidObjects
from understudy.kinds.decoding import KINDS, decode
from understudy.model.snapshot import Snapshot
from understudy.objects.errors import BadObject
from understudy.objects.meta import CLUSTER_SCOPED, KubeObject

CLUSTER = Document("the cluster", 0, 0, {})  # where objects are from that no file holds


class InputObject(msgspec.Struct, frozen=True):
    """An object, and the document it was read from."""

    document: Document
    object: KubeObject


class InputObjects(msgspec.Struct, frozen=True):
    items: tuple[InputObject, ...]
    skipped: tuple[str, ...] = ()  # the kinds of what has no say


def decode_documents(documents: Iterable[Document]) -> InputObjects:
    items, left_out = [], []
    for document in documents:
        kind = _kind(document)
        if kind not in KINDS and kind in IGNORED_KINDS:
            left_out.append(kind)
        else:
            items.append(InputObject(document, _object(document, kind)))
    return InputObjects(tuple(_distinct(items).values()), tuple(left_out))


def from_cluster(objects: Iterable[KubeObject]) -> InputObjects:
    """The input objects for objects of a cluster."""
    return InputObjects(tuple(InputObject(CLUSTER, obj) for obj in objects))


def with_namespace(documents: Iterable[Document], namespace: str) -> Iterator[Document]:
    """Objects that do not say where they go, go into this namespace, as `kubectl apply -n` would have it."""
    for document in documents:
        metadata = document.value.get("metadata")
        if isinstance(metadata, dict) and document.value.get("kind") not in CLUSTER_SCOPED:
            value = {**document.value, "metadata": {**metadata, "namespace": metadata.get("namespace") or namespace}}
            document = msgspec.structs.replace(document, value=value)
        yield document


def merge_inputs(base: InputObjects, added: InputObjects) -> InputObjects:
    """Objects and added objects together. An added object replaces one of the same name, as `kubectl apply` does."""
    items = {**_distinct(base.items), **_distinct(added.items)}
    return InputObjects(tuple(items.values()), base.skipped + added.skipped)


def snapshot_of_files(inputs: InputObjects, settings: Settings, scheduler: str, now: float) -> Snapshot:
    """`scheduler` names whose pods are ours; empty: all are."""
    view = ClusterView(settings.policy, scheduler_name=scheduler or None, limits=settings.health)
    for item in inputs.items:
        view.put(item.object)
    try:
        return view.snapshot(now)
    except BadObject as error:  # objects that are sound alone, and not together
        sources = {item.object.title: item.document.source for item in inputs.items}
        raise BadInput(f"{sources.get(error.object, inputs.items[0].document.source)}: {error}") from None


def snapshot_of_cluster(
    inputs: InputObjects, settings: Settings, scheduler: str, now: float
) -> tuple[Snapshot, list[str]]:
    """The snapshot that the loop would make. An object that makes no sense is set aside with a note if it is from the
    cluster; from a file, it is an error."""
    invalid_objects = InvalidObjects()
    view = ClusterView(settings.policy, scheduler or None, settings.health, invalid_objects)
    for item in inputs.items:
        view.put(item.object)
    made = view.snapshot(now)
    words = list(invalid_objects.known.values())
    for item in inputs.items if words else ():
        if item.document is not CLUSTER and (mine := [one for one in words if one.startswith(item.object.title)]):
            raise BadInput(f"{item.document.source}: {mine[0]}")
    return made, [f"{one}; passed over" for one in words]


def _kind(document: Document) -> str:
    kind = document.value.get("kind")
    if not isinstance(kind, str) or not kind:
        raise BadInput(f"{document.place}: kind: missing; expected apiVersion, kind and metadata")
    return kind


def _object(document: Document, kind: str) -> KubeObject:
    try:
        return decode(document.value)
    except RecursionError:
        raise BadInput(f"{document.place}: {TOO_DEEP}") from None
    except BadObject as error:
        place = document.source if _has_name(document) else document.place
        if kind not in KINDS and (close := close_names(kind, KINDS)):
            hint = f"{kind!r} is not understood; did you mean {close[0]}?"
            raise BadInput(f"{place}: {error.object}: kind: {hint} Understood are {', '.join(sorted(KINDS))}") from None
        raise BadInput(f"{place}: {error}") from None


def _has_name(document: Document) -> bool:
    metadata = document.value.get("metadata")
    return isinstance(metadata, dict) and bool(metadata.get("name"))


def _distinct(items: Iterable[InputObject]) -> dict[str, InputObject]:
    found: dict[str, InputObject] = {}
    for item in items:
        first = found.setdefault(item.object.title, item)
        if first is not item:
            raise BadInput(_taken(item, first.document))
    return found


def _taken(item: InputObject, first: Document) -> str:
    here = item.document
    there = f"line {first.line}" if first.source == here.source else f"{first.source}, line {first.line}"
    field = f"{here.source}: {item.object.title}: metadata.name"
    return f"{field}: taken already by {there}; rename or remove the one on line {here.line}"


_NAMES = """
    APIService Binding CertificateSigningRequest ClusterRole ClusterRoleBinding ComponentStatus ConfigMap
    ControllerRevision CronJob CSIDriver CSINode CSIStorageCapacity CustomResourceDefinition DaemonSet Deployment
    DeviceClass EndpointSlice Endpoints Event FlowSchema HorizontalPodAutoscaler Ingress IngressClass IPAddress
    LimitRange MutatingWebhookConfiguration NetworkPolicy NodeMetrics PodMetrics PodTemplate
    PriorityLevelConfiguration ReplicaSet ReplicationController ResourceQuota Role RoleBinding RuntimeClass Secret
    Service ServiceAccount ServiceCIDR StatefulSet ValidatingAdmissionPolicy
    ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration VolumeAttachment VolumeAttributesClass
"""
IGNORED_KINDS = frozenset(_NAMES.split())


def ignored_note(kinds: Iterable[str]) -> str:
    """`3 Services and 1 ConfigMap have no say in scheduling; skipped`."""
    counts = Counter(kinds)
    words = [f"{n} {kind if n == 1 else plural(kind)}" for kind, n in sorted(counts.items())]
    named = words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
    verb = "has" if counts.total() == 1 else "have"
    return f"{named} {verb} no say in scheduling; skipped"


def plural(kind: str) -> str:
    if kind.endswith(("s", "ss", "x")):
        return kind if kind == "Endpoints" else f"{kind}es"
    return f"{kind[:-1]}ies" if kind.endswith("y") and kind[-2] not in "aeiou" else f"{kind}s"
