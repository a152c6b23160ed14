"""POST of an object: named, stamped, checked, stored."""

import random

from msgspec import UNSET

from understudy.embedded.api.errors import ApiError, Cause, Details, already_exists, bad_request, invalid, not_found
from understudy.embedded.api.served import Reading
from understudy.embedded.schema.types.meta import ObjectMeta
from understudy.embedded.server import definitions, namespaces, pod_accounts
from understudy.embedded.server.answers import Answer, with_warnings
from understudy.embedded.server.authorization import escalation
from understudy.embedded.server.bodies import read_json
from understudy.embedded.server.calls import Call, Target
from understudy.embedded.server.glances import glance
from understudy.embedded.server.presenting import present
from understudy.embedded.server.routes import not_allowed
from understudy.embedded.server.stamping import stamp
from understudy.embedded.server.state import State
from understudy.embedded.server.writing import put
from understudy.embedded.store.records import Key
from understudy.objects.resources import NAMESPACES

_LETTERS = "bcdfghjklmnpqrstvwxz2456789"  # Kubernetes' choice: no vowels, so no words by chance
_SUFFIX = 5
_LONGEST_STEM = 63 - _SUFFIX
_TRIES = 8


async def create(state: State, call: Call, target: Target) -> Answer:
    if target.served.resource.namespaced and not target.namespace:
        raise not_allowed()
    body = await read_json(call)
    reading = target.served.form.read(body, call.strictness)
    reading.draft.metadata.managed_fields = UNSET
    return await store_new(state, call, target, reading)


async def store_new(state: State, call: Call, target: Target, reading: Reading) -> Answer:
    """No await between the look at what there is and the write: nobody can come in between."""
    draft = reading.draft
    meta = draft.metadata
    _check_place(target, meta)
    key = _key(state, target, meta)
    check_namespace(state, target, key.name)
    definitions.check_open(state, target.served)
    stamp(meta, key, state.timestamp())
    target.served.form.admit_create(draft, state.lookup)
    definitions.prepare(state, draft)
    escalation.check(state.authorizer, call.user, target, draft)
    pod_accounts.admit(state, draft)
    if call.dry_run:
        body = draft.encode()
    else:
        writes = [put(key, draft), *namespaces.entailed(state, key)]
        body = (await state.store.submit(writes))[0].body
    return with_warnings(present(call, target, body, 201), reading.warnings)


def _check_place(target: Target, meta: ObjectMeta) -> None:
    if not target.served.resource.namespaced:
        meta.namespace = UNSET
    elif meta.namespace and meta.namespace != target.namespace:
        raise bad_request(
            f"the namespace of the provided object ({meta.namespace}) does not match the namespace sent on the request "
            f"({target.namespace})"
        )
    if meta.resource_version:
        raise bad_request("resourceVersion should not be set on objects to be created")


def _key(state: State, target: Target, meta: ObjectMeta) -> Key:
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


def check_namespace(state: State, target: Target, name: str) -> None:
    """New objects need a namespace that is there to stay."""
    namespace = target.namespace
    if not namespace:
        return
    record = state.store.newest(Key(NAMESPACES.key, "", namespace))
    if record is None:
        raise not_found(NAMESPACES.plural, "", namespace)
    if glance(record.body).metadata.deletion_timestamp:
        resource = target.served.resource
        why = f"unable to create new content in namespace {namespace} because it is being terminated"
        where = f'{resource.key} "{name}"'
        cause = Cause("NamespaceTerminating", f"namespace {namespace} is being terminated", "metadata.namespace")
        details = Details(name, resource.group, resource.plural, causes=(cause,))
        raise ApiError(403, "Forbidden", f"{where} is forbidden: {why}", details)
