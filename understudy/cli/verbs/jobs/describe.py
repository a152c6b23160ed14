"""`understudy describe`: everything about one job."""

import argparse
import time
from collections.abc import Sequence
from typing import Any

import msgspec

from understudy.cli.input.times import rfc3339, short_duration
from understudy.cli.options import VerbParser, add_cluster_options, add_type
from understudy.cli.output.formats import print_as
from understudy.cli.output.tables import NONE, show, status_colours, table
from understudy.cli.queries.events import read_job_events
from understudy.cli.queries.jobs import JobSummary, read_job, with_nodes
from understudy.cli.queries.lists import list_incidents
from understudy.cli.queries.objects import EventInfo
from understudy.cli.session import Session, run_in_session
from understudy.cli.views.events import event_figures, event_lines
from understudy.cli.views.figures import job_figures, written
from understudy.cli.views.findings import find_causes
from understudy.cli.views.incidents import incident_figures, incident_line, select_incidents
from understudy.cli.views.node_states import state_columns
from understudy.cli.views.reasons import reason_sentences
from understudy.kinds.annotations import PREFIX, WARM
from understudy.model.incidents import Incident

ABOUT = """\
Show all there is to know about a job: what it asks for and has, its conditions, its instances with their containers,
restarts and exit codes, what Understudy noted on it, why it is where it is, its last incidents, and its events."""
EXAMPLES = """\
examples:
  understudy describe medium"""


def add_flags(parser: VerbParser) -> None:
    parser.add_argument("job", metavar="JOB")
    parser.add_argument("-o", "--output", choices=("wide", "json", "yaml", "name"), default="", help="form")
    add_type(parser)
    add_cluster_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    async def work(session: Session) -> int:
        job = await with_nodes(session.client, await read_job(session, options.job, options.type))
        events = await read_job_events(session.client, job)
        incidents = select_incidents(await list_incidents(session.client, job.namespace), [job.kind], job.name)
        now = time.time()
        if not print_as(options.output, describe_figures(job, events, incidents, now), [job.full_name]):
            show(describe_lines(job, events, incidents, now))
        return 0

    return run_in_session(options, work)


LAST_INCIDENTS = 3


def describe_lines(
    job: JobSummary, events: Sequence[EventInfo], incidents: Sequence[Incident], now: float
) -> list[str]:
    lines = table(_head(job, now), status_colours())
    for title, part in (
        ("Why", _why(job, events, now)),
        ("Conditions", _conditions(job, now)),
        ("Noted by Understudy", _notes(job)),
        ("Instances", _instances(job, now)),
        ("Incidents", [incident_line(one, now) for one in incidents[-LAST_INCIDENTS:]]),
        ("Events", event_lines(events, now) if events else []),
    ):
        lines += ["", f"{title}:", *(f"  {line}" for line in part or ["none"])]
    return lines


def describe_figures(
    job: JobSummary, events: Sequence[EventInfo], incidents: Sequence[Incident], now: float
) -> dict[str, Any]:
    conditions: list[dict[str, Any]] = msgspec.to_builtins(job.conditions)
    return {
        **job_figures(job, now),
        "says": _why(job, events, now),
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
        ["Created:", f"{rfc3339(job.created)} ({short_duration(job.age(now))} ago)"],
        ["Started:", NONE if job.started is None else rfc3339(job.started)],
        ["Ended:", NONE if job.ended is None else rfc3339(job.ended)],
        ["Duration:", short_duration(job.duration(now))],
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
        age = short_duration(now - moment.timestamp()) if moment else NONE
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
        row = [one.name, one.status, one.detail, one.role or NONE, one.shown_node, short_duration(now - one.created)]
        rows.append([*row, str(one.restarts), code, str(one.gpus), ",".join(one.containers)])
    columns = state_columns([one.node_state for one in job.instances], now)
    return table([row + cells for row, cells in zip(rows, columns, strict=True)], status_colours())


def _why(job: JobSummary, events: Sequence[EventInfo], now: float) -> list[str]:
    causes = find_causes(job, events)
    return [*reason_sentences(job, events, now, causes), *(said for one in causes for said in (one.sentence, one.help))]
