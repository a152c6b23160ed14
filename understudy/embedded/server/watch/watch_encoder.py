"""Watch events as lines of JSON: encoded once for all watchers that want the same."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from understudy.embedded.api.negotiation import View
from understudy.embedded.api.partial_objects import partial_metadata
from understudy.embedded.api.tables.table import table
from understudy.embedded.server.http.object_response import head_of, in_version_of, include_of, view_of
from understudy.embedded.server.http.request import Request
from understudy.embedded.server.http.request_target import Target
from understudy.embedded.server.watch.watch_filter import WatchFilter
from understudy.embedded.store.records import StoreEvent

_CACHED_BATCHES = 16
_LARGEST_CACHED = 1024 * 1024  # bytes of one encoded batch
_OPENINGS = {
    kind: f'{{"type":"{kind}","object":'.encode() for kind in ("ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR")
}
_encode = msgspec.json.Encoder().encode


class WatchEncoder:
    """Encodes the lines of one watch. Only its first table has column definitions."""

    def __init__(self, request: Request, target: Target, now: Callable[[], float]) -> None:
        self._target = target
        self._view = view_of(request)
        self._include = include_of(request)
        self._now = now
        self._has_columns = False
        self.is_plain = self._view is View.OBJECT
        self.head = head_of(target)
        self._in_version = in_version_of(target)

    def event(self, kind: str, body: bytes) -> bytes:
        shown = self._in_version(body) if self.is_plain else self._transformed(body)
        return b"".join((_OPENINGS[kind], shown, b"}\n"))

    def batch(self, events: Sequence[StoreEvent], wanted: WatchFilter) -> bytes:
        return b"".join([self.event(*seen) for event in events if (seen := wanted.event(event)) is not None])

    def bookmark(self, revision: str, *, initial_end: bool = False) -> bytes:
        resource = self._target.served.resource
        meta: dict[str, Any] = {"resourceVersion": revision, "creationTimestamp": None}
        if initial_end:
            meta["annotations"] = {"k8s.io/initial-events-end": "true"}
        body: dict[str, Any] = {"kind": resource.kind, "apiVersion": self._target.api_version, "metadata": meta}
        if self._view is View.TABLE:
            partial_meta = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": meta}
            body = {"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": {"resourceVersion": revision}}
            body |= {"columnDefinitions": [], "rows": [{"cells": [], "object": partial_meta}]}
        return b"".join((_OPENINGS["BOOKMARK"], _encode(body), b"}\n"))

    def _transformed(self, body: bytes) -> bytes:
        if self._view is not View.TABLE:
            return _encode(partial_metadata(body))
        shown = table(self._target.served, [body], self._now(), self._include, header=not self._has_columns)
        self._has_columns = True
        return _encode(shown)


class BatchCache:
    """The encoded batches of late. Most watchers of a resource want the same events in the same form."""

    def __init__(self) -> None:
        self._batches: dict[tuple[object, ...], bytes] = {}

    def batch(self, events: Sequence[StoreEvent], wanted: WatchFilter, encoder: WatchEncoder) -> bytes:
        if not (wanted.selection.everything and encoder.is_plain):
            return encoder.batch(events, wanted)
        key = (events[0].record.revision, events[-1].record.revision, wanted.namespace, encoder.head)
        found = self._batches.get(key)
        if found is None:
            found = encoder.batch(events, wanted)
            self._keep(key, found)
        return found

    def _keep(self, key: tuple[object, ...], batch: bytes) -> None:
        if len(batch) > _LARGEST_CACHED:
            return
        self._batches[key] = batch
        if len(self._batches) > _CACHED_BATCHES:
            del self._batches[next(iter(self._batches))]


def error_line(status: bytes) -> bytes:
    return b"".join((_OPENINGS["ERROR"], status, b"}\n"))
