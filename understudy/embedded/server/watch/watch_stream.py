"""Watch streams: the current objects if asked for, then every change as a line of JSON, until the time is up or the
client disconnects."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Sequence

import msgspec

from understudy.embedded.api.selectors import Selection
from understudy.embedded.schema.errors import ApiError, Cause, gone, invalid
from understudy.embedded.server.http.pagination import too_new, whole_number
from understudy.embedded.server.http.request import Request
from understudy.embedded.server.http.request_target import Target
from understudy.embedded.server.http.response import StreamedResponse, status_document
from understudy.embedded.server.watch.watch_encoder import BatchCache, WatchEncoder, error_line
from understudy.embedded.server.watch.watch_filter import WatchFilter
from understudy.embedded.store.records import Compacted, Record
from understudy.embedded.store.store import Store
from understudy.embedded.store.subscriptions import Subscription

BOOKMARK_SECONDS = 30.0
_INITIAL_BATCH = 500  # lines that are sent in one piece
_SHORTEST, _LONGEST = 1800, 3600  # seconds a watch without timeoutSeconds lasts, as in Kubernetes


class _WatchStart(msgspec.Struct, frozen=True):
    subscription: Subscription
    bookmarks: bool
    initial: Sequence[Record] = ()  # sent as ADDED before everything else
    initial_end: str = ""  # the revision of the bookmark after these; '': no bookmark


class WatchServer:
    """Makes the streams of all watches, which share their encoded batches."""

    def __init__(self, store: Store, now: Callable[[], float]) -> None:
        self._store = store
        self._now = now
        self._batches = BatchCache()

    def watch(self, request: Request, target: Target, selection: Selection) -> StreamedResponse:
        """Raises ApiError for a wrong request, before the first byte is sent."""
        wanted = WatchFilter(target.namespace, selection)
        try:
            start = self._start(request, target, wanted)
        except Compacted as compacted:
            return StreamedResponse(_refusal(compacted))
        seconds = request.number("timeoutSeconds") or random.uniform(_SHORTEST, _LONGEST)
        encoder = WatchEncoder(request, target, self._now)
        return StreamedResponse(self._lines(start, wanted, encoder), seconds=seconds)

    def _start(self, request: Request, target: Target, wanted: WatchFilter) -> _WatchStart:
        """No await between the list and the subscription, so that no change is lost between them."""
        store, resource = self._store, target.served.resource.key
        bookmarks = request.flag("allowWatchBookmarks")
        since = whole_number(request.query.get("resourceVersion", ""))
        initial = _initial_events(request)
        if initial or (initial is None and not since):
            if since > store.revision:
                raise too_new(since, store.revision)
            records = [record for record in store.list(resource, target.namespace) if wanted.matches(record)]
            initial_end = str(store.revision) if initial and bookmarks else ""
            return _WatchStart(store.watch(resource), bookmarks, records, initial_end)
        return _WatchStart(store.watch(resource, since or None), bookmarks)

    async def _lines(self, start: _WatchStart, wanted: WatchFilter, encoder: WatchEncoder) -> AsyncIterator[bytes]:
        subscription = start.subscription
        clock = asyncio.get_running_loop().time
        try:
            for at in range(0, len(start.initial), _INITIAL_BATCH):
                records = start.initial[at : at + _INITIAL_BATCH]
                yield b"".join([encoder.event("ADDED", record.body) for record in records])
            if start.initial_end:
                yield encoder.bookmark(start.initial_end, initial_end=True)
            due = clock() + BOOKMARK_SECONDS
            while not subscription.ended:
                within = max(0.0, due - clock()) if start.bookmarks else None
                events = await subscription.take(within)
                if events and (batch := self._batches.batch(events, wanted, encoder)):
                    yield batch
                if start.bookmarks and clock() >= due and not subscription.ended:
                    yield encoder.bookmark(str(subscription.revision))
                    due = clock() + BOOKMARK_SECONDS
        except Compacted as compacted:
            yield _too_old(compacted)
        finally:
            subscription.close()


def _initial_events(request: Request) -> bool | None:
    match = request.query.get("resourceVersionMatch", "")
    if "sendInitialEvents" not in request.query:
        if match:
            raise _forbidden("resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided")
        return None
    if match != "NotOlderThan":
        raise _forbidden("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan")
    return request.flag("sendInitialEvents")


def _forbidden(why: str) -> ApiError:
    cause = Cause("FieldValueForbidden", f"Forbidden: {why}", "resourceVersionMatch")
    return invalid("ListOptions", "meta.k8s.io", "", [cause])


async def _refusal(compacted: Compacted) -> AsyncIterator[bytes]:
    yield _too_old(compacted)


def _too_old(compacted: Compacted) -> bytes:
    """The client lists again, and watches from there."""
    return error_line(status_document(gone(f"too old resource version: {compacted}")))
