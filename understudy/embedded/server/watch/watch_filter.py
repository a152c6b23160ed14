"""Which events a watch sends, and as what: an object that begins to match is ADDED, one that ceases to is DELETED."""

import msgspec

from understudy.embedded.api.partial_objects import at_revision
from understudy.embedded.api.selectors import Selection
from understudy.embedded.store.records import EventType, Record, StoreEvent

TypedBody = tuple[str, bytes]  # the type of a watch event, and the object


class WatchFilter(msgspec.Struct, frozen=True):
    """The namespace ('': all) and the selectors of a watch."""

    namespace: str
    selection: Selection

    def event(self, event: StoreEvent) -> TypedBody | None:
        """None for an event that the watch does not send."""
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
                return "DELETED", _last_match(event)
            case _:
                return None

    def matches(self, record: Record) -> bool:
        return self.selection.everything or self.selection.matches(record.body)


def _last_match(event: StoreEvent) -> bytes:
    """The object as it last matched, at the revision of the change after which it does not match any more."""
    if event.type is EventType.DELETED or event.before is None:
        return event.record.body
    return at_revision(event.before.body, event.record.revision)
