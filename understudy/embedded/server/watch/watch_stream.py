"""Watches: what there is, if asked for, then every change, a line of JSON each, until the time is up or the peer goes.

With selectors an object that begins to match is ADDED, and one that ceases to is DELETED.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Sequence

import msgspec

from understudy.embedded.api.selectors import Selection
from understudy.embedded.schema.errors import ApiError, Cause, gone, invalid
from understudy.embedded.server.http.object_response import WatchEncoder, failure_line
from understudy.embedded.server.http.pagination import too_new, whole_number
from understudy.embedded.server.http.request import Request
from understudy.embedded.server.http.request_target import Target
from understudy.embedded.server.http.response import StreamedResponse, status_document
from understudy.embedded.server.registry.state import ServerState
from understudy.embedded.server.watch.watch_encoder import SharedPieces, WatchFilter
from understudy.embedded.store.records import Compacted, Record
from understudy.embedded.store.subscriptions import Subscription

BOOKMARK_SECONDS = 30.0
_AT_ONCE = 500  # lines that go out in one piece
_SHORTEST, _LONGEST = 1800, 3600  # how long a watch lasts that says nothing about it, as in Kubernetes


def watch(state: ServerState, call: Request, target: Target, selection: Selection) -> StreamedResponse:
    """Raises what is wrong with the request before the first byte goes out."""
    question = WatchFilter(target.namespace, selection)
    try:
        plan = _begin(state, call, target, question)
    except Compacted as compacted:
        return StreamedResponse(_failed(compacted))
    seconds = call.number("timeoutSeconds") or random.uniform(_SHORTEST, _LONGEST)
    return StreamedResponse(
        _lines(plan, question, WatchEncoder(call, target, state.now), state.fanout), seconds=seconds
    )


class _Plan(msgspec.Struct, frozen=True):
    subscription: Subscription
    bookmarks: bool
    first: Sequence[Record] = ()  # told as ADDED before anything else
    ends_at: str = ""  # the revision to say the end of these at; '' to say nothing


def _begin(state: ServerState, call: Request, target: Target, question: WatchFilter) -> _Plan:
    """No await between the list and the subscription, so that nothing falls between them."""
    store, resource = state.store, target.served.resource.key
    bookmarks = call.flag("allowWatchBookmarks")
    since = whole_number(call.query.get("resourceVersion", ""))
    initial = _initial_events(call)
    if initial or (initial is None and not since):
        if since > store.revision:
            raise too_new(since, store.revision)
        first = [record for record in store.list(resource, target.namespace) if question.holds(record)]
        ends_at = str(store.revision) if initial and bookmarks else ""
        return _Plan(store.watch(resource), bookmarks, first, ends_at)
    return _Plan(store.watch(resource, since or None), bookmarks)


def _initial_events(call: Request) -> bool | None:
    match = call.query.get("resourceVersionMatch", "")
    if "sendInitialEvents" not in call.query:
        if match:
            raise _forbidden("resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided")
        return None
    if match != "NotOlderThan":
        raise _forbidden("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan")
    return call.flag("sendInitialEvents")


def _forbidden(why: str) -> ApiError:
    cause = Cause("FieldValueForbidden", f"Forbidden: {why}", "resourceVersionMatch")
    return invalid("ListOptions", "meta.k8s.io", "", [cause])


async def _lines(plan: _Plan, question: WatchFilter, lines: WatchEncoder, fanout: SharedPieces) -> AsyncIterator[bytes]:
    subscription = plan.subscription
    clock = asyncio.get_running_loop().time
    try:
        for start in range(0, len(plan.first), _AT_ONCE):
            yield b"".join([lines.event("ADDED", record.body) for record in plan.first[start : start + _AT_ONCE]])
        if plan.ends_at:
            yield lines.bookmark(plan.ends_at, initial_end=True)
        due = clock() + BOOKMARK_SECONDS
        while not subscription.ended:
            within = max(0.0, due - clock()) if plan.bookmarks else None
            events = await subscription.take(within)
            if events and (piece := fanout.piece(events, question, lines)):
                yield piece
            if plan.bookmarks and clock() >= due and not subscription.ended:
                yield lines.bookmark(str(subscription.revision))
                due = clock() + BOOKMARK_SECONDS
    except Compacted as compacted:
        yield _too_old(compacted)
    finally:
        subscription.close()


async def _failed(compacted: Compacted) -> AsyncIterator[bytes]:
    yield _too_old(compacted)


def _too_old(compacted: Compacted) -> bytes:
    """Tells the client to list again, and watch from there."""
    return failure_line(status_document(gone(f"too old resource version: {compacted}")))
