"""PATCH in its four forms: each turns the object as it is into what it should be, which is then an update."""

from typing import Any

import msgspec

from understudy.embedded.api import patches
from understudy.embedded.api.errors import bad_request
from understudy.embedded.server.answers import Answer
from understudy.embedded.server.bodies import as_object, from_json, media_type, read_yaml, unsupported
from understudy.embedded.server.calls import Call, Target, read_body
from understudy.embedded.server.creating import store_new
from understudy.embedded.server.state import State
from understudy.embedded.server.updating import Amendment, amend, find, writer_of
from understudy.embedded.server.writing import check_size
from understudy.ports import PatchForm


async def patch(state: State, call: Call, target: Target) -> Answer:
    form = _form(state, call, target)
    body = await read_body(call)
    if form is PatchForm.APPLY:
        return await _apply(state, call, target, as_object(await read_yaml(body)))
    given = from_json(body)
    record = find(state, target)
    old = target.served.form.load(record.body)
    document = _patched(form, target, old.document(), given)
    reading = target.served.form.convert(document, call.strictness)
    return await amend(state, call, target, Amendment(record, old, reading.draft, reading.warnings))


def _form(state: State, call: Call, target: Target) -> PatchForm:
    """Custom resources have no merge keys that Kubernetes would know of, so no strategic patches."""
    custom = state.registry.is_custom(target.served)
    allowed = [one for one in PatchForm if not (custom and one is PatchForm.STRATEGIC)]
    asked = media_type(call.headers.get(b"content-type", b""))
    found = next((one for one in allowed if one == asked), None)
    if found is None:
        raise unsupported(*allowed)
    return found


def _patched(form: PatchForm, target: Target, document: dict[str, Any], given: Any) -> dict[str, Any]:
    match form:
        case PatchForm.JSON:
            return patches.json_patch(document, given)
        case PatchForm.MERGE:
            return patches.merge(document, given)
        case _:
            return patches.strategic(document, given, target.served.form.list_keys)


async def _apply(state: State, call: Call, target: Target, config: dict[str, Any]) -> Answer:
    """Server-side apply, which makes what is not there. What the path is not about is nobody's to own through it."""
    if not isinstance(config.get("metadata") or {}, dict):
        raise bad_request("metadata: must be an object")
    config = _about(target, config)
    check_size(len(msgspec.json.encode(config)))  # before all the work: what is applied is part of the object
    form, force = target.served.form, call.flag("force")
    writer = writer_of(call, target, state.timestamp(), applying=True)
    record = state.store.newest(target.key)
    if record is None and not target.sub:
        document = patches.apply(None, _named(target, config), writer, form.list_keys, force)
        return await store_new(state, call, target, form.convert(document, call.strictness))
    record = find(state, target)
    old = form.load(record.body)
    before = old.document()
    reading = form.convert(patches.apply(before, config, writer, form.list_keys, force), call.strictness)
    # Only now, as it will be stored, does 1000m say the same as the 1 that is there.
    draft = old if patches.differ_only_in_times(before, reading.draft.document()) else reading.draft
    return await amend(state, call, target, Amendment(record, old, draft, reading.warnings, applied=True))


def _about(target: Target, config: dict[str, Any]) -> dict[str, Any]:
    """Without the status, where that has a path of its own; there, nothing but it."""
    if target.sub:
        identity = ("apiVersion", "kind", "metadata", target.sub)
        return {key: value for key, value in config.items() if key in identity}
    owned = "status" in target.served.subresources
    return {key: value for key, value in config.items() if not (owned and key == "status")}


def _named(target: Target, config: dict[str, Any]) -> dict[str, Any]:
    """The path says what the object is called, and the object may not say otherwise."""
    meta = config.get("metadata") or {}
    if meta.get("name", target.name) != target.name:
        raise bad_request(f"the name of the object ({meta['name']}) does not match the name on the URL ({target.name})")
    return {**config, "metadata": {**meta, "name": target.name}}
