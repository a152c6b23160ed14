"""PATCH in its four forms: each makes the new object from the stored one, which is then an update."""

from collections.abc import Callable
from typing import Any

import msgspec

from understudy.embedded.api.patches.client_side_apply import kubectl_fields, with_first_owners
from understudy.embedded.api.patches.field_sets import Shape
from understudy.embedded.api.patches.json_patch import json_patch, merge_patch
from understudy.embedded.api.patches.managed_fields import differ_only_in_times, owners_of
from understudy.embedded.api.patches.server_side_apply import FORCED, apply_configuration
from understudy.embedded.api.patches.strategic_merge import strategic_merge_patch
from understudy.embedded.schema.errors import bad_request
from understudy.embedded.schema.served_resource import Draft, Strictness
from understudy.embedded.server.http.request import Request
from understudy.embedded.server.http.request_body import (
    as_object,
    from_json,
    media_type,
    read_body,
    read_yaml,
    unsupported,
)
from understudy.embedded.server.http.request_target import Target
from understudy.embedded.server.http.response import Response
from understudy.embedded.server.registry.create import store_new
from understudy.embedded.server.registry.state import ServerState
from understudy.embedded.server.registry.store_writes import check_size
from understudy.embedded.server.registry.update import ObjectUpdate, field_writer, find_record, store_update
from understudy.ports import PatchForm

Document = dict[str, Any]

_OF_CREATION = ("name", "namespace", "uid", "creation_timestamp")


async def patch(state: ServerState, request: Request, target: Target) -> Response:
    form = _form(state, request, target)
    body = await read_body(request)
    if form is PatchForm.APPLY:
        return await _apply(state, request, target, as_object(await read_yaml(body)))
    given = from_json(body)
    record = find_record(state, target)
    old = target.served.form.load(record.body)
    document = _patched(form, target, _as_requested(target, old), given)
    reading = target.served.form.convert(document, request.strictness)
    return await store_update(state, request, target, ObjectUpdate(record, old, reading.draft, reading.warnings))


def _form(state: ServerState, request: Request, target: Target) -> PatchForm:
    """Custom resources have no merge keys in Kubernetes, and so no strategic patches."""
    custom = state.resources.is_custom(target.served)
    allowed = [one for one in PatchForm if not (custom and one is PatchForm.STRATEGIC)]
    asked = media_type(request.headers.get(b"content-type", b""))
    found = next((one for one in allowed if one == asked), None)
    if found is None:
        raise unsupported(*allowed)
    return found


def _as_requested(target: Target, draft: Draft) -> Document:
    """The object in the version that the patch is about, where that has fields of its own."""
    convert, document = target.served.in_version, draft.document()
    return convert(document, target.api_version) if convert is not None else document


def _patched(form: PatchForm, target: Target, document: dict[str, Any], given: Any) -> dict[str, Any]:
    match form:
        case PatchForm.JSON:
            return json_patch(document, given)
        case PatchForm.MERGE:
            return merge_patch(document, given)
        case _:
            return strategic_merge_patch(document, given, target.served.form.list_keys)


async def _apply(state: ServerState, request: Request, target: Target, config: dict[str, Any]) -> Response:
    """Server-side apply, which creates a missing object. Fields that the path is not about cannot be owned through
    it."""
    if not isinstance(config.get("metadata") or {}, dict):
        raise bad_request("metadata: must be an object")
    config = _fields_of_path(target, config)
    check_size(len(msgspec.json.encode(config)))  # checked first: the applied configuration becomes part of the object
    form = target.served.form
    writer = field_writer(request, target, state.timestamp(), applying=True)
    record = state.store.newest(target.key)
    if record is None and not target.sub:
        document = apply_configuration(None, _named(target, config), writer, form.list_keys)
        return await store_new(state, request, target, form.convert(document, request.strictness))
    record = find_record(state, target)
    old = form.load(record.body)
    before = _as_requested(target, old)
    shape, created_from = Shape(form.list_keys), _creation(state, target, old)
    live = before if owners_of(before) else with_first_owners(before, writer, shape, created_from)
    may_take = FORCED if request.flag("force") else kubectl_fields(before, writer, shape, created_from)
    reading = form.convert(apply_configuration(live, config, writer, form.list_keys, may_take), request.strictness)
    # Compared in the stored form, in which 1000m is the same as 1.
    draft = old if differ_only_in_times(before, _as_requested(target, reading.draft)) else reading.draft
    return await store_update(state, request, target, ObjectUpdate(record, old, draft, reading.warnings, applied=True))


def _creation(state: ServerState, target: Target, old: Draft) -> Callable[[Document], Document]:
    """Makes a configuration into the object that its creation would have stored in the place of `old`."""

    def created_from(configuration: Document) -> Document:
        draft = target.served.form.convert(configuration, Strictness.IGNORE).draft
        for name in _OF_CREATION:
            setattr(draft.metadata, name, getattr(old.metadata, name))
        target.served.form.admit_create(draft, state.lookup)
        return _as_requested(target, draft)

    return created_from


def _fields_of_path(target: Target, config: dict[str, Any]) -> dict[str, Any]:
    """The fields the path is about: without the status, or the status alone for its sub-resource."""
    if target.sub:
        identity = ("apiVersion", "kind", "metadata", target.sub)
        return {key: value for key, value in config.items() if key in identity}
    owned = "status" in target.served.subresources
    return {key: value for key, value in config.items() if not (owned and key == "status")}


def _named(target: Target, config: dict[str, Any]) -> dict[str, Any]:
    """The name comes from the path; the object may not give another one."""
    meta = config.get("metadata") or {}
    if meta.get("name", target.name) != target.name:
        raise bad_request(f"the name of the object ({meta['name']}) does not match the name on the URL ({target.name})")
    return {**config, "metadata": {**meta, "name": target.name}}
