"""POST: an object is decoded, named, admitted and stored."""

import random

from msgspec import UNSET

from understudy.embedded.schema.errors import Cause, already_exists, bad_request, invalid
from understudy.embedded.schema.served_resource import DecodedObject
from understudy.embedded.schema.types.meta import ObjectMeta
from understudy.embedded.server.authorization import escalation
from understudy.embedded.server.http.object_response import object_response
from understudy.embedded.server.http.request import Request
from understudy.embedded.server.http.request_body import read_json
from understudy.embedded.server.http.request_target import Target, not_allowed, warnings_for
from understudy.embedded.server.http.response import Response, with_warnings
from understudy.embedded.server.registry import admission
from understudy.embedded.server.registry.state import ServerState
from understudy.embedded.server.registry.store_writes import put, stamp
from understudy.embedded.server.registry.update import given_revision
from understudy.embedded.store.records import Key

_LETTERS = "bcdfghjklmnpqrstvwxz2456789"  # as in Kubernetes: without vowels, so that no words appear
_SUFFIX = 5
_LONGEST_STEM = 63 - _SUFFIX
_TRIES = 8


async def create(state: ServerState, request: Request, target: Target) -> Response:
    if target.served.resource.namespaced and not target.namespace:
        raise not_allowed()
    body = await read_json(request)
    reading = target.served.form.read(body, request.strictness)
    reading.draft.metadata.managed_fields = UNSET
    return await store_new(state, request, target, reading)


async def store_new(state: ServerState, request: Request, target: Target, reading: DecodedObject) -> Response:
    """No await between the checks and the write, so that no other request can come between them."""
    draft = reading.draft
    meta = draft.metadata
    _check_place(target, meta)
    key = _key(state, target, meta)
    admission.check_namespace(state, target, key.name)
    admission.check_definition_open(state, target.served)
    stamp(meta, key, state.timestamp())
    target.served.form.admit_create(draft, state.lookup)
    admission.admit_definition(state, draft)
    escalation.check(state.authorizer, request.user, target, draft)
    admission.admit_service_account(state, draft)
    state.quotas.check(target.served.resource, key, draft)
    if request.dry_run:
        body = draft.encode()
    else:
        writes = [put(key, draft), *admission.default_account_writes(state, key)]
        body = (await state.store.submit(writes))[0].body
    return with_warnings(object_response(request, target, body, 201), warnings_for(target, reading.warnings))


def _check_place(target: Target, meta: ObjectMeta) -> None:
    if not target.served.resource.namespaced:
        meta.namespace = UNSET
    elif meta.namespace and meta.namespace != target.namespace:
        raise bad_request(
            f"the namespace of the provided object ({meta.namespace}) does not match the namespace sent on the request "
            f"({target.namespace})"
        )
    if given_revision(meta):
        raise bad_request("resourceVersion should not be set on objects to be created")


def _key(state: ServerState, target: Target, meta: ObjectMeta) -> Key:
    resource = target.served.resource
    if meta.name:
        key = Key(resource.key, target.namespace, meta.name)
        if state.store.newest(key) is not None:
            raise already_exists(resource.plural, resource.group, meta.name)
        return key
    if not meta.generate_name:
        cause = Cause("FieldValueRequired", "Required value: name or generateName is required", "metadata.name")
        raise invalid(resource.kind, resource.group, "", [cause])
    stem = meta.generate_name[:_LONGEST_STEM]
    for _ in range(_TRIES):
        meta.name = stem + "".join(random.choices(_LETTERS, k=_SUFFIX))
        key = Key(resource.key, target.namespace, meta.name)
        if state.store.newest(key) is None:
            return key
    raise already_exists(resource.plural, resource.group, str(meta.name))
