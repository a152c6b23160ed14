"""What `kubectl apply` without --server-side leaves on an object: an annotation with the configuration, from which the
first owners of the fields are told when server-side apply takes over."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from understudy.embedded.api.patches.field_sets import Path, Paths, Shape, owned
from understudy.embedded.api.patches.json_values import refuse_depth, same
from understudy.embedded.api.patches.managed_fields import Owner, Writer, applier, updater, with_owners
from understudy.embedded.schema.errors import ApiError
from understudy.embedded.schema.validation.metadata import MAX_ANNOTATIONS

Document = dict[str, Any]

KUBECTL = "kubectl"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_LAST_APPLIED_PATH: Path = ("f:metadata", "f:annotations", f"f:{LAST_APPLIED}")
_BEFORE_FIRST_APPLY = "before-first-apply"
_CLIENT_SIDE = "kubectl-client-side-apply"
_ANNOTATION_WRITER = "kubectl-last-applied"
_MISSING = object()
_encode = msgspec.json.Encoder(order="deterministic").encode


def with_first_owners(
    live: Document, writer: Writer, shape: Shape, created_from: Callable[[Document], Document]
) -> Document:
    """An object without managedFields, with those that the first apply meets. What `kubectl apply` wrote, and what is
    unchanged since, belongs to kubectl, so that a change to server-side apply meets no conflicts. What the server has
    added to it by itself belongs to no manager: kubectl would take it for its own, and remove it with the next apply.
    All other fields belong to 'before-first-apply'.

    `created_from` is the object that the server makes of a configuration.
    """
    writer = msgspec.structs.replace(writer, subresource="")
    before = msgspec.structs.replace(writer, manager=_BEFORE_FIRST_APPLY)
    fields = owned(shape.fields(live))
    configured = _configured(live, shape, created_from)
    if configured is None:
        return with_owners(live, [updater(before, fields)])
    said, unchanged = configured
    rest = fields - unchanged - {_LAST_APPLIED_PATH}
    return with_owners(live, [*_kubectl(writer, said & unchanged), updater(before, rest)])


def kubectl_fields(live: Document, writer: Writer, shape: Shape, created_from: Callable[[Document], Document]) -> Paths:
    """The fields that `kubectl apply` wrote, and that are unchanged since. A server-side apply by kubectl may take them
    from the manager of that name."""
    configured = _configured(live, shape, created_from) if writer.manager == KUBECTL else None
    return configured[0] & configured[1] if configured is not None else frozenset()


def _configured(
    live: Document, shape: Shape, created_from: Callable[[Document], Document]
) -> tuple[Paths, Paths] | None:
    """The fields of the last configuration; and those of the object made of it that are unchanged. None where there is
    no configuration that the server would take."""
    refuse_depth(live)
    configuration = _last_applied(live)
    if configuration is None:
        return None
    try:
        said, made = owned(shape.fields(configuration)), shape.fields(created_from(configuration))
    except ApiError:  # as an item without its key
        return None
    fields = shape.fields(live)
    return said, frozenset(path for path, value in made.items() if same(fields.get(path, _MISSING), value))


def _kubectl(writer: Writer, paths: Paths) -> list[Owner]:
    """As kubectl leaves the owners once it has changed over to server-side apply; for other managers, as before."""
    annotation = frozenset({_LAST_APPLIED_PATH})
    if writer.manager == KUBECTL:
        noting = msgspec.structs.replace(writer, manager=_ANNOTATION_WRITER)
        return [applier(writer, paths), applier(noting, annotation)]
    return [updater(msgspec.structs.replace(writer, manager=_CLIENT_SIDE), paths | annotation)]


def _last_applied(live: Mapping[str, Any]) -> Document | None:
    """The last configuration of `kubectl apply`; None where there is none that can be read."""
    text = live.get("metadata", {}).get("annotations", {}).get(LAST_APPLIED)
    try:
        configuration = msgspec.json.decode(text or "", type=Document)
        refuse_depth(configuration)
    except (ApiError, msgspec.DecodeError, RecursionError):
        return None
    return configuration


def with_last_applied(document: Document, configuration: Document, writer: Writer) -> Document:
    """An object that kubectl has changed over from client-side apply, with the annotation up to date, so that kubectl
    may change back. As in Kubernetes, the owners of the annotation stay."""
    annotations = document.get("metadata", {}).get("annotations") or {}
    if writer.manager != KUBECTL or writer.subresource or not annotations.get(LAST_APPLIED):
        return document
    given = {key: value for key, value in annotations.items() if key != LAST_APPLIED}
    changed = given | {LAST_APPLIED: _text(configuration)}
    fits = sum(len(key.encode()) + len(value.encode()) for key, value in changed.items()) <= MAX_ANNOTATIONS
    return {**document, "metadata": document["metadata"] | {"annotations": changed if fits else given}}


def _text(configuration: Document) -> str:
    metadata = dict(configuration.get("metadata") or {})
    if metadata.get("annotations"):
        metadata["annotations"] = {key: text for key, text in metadata["annotations"].items() if key != LAST_APPLIED}
    return _encode({**configuration, "metadata": metadata}).decode() + "\n"
