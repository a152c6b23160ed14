"""What a change in the store is to a watcher: news of one kind or another, or nothing; put into lines once for all who
want the same."""

from collections.abc import Sequence

import msgspec

from understudy.embedded.api.selectors import Selection
from understudy.embedded.server.http.object_response import WatchEncoder
from understudy.embedded.server.registry.store_writes import at_revision
from understudy.embedded.store.records import EventType, Record, StoreEvent

_REMEMBERED = 16  # pieces that others may still ask for
_LARGEST = 1024 * 1024

TypedBody = tuple[str, bytes]  # the type of an event, and the object


class WatchFilter(msgspec.Struct, frozen=True):
    """What a watch is about."""

    namespace: str
    selection: Selection

    def see(self, event: StoreEvent) -> TypedBody | None:
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


class SharedPieces:
    """Most watchers of a resource want the same: for them the lines of a batch are put together once."""

    def __init__(self) -> None:
        self._pieces: dict[tuple[object, ...], bytes] = {}

    def piece(self, events: Sequence[StoreEvent], question: WatchFilter, lines: WatchEncoder) -> bytes:
        if not (question.selection.everything and lines.plain):
            return _piece(events, question, lines)
        key = (events[0].record.revision, events[-1].record.revision, question.namespace, lines.head)
        found = self._pieces.get(key)
        if found is None:
            found = _piece(events, question, lines)
            self._remember(key, found)
        return found

    def _remember(self, key: tuple[object, ...], piece: bytes) -> None:
        if len(piece) > _LARGEST:
            return
        self._pieces[key] = piece
        if len(self._pieces) > _REMEMBERED:
            del self._pieces[next(iter(self._pieces))]


def _piece(events: Sequence[StoreEvent], question: WatchFilter, lines: WatchEncoder) -> bytes:
    return b"".join([lines.event(*seen) for event in events if (seen := question.see(event)) is not None])


def _left(event: StoreEvent) -> bytes:
    """An object that no longer matches is told as it last did, at the revision of the change that took it away."""
    if event.type is EventType.DELETED or event.before is None:
        return event.record.body
    return at_revision(event.before.body, event.record.revision)
