"""What controllers have to tell about objects, passed on to the Teller: what would flood its readers is told as one."""

from collections import OrderedDict

from understudy.control.record.event_formats import EventSubject, EventText
from understudy.control.record.event_recorder import EventRecorder
from understudy.kinds.children.actions import EventNote

FLOOD = 10  # different messages about one thing, after which the others are told as one
MOST_REMEMBERED = 4096


class EventAggregator:
    def __init__(self, teller: EventRecorder) -> None:
        self._teller = teller
        self._told: OrderedDict[tuple[EventSubject, str, str], set[str]] = OrderedDict()

    def record(self, about: EventSubject, note: EventNote) -> None:
        """Never waits."""
        self._teller.event(about, EventText(note.reason, self._message(about, note), note.type == "Warning"))

    def _message(self, about: EventSubject, note: EventNote) -> str:
        key = (about, note.type, note.reason)
        told = self._told.setdefault(key, set())
        self._told.move_to_end(key)
        if len(self._told) > MOST_REMEMBERED:
            self._told.popitem(last=False)
        if note.message not in told and len(told) >= FLOOD:
            return "(combined from similar events)"
        told.add(note.message)
        return note.message
