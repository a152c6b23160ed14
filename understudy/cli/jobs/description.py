"""One job and its events into the page of `understudy describe`."""

from collections.abc import Sequence
from typing import Any

import msgspec

from understudy.cli.durations import short
from understudy.cli.jobs.figures import job_figures, written
from understudy.cli.jobs.happenings import event_figures, event_lines
from understudy.cli.jobs.incidents import in_short, incident_figures
from understudy.cli.jobs.reasons import sentences
from understudy.cli.jobs.seen import SeenEvent
from understudy.cli.jobs.summaries import JobSummary
from understudy.cli.jobs.tables import NONE, status_colours, table
from understudy.cli.moments import rfc3339
from understudy.kinds.annotations import PREFIX, WARM
from understudy.model.incidents import Incident

LAST_INCIDENTS = 3


def described(job: JobSummary, events: Sequence[SeenEvent], incidents: Sequence[Incident], now: float) -> list[str]:
    lines = table(_head(job, now), status_colours())
    for title, part in (
        ("Why", sentences(job, events, now)),
        ("Conditions", _conditions(job, now)),
        ("Noted by Understudy", _notes(job)),
        ("Instances", _instances(job, now)),
        ("Incidents", [in_short(one, now) for one in incidents[-LAST_INCIDENTS:]]),
        ("Events", event_lines(events, now) if events else []),
    ):
        lines += ["", f"{title}:", *(f"  {line}" for line in part or ["none"])]
    return lines


def described_figures(
    job: JobSummary, events: Sequence[SeenEvent], incidents: Sequence[Incident], now: float
) -> dict[str, Any]:
    conditions: list[dict[str, Any]] = msgspec.to_builtins(job.conditions)
    return {
        **job_figures(job, now),
        "says": sentences(job, events, now),
        "conditions": conditions,
        "annotations": dict(job.annotations),
        "incidents": [incident_figures(one) for one in incidents],
        "events": [event_figures(event) for event in events],
    }


def _head(job: JobSummary, now: float) -> list[list[str]]:
    resources = ", ".join(f"{amount} {name}" for name, amount in written(job.requested).items())
    return [
        ["Name:", job.name],
        ["Namespace:", job.namespace],
        ["Kind:", f"{job.kind} ({job.resource.api_version})"],
        ["Status:", job.status],
        ["Priority:", job.priority],
        ["Created:", f"{rfc3339(job.created)} ({short(job.age(now))} ago)"],
        ["Started:", NONE if job.started is None else rfc3339(job.started)],
        ["Ended:", NONE if job.ended is None else rfc3339(job.ended)],
        ["Duration:", short(job.duration(now))],
        ["GPUs:", f"{job.gpus_allocated} of {job.gpus_requested}"],
        ["Requests:", resources or NONE],
        *([["Understudies:", _ready(job)]] if WARM in job.annotations else []),
    ]


def _ready(job: JobSummary) -> str:
    """«1 of 2 ready», and where."""
    ready = job.understudies
    places = f", on {', '.join(one.shown_node for one in ready)}" if ready else ""
    return f"{len(ready)} of {job.annotations[WARM]} ready{places}"


def _conditions(job: JobSummary, now: float) -> list[str]:
    if not job.conditions:
        return []
    rows = [["TYPE", "STATUS", "AGE", "REASON", "MESSAGE"]]
    for one in job.conditions:
        moment = one.last_transition_time
        age = short(now - moment.timestamp()) if moment else NONE
        rows.append([one.type, one.status, age, one.reason or NONE, " ".join(one.message.split())])
    return table(rows)


def _notes(job: JobSummary) -> list[str]:
    notes = [[name, value] for name, value in sorted(job.annotations.items()) if name.startswith(PREFIX)]
    return table(notes)


def _instances(job: JobSummary, now: float) -> list[str]:
    if not job.instances:
        return []
    rows = [["NAME", "STATUS", "DETAIL", "ROLE", "NODE", "AGE", "RESTARTS", "EXIT", "GPUs", "CONTAINERS"]]
    for one in job.instances:
        code = NONE if one.exit_code is None else str(one.exit_code)
        row = [one.name, one.status, one.detail, one.role or NONE, one.shown_node, short(now - one.created)]
        rows.append([*row, str(one.restarts), code, str(one.gpus), ",".join(one.containers)])
    return table(rows, status_colours())
