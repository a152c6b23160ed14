"""Events of a job: those about it, about what it made of itself, and about its pods, also of those that are gone."""

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from understudy.cli.durations import short
from understudy.cli.jobs.gathering import events_in
from understudy.cli.jobs.seen import SeenEvent
from understudy.cli.jobs.summaries import JobSummary
from understudy.cli.jobs.tables import status_colours, table
from understudy.cli.moments import rfc3339

if TYPE_CHECKING:
    from understudy.client import KubeClient

SLACK = 2.0  # seconds by which clocks and their rounding may disagree about what came first
_LETTERS = "[a-z0-9]{5}"  # what the API appends to a prefix


async def events_of(client: "KubeClient", job: JobSummary) -> list[SeenEvent]:
    return belonging(job, await events_in(client, job.namespace))


def belonging(job: JobSummary, events: Iterable[SeenEvent]) -> list[SeenEvent]:
    """In the order they happened. A job of the same name that is gone has had events of its own."""
    names = re.compile(_names_of_children(job))
    pods = {one.name for one in job.instances}
    found = []
    for event in events:
        about = event.involved_object
        if about.kind == job.kind and about.name == job.name:
            mine = not job.uid or not about.uid or about.uid == job.uid
        elif about.kind in ("Pod", "Job", "JobSet"):
            mine = about.name in pods or (
                about.name.startswith(job.name)
                and event.at >= job.created - SLACK
                and names.fullmatch(about.name) is not None
            )
        else:
            mine = False
        if mine:
            found.append(event)
    return sorted(found, key=_in_time)


def belonging_to_any(jobs: Iterable[JobSummary], events: Iterable[SeenEvent]) -> list[SeenEvent]:
    by_namespace: dict[str, list[SeenEvent]] = {}
    for event in events:
        by_namespace.setdefault(event.metadata.namespace, []).append(event)
    found = {id(event): event for job in jobs for event in belonging(job, by_namespace.get(job.namespace, ()))}
    return sorted(found.values(), key=_in_time)


def _in_time(event: SeenEvent) -> tuple[int, int, str]:
    """Most events tell their time in whole seconds; within one the order in which they were written says more."""
    version = event.metadata.resource_version
    return int(event.at), int(version) if version.isdigit() else 0, event.metadata.name


def _names_of_children(job: JobSummary) -> str:
    """A pattern for the names of its pods and child jobs, narrow enough for `a` not to claim those of a job `a-b`."""
    name = re.escape(job.name)
    match job.kind:
        case "Job":
            return rf"{name}-(\d+-)?{_LETTERS}"
        case "JobSet":
            roles = "|".join(re.escape(role) for role in job.roles) or "[a-z0-9-]+"
            return rf"{name}-({roles})-\d+(-\d+(-{_LETTERS})?)?"
        case "TrainJob":
            return rf"{name}|{name}-[a-z][a-z0-9-]*-\d+(-\d+(-{_LETTERS})?)?"
        case "MPIJob":
            return rf"{name}-launcher(-{_LETTERS})?|{name}-worker-\d+"
        case _:
            roles = "|".join(re.escape(role) for role in job.roles) or "[a-z]+"
            return rf"{name}-({roles})-\d+"


def events_block(events: Sequence[SeenEvent], now: float) -> list[str]:
    """As `get -e` shows them: those of one object together, and an empty line after each."""
    lines = ["", "Events: "]
    if not events:
        return [*lines, "No events for this job"]
    rows: list[list[str]] = [["SOURCE", "TYPE", "AGE", "MESSAGE"], ["--------", "----", "---", "-------"]]
    groups: dict[str, list[SeenEvent]] = {}
    for event in events:
        groups.setdefault(source(event), []).append(event)
    for about, group in groups.items():
        rows += [[about, event.type, short(now - event.at), _words(event)] for event in group]
        rows.append([""])
    return lines + table(rows, status_colours())


def event_lines(events: Sequence[SeenEvent], now: float, *, wide: bool = False) -> list[str]:
    """As `understudy events` shows them: all in one line of time."""
    head = ["AGE", "TYPE", "REASON", "OBJECT", "MESSAGE"]
    rows = [["NAMESPACE", "FIRST", "COUNT", "FROM", *head] if wide else head]
    for event in events:
        times = f" (x{event.times})" if event.times > 1 else ""
        row = [short(now - event.at), event.type, event.reason, source(event), _one_line(event.message) + times]
        writer = event.source.component or event.reporting_component
        more = [event.metadata.namespace, short(now - event.began), str(event.times), writer] if wide else []
        rows.append([*more, *row])
    return table(rows, status_colours())


def event_figures(event: SeenEvent) -> dict[str, Any]:
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


def source(event: SeenEvent) -> str:
    return f"{event.involved_object.kind.lower()}/{event.involved_object.name}"


def _words(event: SeenEvent) -> str:
    return f"[{event.reason}] {_one_line(event.message)}"


def _one_line(text: str) -> str:
    return " ".join(text.split())
