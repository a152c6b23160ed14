"""Watches: what there is, if asked for, then every change, a line of JSON each, until the time is up or the peer goes.

With selectors an object that begins to match is ADDED, and one that ceases to is DELETED.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Sequence

import msgspec

from understudy.embedded.api.errors import ApiError, Cause, gone, invalid
from understudy.embedded.api.selectors import Selection
from understudy.embedded.server.answers import Stream, status_document
from understudy.embedded.server.calls import Call, Target
from understudy.embedded.server.pages import too_new, whole_number
from understudy.embedded.server.presenting import Lines, failure_line
from understudy.embedded.server.state import State
from understudy.embedded.server.writing import at_revision
from understudy.embedded.store.records import Compacted, Event, EventType, Record
from understudy.embedded.store.watching import Subscription

BOOKMARK_SECONDS = 30.0
_AT_ONCE = 500  # lines that go out in one piece
_SHORTEST, _LONGEST = 1800, 3600  # how long a watch lasts that says nothing about it, as in Kubernetes

Told = tuple[str, bytes]  # the type of an event, and the object


class Question(msgspec.Struct, frozen=True):
    """What a watch is about."""

    namespace: str
    selection: Selection

    def see(self, event: Event) -> Told | None:
        key = event.record.key
        if self.namespace and key.namespace != self.namespace:
            return None
        if self.selection.everything:
            return event.type.value, event.record.body
        if self.selection.name is not None and key.name != self.selection.name:
            return None
        was = event.before is not None and self.selection.matches(event.before.body)
        now = event.type is not EventType.DELETED and self.selection.matches(event.record.body)
        match was, now:
            case False, True:
                return "ADDED", event.record.body
            case True, True:
                return "MODIFIED", event.record.body
            case True, False:
                return "DELETED", _left(event)
            case _:
                return None

    def holds(self, record: Record) -> bool:
        return self.selection.everything or self.selection.matches(record.body)


def _left(event: Event) -> bytes:
    """An object that no longer matches is told as it last did, at the revision of the change that took it away."""
    if event.type is EventType.DELETED or event.before is None:
        return event.record.body
    return at_revision(event.before.body, event.record.revision)


def watch(state: State, call: Call, target: Target, selection: Selection) -> Stream:
    """Raises what is wrong with the request before the first byte goes out."""
    question = Question(target.namespace, selection)
    try:
        plan = _begin(state, call, target, question)
    except Compacted as compacted:
        return Stream(_failed(compacted))
    seconds = call.number("timeoutSeconds") or random.uniform(_SHORTEST, _LONGEST)
    return Stream(_lines(plan, question, Lines(call, target, state.now)), seconds=seconds)


class _Plan(msgspec.Struct, frozen=True):
    subscription: Subscription
    bookmarks: bool
    first: Sequence[Record] = ()  # told as ADDED before anything else
    ends_at: str = ""  # the revision to say the end of these at; '' to say nothing


def _begin(state: State, call: Call, target: Target, question: Question) -> _Plan:
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


def _initial_events(call: Call) -> bool | None:
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


async def _lines(plan: _Plan, question: Question, lines: Lines) -> AsyncIterator[bytes]:
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
            told = [seen for event in await subscription.take(within) if (seen := question.see(event)) is not None]
            if told:
                yield b"".join([lines.event(*one) for one in told])
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
