"""PUT, and what all changes of an object share: identity, immutable parts, field ownership, the end of a deletion."""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import UNSET

from understudy.embedded.api.patches.managed_fields import Writer, manager_name
from understudy.embedded.api.patches.server_side_apply import track_update
from understudy.embedded.schema.errors import (
    Cause,
    bad_request,
    conflict,
    invalid,
    not_found,
)
from understudy.embedded.schema.served_resource import Draft
from understudy.embedded.schema.types.core import Namespace
from understudy.embedded.schema.types.meta import ManagedFields, ObjectMeta
from understudy.embedded.server.authorization import escalation
from understudy.embedded.server.http.object_response import object_response
from understudy.embedded.server.http.request import Request
from understudy.embedded.server.http.request_body import read_json
from understudy.embedded.server.http.request_target import Target, warnings_for
from understudy.embedded.server.http.response import Response, with_warnings
from understudy.embedded.server.registry.graceful_deletion import is_deletion_complete, mismatch
from understudy.embedded.server.registry.state import ServerState
from understudy.embedded.server.registry.store_writes import put, remove
from understudy.embedded.store.records import Record, Write
from understudy.objects.resources import BUDGETS, DEFINITIONS, LEASES

# A write without a resourceVersion overwrites the object. These kinds and custom resources do not allow that.
_NEED_REVISION = {LEASES.key, BUDGETS.key, DEFINITIONS.key}
_MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


class ObjectUpdate(msgspec.Struct, frozen=True):
    """An object as it is stored, and as it is to be stored."""

    record: Record
    old: Draft
    draft: Draft
    warnings: Sequence[str] = ()
    applied: bool = False  # managedFields are up to date


async def replace(state: ServerState, request: Request, target: Target) -> Response:
    body = await read_json(request)
    reading = target.served.form.read(body, request.strictness)
    record = find_record(state, target)
    old = target.served.form.load(record.body)
    return await store_update(state, request, target, ObjectUpdate(record, old, reading.draft, reading.warnings))


def _check_revision(state: ServerState, target: Target, meta: ObjectMeta) -> None:
    resource = target.served.resource
    needed = resource.key in _NEED_REVISION or state.resources.is_custom(target.served)
    if needed and not given_revision(meta):
        problem = Cause(
            "FieldValueInvalid", "Invalid value: 0: must be specified for an update", "metadata.resourceVersion"
        )
        raise invalid(resource.kind, resource.group, target.name, [problem])


def given_revision(meta: ObjectMeta) -> str:
    """The resourceVersion that a client asks for; '' for any, which "0" says too."""
    return "" if meta.resource_version in (UNSET, "0") else meta.resource_version


def find_record(state: ServerState, target: Target) -> Record:
    record = state.store.newest(target.key)
    if record is None:
        resource = target.served.resource
        raise not_found(resource.plural, resource.group, target.name)
    return record


async def store_update(state: ServerState, request: Request, target: Target, change: ObjectUpdate) -> Response:
    old, draft = change.old, change.draft
    check_identity(target, draft.metadata, old.metadata)
    _check_revision(state, target, draft.metadata)
    target.served.form.admit_update(draft, old, target.sub, state.lookup)
    _check_finalizers(target, draft.metadata, old.metadata)
    escalation.check(state.authorizer, request.user, target, draft, old)
    if not change.applied:
        _track_fields(draft, old, field_writer(request, target, state.timestamp()), target.served.form.list_keys)
    body = await store_draft(state, change.record, draft, dry_run=request.dry_run)
    return with_warnings(object_response(request, target, body), warnings_for(target, change.warnings))


def field_writer(request: Request, target: Target, now: str, *, applying: bool = False) -> Writer:
    """The field manager of the request. An apply has to name one."""
    agent = "" if applying else request.headers.get(b"user-agent", b"").decode("latin-1")
    named = request.query.get("fieldManager", "")
    manager = manager_name(named, agent) if named or not applying else ""
    return Writer(manager, target.api_version, now, target.sub)


def _track_fields(draft: Draft, old: Draft, writer: Writer, list_keys: Mapping[str, tuple[str, ...]]) -> None:
    """Only objects that have been applied have managedFields."""
    if not old.metadata.managed_fields:
        draft.metadata.managed_fields = UNSET
        return
    tracked = track_update(old.document(), draft.document(), writer, list_keys)
    entries = tracked["metadata"].get("managedFields")
    draft.metadata.managed_fields = msgspec.convert(entries, list[ManagedFields]) if entries else UNSET


def _check_finalizers(target: Target, meta: ObjectMeta, old: ObjectMeta) -> None:
    if old.deletion_timestamp is UNSET:
        return
    added = [name for name in meta.finalizers or () if name not in (old.finalizers or ())]
    if added:
        problem = f"Forbidden: no new finalizers can be added if the object is being deleted, found {', '.join(added)}"
        cause = Cause("FieldValueForbidden", problem, "metadata.finalizers")
        raise invalid(target.served.resource.kind, target.served.resource.group, target.name, [cause])


async def store_draft(state: ServerState, record: Record, draft: Draft, *, dry_run: bool = False) -> bytes:
    """Stores the draft, or removes the record if its deletion is complete."""
    draft.metadata.resource_version = str(record.revision)
    body = draft.encode()
    # Only durable state may be shown. If the newest change is not durable yet, the object is written once more.
    unchanged = body == record.body and state.store.get(record.key) is record and not is_finished(draft)
    if dry_run or unchanged:
        return body
    return (await state.store.submit([write_of(record, draft)]))[0].body


def write_of(record: Record, draft: Draft) -> Write:
    return remove(record) if is_finished(draft) else put(record.key, draft)


def is_finished(draft: Draft) -> bool:
    held = isinstance(draft, Namespace) and bool(draft.spec.finalizers)
    return is_deletion_complete(draft.metadata) and not held


def check_identity(target: Target, meta: ObjectMeta, old: ObjectMeta) -> None:
    """The object must be the one the path names, and not older than the stored one."""
    resource = target.served.resource
    if not meta.name:
        raise bad_request("the name of the object must be given in metadata.name")
    if meta.name != target.name:
        raise bad_request(f"the name of the object ({meta.name}) does not match the name on the URL ({target.name})")
    if meta.namespace and meta.namespace != target.namespace:
        raise bad_request(
            f"the namespace of the object ({meta.namespace}) does not match the namespace on the request "
            f"({target.namespace})"
        )
    if meta.uid and meta.uid != old.uid:
        raise mismatch(resource, old, f"UID in precondition: {meta.uid}, UID in object meta: {old.uid}")
    if (given := given_revision(meta)) and given != old.resource_version:
        raise conflict(resource.plural, resource.group, target.name, _MODIFIED)


async def finalize_namespace(state: ServerState, request: Request, target: Target) -> Response:
    """PUT namespaces/{name}/finalize: only spec.finalizers counts."""
    body = await read_json(request)
    given = target.served.form.read(body, request.strictness).draft
    record = find_record(state, target)
    draft = target.served.form.load(record.body)
    if not isinstance(given, Namespace) or not isinstance(draft, Namespace):
        raise bad_request("only a namespace can be finalized")
    check_identity(target, given.metadata, draft.metadata)
    draft.spec = msgspec.structs.replace(draft.spec, finalizers=given.spec.finalizers)
    return object_response(request, target, await store_draft(state, record, draft, dry_run=request.dry_run))
