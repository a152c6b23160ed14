"""DELETE of one object or of a collection: removed at once, or marked until finalizers and grace period are over."""

from typing import TypeVar

import msgspec
from msgspec import UNSET

from understudy.embedded.schema.errors import Details, bad_request, forbidden
from understudy.embedded.schema.served_resource import Draft, ServedResource
from understudy.embedded.schema.types.core import Namespace
from understudy.embedded.schema.types.pods import Pod
from understudy.embedded.server.http.object_response import list_response, object_response
from understudy.embedded.server.http.request import Request, asks_dry_run
from understudy.embedded.server.http.request_body import read_json
from understudy.embedded.server.http.request_target import Target, not_allowed
from understudy.embedded.server.http.response import Response, success, with_warnings
from understudy.embedded.server.registry.get import selected
from understudy.embedded.server.registry.graceful_deletion import (
    DeleteOptions,
    begin_deletion,
    check_preconditions,
    set_propagation,
)
from understudy.embedded.server.registry.state import ServerState
from understudy.embedded.server.registry.update import find_record, is_finished, store_draft, write_of
from understudy.embedded.store.records import Record
from understudy.objects.pods import ENDED_PHASES
from understudy.objects.resources import CLAIMS, JOBS, NAMESPACES, PODS, SERVICE_ACCOUNTS, SERVICES, VOLUMES

# Kubernetes answers a deletion of these with the object, even if it is gone already.
_RETURNED = {one.key for one in (PODS, SERVICES, SERVICE_ACCOUNTS, CLAIMS, VOLUMES)}
# Without a policy in the request, dependents are deleted too, but those of these kinds stay.
_ORPHANING = {JOBS.key}
_PROTECTED = ("default", "kube-system", "kube-public")
_LONE_PODS = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set "
    "propagationPolicy=Orphan to suppress this warning"
)
_decode_options = msgspec.json.Decoder(DeleteOptions).decode
T = TypeVar("T")


async def delete(state: ServerState, request: Request, target: Target) -> Response:
    options = await read_options(request)
    record = find_record(state, target)
    draft = mark_for_deletion(target.served, record, options, state.now())
    body = await store_draft(state, record, draft, dry_run=bool(options.dry_run))
    key = target.served.resource.key
    warnings = (_LONE_PODS,) if key in _ORPHANING and not options.policy else ()
    if is_finished(draft) and key not in _RETURNED:
        return with_warnings(success(_deleted_details(target, draft)), warnings)
    return with_warnings(object_response(request, target, body), warnings)


async def delete_collection(state: ServerState, request: Request, target: Target) -> Response:
    """All selected objects, in one write."""
    resource = target.served.resource
    if (resource.namespaced and not target.namespace) or resource.key == NAMESPACES.key:
        raise not_allowed()
    options = await read_options(request)
    newest = [state.store.newest(record.key) for record in selected(state, request, target)]
    drafts = [
        (record, mark_for_deletion(target.served, record, options, state.now()))
        for record in newest
        if record is not None
    ]
    if options.dry_run or not drafts:
        bodies = [draft.encode() for _, draft in drafts]
    else:
        bodies = [record.body for record in await state.store.submit([write_of(*one) for one in drafts])]
    return list_response(request, target, bodies, state.store.revision)


def mark_for_deletion(served: ServedResource, record: Record, options: DeleteOptions, now: float) -> Draft:
    """The object after the deletion: with a deletion timestamp, a grace period and finalizers."""
    draft = served.form.load(record.body)
    meta = draft.metadata
    check_preconditions(options, meta, served.resource)
    if not options.policy and served.resource.key in _ORPHANING and meta.deletion_timestamp is UNSET:
        set_propagation(meta, "Orphan")
    set_propagation(meta, options.policy)
    begin_deletion(meta, grace_of(draft, options), now)
    if isinstance(draft, Namespace):
        if record.key.name in _PROTECTED:
            raise forbidden(NAMESPACES.plural, "", record.key.name, "this namespace may not be deleted")
        draft.status.phase = "Terminating"
    return draft


def grace_of(draft: Draft, options: DeleteOptions) -> int:
    """Seconds. Only a pod that is bound and has not ended has a grace period."""
    if not isinstance(draft, Pod) or not draft.spec.node_name or draft.status.phase in ENDED_PHASES:
        return 0
    asked = _first(options.grace_period_seconds, draft.spec.termination_grace_period_seconds, 30)
    return asked if asked is not None and asked >= 0 else 1


async def read_options(request: Request) -> DeleteOptions:
    """From the body; missing fields from the query."""
    body = await read_json(request, may_be_empty=True)
    try:
        given = _decode_options(body) if body.strip() else DeleteOptions()
    except (msgspec.DecodeError, RecursionError) as wrong:
        raise bad_request(f"the body is no DeleteOptions: {wrong}") from None
    orphaning = request.flag("orphanDependents") if "orphanDependents" in request.query else None
    options = msgspec.structs.replace(
        given,
        grace_period_seconds=_first(given.grace_period_seconds, request.number("gracePeriodSeconds")),
        propagation_policy=given.propagation_policy or request.query.get("propagationPolicy"),
        orphan_dependents=_first(given.orphan_dependents, orphaning),
        dry_run=["All"] if any(map(asks_dry_run, [*(given.dry_run or ()), request.query.get("dryRun")])) else None,
    )
    options.check()
    return options


def _first(*values: T | None) -> T | None:
    return next((value for value in values if value is not None), None)


def _deleted_details(target: Target, draft: Draft) -> Details:
    resource = target.served.resource
    return Details(target.name, resource.group, resource.plural, str(draft.metadata.uid))
