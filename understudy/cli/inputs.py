"""Turns documents into the snapshot a plan is made from, and says what is wrong with them by file, object and field."""

from collections.abc import Iterable, Iterator

import msgspec

from understudy.cli import skipped
from understudy.cli.complaint import BadInput, near
from understudy.cli.documents import TOO_DEEP, Document
from understudy.cli.settings import Settings
from understudy.control.troubles import Troubles
from understudy.control.view import View
from understudy.kinds.decoding import KINDS, decode
from understudy.model.snapshot import Snapshot
from understudy.objects.errors import BadObject
from understudy.objects.meta import CLUSTER_SCOPED, KubeObject

CLUSTER = Document("the cluster", 0, 0, {})  # where objects are from that no file holds


class Item(msgspec.Struct, frozen=True):
    """An object, and the document it was read from."""

    document: Document
    object: KubeObject


class Inputs(msgspec.Struct, frozen=True):
    items: tuple[Item, ...]
    skipped: tuple[str, ...] = ()  # the kinds of what has no say


def decoded(documents: Iterable[Document]) -> Inputs:
    items, left_out = [], []
    for document in documents:
        kind = _kind(document)
        if kind not in KINDS and kind in skipped.NO_SAY:
            left_out.append(kind)
        else:
            items.append(Item(document, _object(document, kind)))
    return Inputs(tuple(_distinct(items).values()), tuple(left_out))


def living(objects: Iterable[KubeObject]) -> Inputs:
    """Objects that a cluster holds."""
    return Inputs(tuple(Item(CLUSTER, obj) for obj in objects))


def housed(documents: Iterable[Document], namespace: str) -> Iterator[Document]:
    """Objects that do not say where they go, go into this namespace, as `kubectl apply -n` would have it."""
    for document in documents:
        metadata = document.value.get("metadata")
        if isinstance(metadata, dict) and document.value.get("kind") not in CLUSTER_SCOPED:
            value = {**document.value, "metadata": {**metadata, "namespace": metadata.get("namespace") or namespace}}
            document = msgspec.structs.replace(document, value=value)
        yield document


def joined(base: Inputs, added: Inputs) -> Inputs:
    """Added objects take the place of those of the same name, as `kubectl apply` would have it."""
    items = {**_distinct(base.items), **_distinct(added.items)}
    return Inputs(tuple(items.values()), base.skipped + added.skipped)


def snapshot(inputs: Inputs, settings: Settings, scheduler: str, now: float) -> Snapshot:
    """`scheduler` names whose pods are ours; empty: all are."""
    view = View(index=settings.policy.index, scheduler_name=scheduler or None, limits=settings.health)
    for item in inputs.items:
        view.put(item.object)
    try:
        return view.snapshot(now)
    except BadObject as error:  # objects that are sound alone, and not together
        sources = {item.object.title: item.document.source for item in inputs.items}
        raise BadInput(f"{sources.get(error.object, inputs.items[0].document.source)}: {error}") from None


def living_snapshot(inputs: Inputs, settings: Settings, scheduler: str, now: float) -> tuple[Snapshot, list[str]]:
    """The same as the loop makes it: what makes no sense in the cluster is set aside in words; in a file, an error."""
    troubles = Troubles()
    view = View(settings.policy.index, scheduler or None, settings.health, troubles)
    for item in inputs.items:
        view.put(item.object)
    made = view.snapshot(now)
    words = list(troubles.known.values())
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
        if kind not in KINDS and (close := near(kind, KINDS)):
            hint = f"{kind!r} is not understood; did you mean {close[0]}?"
            raise BadInput(f"{place}: {error.object}: kind: {hint} Understood are {', '.join(sorted(KINDS))}") from None
        raise BadInput(f"{place}: {error}") from None


def _has_name(document: Document) -> bool:
    metadata = document.value.get("metadata")
    return isinstance(metadata, dict) and bool(metadata.get("name"))


def _distinct(items: Iterable[Item]) -> dict[str, Item]:
    found: dict[str, Item] = {}
    for item in items:
        first = found.setdefault(item.object.title, item)
        if first is not item:
            raise BadInput(_taken(item, first.document))
    return found


def _taken(item: Item, first: Document) -> str:
    here = item.document
    there = f"line {first.line}" if first.source == here.source else f"{first.source}, line {first.line}"
    field = f"{here.source}: {item.object.title}: metadata.name"
    return f"{field}: taken already by {there}; rename or remove the one on line {here.line}"
