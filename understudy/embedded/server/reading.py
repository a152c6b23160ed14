"""GET of an object, or of many, or of all that happens to them."""

from collections.abc import Sequence

from understudy.embedded.api.errors import bad_request, not_found
from understudy.embedded.api.selectors import Selection, selection
from understudy.embedded.server import pages
from understudy.embedded.server.answers import Answer, Stream
from understudy.embedded.server.calls import Call, Target
from understudy.embedded.server.presenting import present, present_page
from understudy.embedded.server.state import State
from understudy.embedded.server.watching import watch
from understudy.embedded.store.records import Key, Record


async def get(state: State, call: Call, target: Target) -> Answer:
    record = state.store.get(target.key)
    if record is None:
        resource = target.served.resource
        raise not_found(resource.plural, resource.group, target.name)
    return present(call, target, record.body)


async def list_or_watch(state: State, call: Call, target: Target) -> Answer | Stream:
    if call.flag("watch"):
        return watch(state, call, target, selection_of(call, target))
    return present_page(call, target, page_of(state, call, target))


def page_of(state: State, call: Call, target: Target) -> pages.Page:
    revision = state.store.revision
    records = selected(state, call, target)
    if token := call.query.get("continue"):
        mark = pages.decode(token)
        revision, records = mark.revision, pages.following(records, mark)
    else:
        pages.check_revision(
            call.query.get("resourceVersion", ""), call.query.get("resourceVersionMatch", ""), revision
        )
    limit = call.number("limit") or 0
    if limit < 0:
        raise bad_request(f"limit: Invalid value: {limit}: must be greater than or equal to 0")
    return pages.cut(records, revision, limit, count=selection_of(call, target).everything)


def selected(state: State, call: Call, target: Target) -> Sequence[Record]:
    resource = target.served.resource.key
    wanted = selection_of(call, target)
    if wanted.name is not None and (target.namespace or not target.served.resource.namespaced):
        record = state.store.get(Key(resource, target.namespace, wanted.name))
        return [record] if record is not None and wanted.matches(record.body) else []
    records = state.store.list(resource, target.namespace)
    return records if wanted.everything else [record for record in records if wanted.matches(record.body)]


def selection_of(call: Call, target: Target) -> Selection:
    query = call.query
    return selection(query.get("labelSelector", ""), query.get("fieldSelector", ""), target.served.resource.key)
