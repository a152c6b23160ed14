"""Events as blocks for `get -e`, as lines for `understudy events`, and as figures for programs."""

from collections.abc import Sequence
from typing import Any

from understudy.cli.input.times import rfc3339, short_duration
from understudy.cli.output.tables import status_colours, table
from understudy.cli.queries.objects import EventInfo


def events_block(events: Sequence[EventInfo], now: float) -> list[str]:
    """Events as `get -e` shows them: those of one object together, and an empty line after each object."""
    lines = ["", "Events: "]
    if not events:
        return [*lines, "No events for this job"]
    rows: list[list[str]] = [["SOURCE", "TYPE", "AGE", "MESSAGE"], ["--------", "----", "---", "-------"]]
    groups: dict[str, list[EventInfo]] = {}
    for event in events:
        groups.setdefault(event_object(event), []).append(event)
    for about, group in groups.items():
        rows += [[about, event.type, short_duration(now - event.at), _reason_and_message(event)] for event in group]
        rows.append([""])
    return lines + table(rows, status_colours())


def event_lines(events: Sequence[EventInfo], now: float, *, wide: bool = False) -> list[str]:
    """Events as `understudy events` shows them: all objects together, in the order of time."""
    head = ["AGE", "TYPE", "REASON", "OBJECT", "MESSAGE"]
    rows = [["NAMESPACE", "FIRST", "COUNT", "FROM", *head] if wide else head]
    for event in events:
        times = f" (x{event.times})" if event.times > 1 else ""
        row = [
            short_duration(now - event.at),
            event.type,
            event.reason,
            event_object(event),
            _one_line(event.message) + times,
        ]
        writer = event.source.component or event.reporting_component
        more = [event.metadata.namespace, short_duration(now - event.began), str(event.times), writer] if wide else []
        rows.append([*more, *row])
    return table(rows, status_colours())


def event_figures(event: EventInfo) -> dict[str, Any]:
    about = event.involved_object
    return {
        "time": rfc3339(event.at),
        "first": rfc3339(event.began),
        "count": event.times,
        "type": event.type,
        "reason": event.reason,
        "kind": about.kind,
        "name": about.name,
        "namespace": about.namespace,
        "message": event.message,
        "source": event.source.component or event.reporting_component,
    }


def event_object(event: EventInfo) -> str:
    return f"{event.involved_object.kind.lower()}/{event.involved_object.name}"


def _reason_and_message(event: EventInfo) -> str:
    return f"[{event.reason}] {_one_line(event.message)}"


def _one_line(text: str) -> str:
    return " ".join(text.split())
