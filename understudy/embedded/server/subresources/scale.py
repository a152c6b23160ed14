"""`scale` of a workload: its number of replicas, as an object of its own that `kubectl scale` reads and writes."""

from typing import Any

import msgspec

from understudy.embedded.api.patches.json_patch import json_patch, merge_patch
from understudy.embedded.schema.errors import bad_request, conflict, not_found
from understudy.embedded.schema.served_resource import Draft, Strictness
from understudy.embedded.server.http.request import Request
from understudy.embedded.server.http.request_body import from_json, media_type, read_body, read_json, unsupported
from understudy.embedded.server.http.request_target import Target
from understudy.embedded.server.http.response import Response
from understudy.embedded.server.registry.state import ServerState
from understudy.embedded.server.registry.update import ObjectUpdate, find_record, store_update
from understudy.embedded.store.records import Record
from understudy.ports import PatchForm

_API_VERSION = "autoscaling/v1"
_PATCHES = (PatchForm.JSON, PatchForm.MERGE, PatchForm.STRATEGIC)
_COPIED = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
_encode = msgspec.json.Encoder().encode


async def read_scale(state: ServerState, _: Request, target: Target) -> Response:
    record = state.store.get(target.key)
    if record is None:
        resource = target.served.resource
        raise not_found(resource.plural, resource.group, target.name)
    return Response(_encode(_scale_of(msgspec.json.decode(record.body))))


async def replace_scale(state: ServerState, request: Request, target: Target) -> Response:
    given = from_json(await read_json(request))
    return await _store(state, request, target, (find_record(state, target), given))


async def patch_scale(state: ServerState, request: Request, target: Target) -> Response:
    form = next((one for one in _PATCHES if one == media_type(request.headers.get(b"content-type", b""))), None)
    if form is None:
        raise unsupported(*_PATCHES)
    patch = from_json(await read_body(request))
    record = find_record(state, target)
    scale = _scale_of(msgspec.json.decode(record.body))
    given = json_patch(scale, patch) if form is PatchForm.JSON else merge_patch(scale, patch)
    return await _store(state, request, target, (record, given))


def _scale_of(document: dict[str, Any]) -> dict[str, Any]:
    meta, spec = document["metadata"], document["spec"]
    return {
        "kind": "Scale",
        "apiVersion": _API_VERSION,
        "metadata": {key: meta[key] for key in _COPIED if key in meta},
        "spec": {"replicas": spec["replicas"]},
        "status": {"replicas": document["status"].get("replicas", 0), "selector": _selector_text(spec["selector"])},
    }


def _selector_text(selector: dict[str, Any]) -> str:
    """As the selector of a list request is written."""
    words = [f"{key}={value}" for key, value in sorted(selector.get("matchLabels", {}).items())]
    for each in selector.get("matchExpressions", ()):
        key, values = each["key"], ",".join(each.get("values", ()))
        match each["operator"]:
            case "Exists":
                words.append(key)
            case "DoesNotExist":
                words.append(f"!{key}")
            case operator:
                words.append(f"{key} {operator.lower()} ({values})")
    return ",".join(words)


async def _store(state: ServerState, request: Request, target: Target, change: tuple[Record, Any]) -> Response:
    record, given = change
    replicas, revision = _wanted(given)
    workload = msgspec.structs.replace(target, sub="")
    form = target.served.form
    old = form.load(record.body)
    if revision and revision != str(record.revision):
        resource = target.served.resource
        raise conflict(resource.plural, resource.group, target.name, "the object has been modified")
    draft = _with_replicas(old, target, replicas)
    answer = await store_update(state, request, workload, ObjectUpdate(record, old, draft))
    return Response(_encode(_scale_of(msgspec.json.decode(answer.body))))


def _wanted(given: Any) -> tuple[int, str]:
    match given:
        case {"spec": {"replicas": int(replicas)}} if not isinstance(replicas, bool):
            revision = (given.get("metadata") or {}).get("resourceVersion", "")
            return replicas, revision if isinstance(revision, str) else ""
        case {"spec": {} as spec} if "replicas" not in spec:  # Go leaves out a zero
            return 0, ""
    raise bad_request('Scale in version "v1" needs spec.replicas, a whole number')


def _with_replicas(old: Draft, target: Target, replicas: int) -> Draft:
    document = old.document()
    document["spec"]["replicas"] = replicas
    return target.served.form.convert(document, Strictness.IGNORE).draft
