"""GET of one object, a list or a watch."""

from collections.abc import Sequence

from understudy.embedded.api.selectors import Selection, selection
from understudy.embedded.schema.errors import bad_request, not_found
from understudy.embedded.server.http import pagination
from understudy.embedded.server.http.object_response import object_response, page_response
from understudy.embedded.server.http.request import Request
from understudy.embedded.server.http.request_target import Target
from understudy.embedded.server.http.response import Response, StreamedResponse
from understudy.embedded.server.registry.state import ServerState
from understudy.embedded.store.records import Key, Record


async def get(state: ServerState, request: Request, target: Target) -> Response:
    record = state.store.get(target.key)
    if record is None:
        resource = target.served.resource
        raise not_found(resource.plural, resource.group, target.name)
    return object_response(request, target, record.body)


async def list_or_watch(state: ServerState, request: Request, target: Target) -> Response | StreamedResponse:
    if request.flag("watch"):
        return state.watches.watch(request, target, selection_of(request, target))
    return page_response(request, target, page_of(state, request, target))


def page_of(state: ServerState, request: Request, target: Target) -> pagination.Page:
    revision = state.store.revision
    records = selected(state, request, target)
    if token := request.query.get("continue"):
        mark = pagination.decode(token)
        revision, records = mark.revision, pagination.after_mark(records, mark)
    else:
        pagination.check_revision(
            request.query.get("resourceVersion", ""), request.query.get("resourceVersionMatch", ""), revision
        )
    limit = request.number("limit") or 0
    if limit < 0:
        raise bad_request(f"limit: Invalid value: {limit}: must be greater than or equal to 0")
    return pagination.first_page(records, revision, limit, count=selection_of(request, target).everything)


def selected(state: ServerState, request: Request, target: Target) -> Sequence[Record]:
    resource = target.served.resource.key
    wanted = selection_of(request, target)
    if wanted.name is not None and (target.namespace or not target.served.resource.namespaced):
        record = state.store.get(Key(resource, target.namespace, wanted.name))
        return [record] if record is not None and wanted.matches(record.body) else []
    records = state.store.list(resource, target.namespace)
    return records if wanted.everything else [record for record in records if wanted.matches(record.body)]


def selection_of(request: Request, target: Target) -> Selection:
    query = request.query
    return selection(query.get("labelSelector", ""), query.get("fieldSelector", ""), target.served.resource.key)
