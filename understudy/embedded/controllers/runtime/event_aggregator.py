"""Events of controllers on their way to the event recorder: many different messages of one reason become one event."""

from collections import OrderedDict

from understudy.control.record.event_formats import EventSubject, EventText
from understudy.control.record.event_recorder import EventRecorder
from understudy.kinds.children.actions import EventNote

FLOOD = 10  # different messages of one reason about one object; further ones are combined
MOST_REMEMBERED = 4096


class EventAggregator:
    def __init__(self, recorder: EventRecorder) -> None:
        self._recorder = recorder
        self._messages: OrderedDict[tuple[EventSubject, str, str], set[str]] = OrderedDict()

    def record(self, about: EventSubject, note: EventNote) -> None:
        """Does not block."""
        self._recorder.event(about, EventText(note.reason, self._message(about, note), note.type == "Warning"))

    def _message(self, about: EventSubject, note: EventNote) -> str:
        key = (about, note.type, note.reason)
        messages = self._messages.setdefault(key, set())
        self._messages.move_to_end(key)
        if len(self._messages) > MOST_REMEMBERED:
            self._messages.popitem(last=False)
        if note.message not in messages and len(messages) >= FLOOD:
            return "(combined from similar events)"
        messages.add(note.message)
        return note.message
