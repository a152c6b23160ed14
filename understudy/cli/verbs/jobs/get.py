"""`understudy get`: the state of one job and of each of its instances."""

import argparse
import time

from understudy.cli.input.times import short_duration
from understudy.cli.options import VerbParser, add_cluster_options, add_type
from understudy.cli.output.formats import print_as
from understudy.cli.output.tables import NONE, show, status_colours, table
from understudy.cli.queries.ended_pods import with_history
from understudy.cli.queries.events import read_job_events
from understudy.cli.queries.job_status import PENDING
from understudy.cli.queries.jobs import JobSummary, read_job, with_nodes
from understudy.cli.session import Session, run_in_session
from understudy.cli.views.events import event_figures, events_block
from understudy.cli.views.figures import job_figures, written
from understudy.cli.views.findings import is_unexplained, with_event_reason
from understudy.cli.views.node_states import state_columns

ABOUT = """\
Show one job: its status, priority, how long it has trained, and its instances (pods) with the node each
of them runs on.

The words for STATUS: PENDING (it waits for seats, or starts), RUNNING, SUCCEEDED, FAILED, QUEUING (it had to
make room for others and goes on by itself), SUSPENDED (its owner paused it)."""
EXAMPLES = """\
examples:
  understudy get medium
  understudy get medium -e               with its events, and those of its pods
  understudy get medium -T mpijob        where jobs of several kinds have that name
  understudy get medium -o json"""


def add_flags(parser: VerbParser) -> None:
    parser.add_argument("job", metavar="JOB")
    parser.add_argument("-e", "--events", action="store_true", help="show events too")
    parser.add_argument("-g", "--gpus", action="store_true", help="show which instance holds which accelerators")
    parser.add_argument(
        "-o", "--output", choices=("wide", "json", "yaml", "name"), default="", help="form (default: a table)"
    )
    add_type(parser)
    add_cluster_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    async def work(session: Session) -> int:
        found = await with_history(session.client, await read_job(session, options.job, options.type))
        job = await with_nodes(session.client, found)
        events = await read_job_events(session.client, job) if options.events or is_unexplained(job) else []
        job = with_event_reason(job, events)
        now = time.time()
        shown = {"events": [event_figures(event) for event in events]} if options.events else {}
        if print_as(options.output, {**job_figures(job, now), **shown}, [job.full_name]):
            return 0
        lines = job_lines(job, now, wide=options.output == "wide")
        if options.gpus:
            lines += accelerator_lines(job)
        if options.events:
            lines += events_block(events, now)
        show(lines)
        return 0

    return run_in_session(options, work)


HEAD = ["NAME", "STATUS", "TRAINER", "AGE", "INSTANCE", "NODE"]


def job_lines(job: JobSummary, now: float, *, wide: bool = False) -> list[str]:
    paint = status_colours()
    lines = [
        f"STATUS: {paint(job.status)}",
        f"NAMESPACE: {job.namespace}",
        f"PRIORITY: {job.priority}",
        f"TRAINING DURATION: {short_duration(job.duration(now))}",
    ]
    if (attempts := job.attempts(now)) > 1:
        lines.append(f"ATTEMPTS: {attempts}")
    if job.reason and (wide or _is_in_trouble(job)):
        lines.append(f"REASON: {job.reason}")
    return [*lines, "", *table(_wide_rows(job, now) if wide else _rows(job, now), paint)]


def _is_in_trouble(job: JobSummary) -> bool:
    """Its pods are in trouble, or something other than a lack of room keeps them from being made or started."""
    waits = any(one.waits for one in job.instances)
    return any(one.trouble for one in job.instances) or (job.status == PENDING and not waits)


def _rows(job: JobSummary, now: float) -> list[list[str]]:
    """AGE is that of the job. A job without instances has one line."""
    age = short_duration(job.age(now))
    if not job.listed_instances:
        return [HEAD, [job.name, job.status, job.trainer, age, NONE, NONE]]
    listed = job.listed_instances
    rows = [[job.name, one.shown_status, job.trainer, age, one.name, one.shown_node] for one in listed]
    columns = state_columns([one.node_state for one in listed], now)
    return [row + cells for row, cells in zip([HEAD, *rows], columns, strict=True)]


def _wide_rows(job: JobSummary, now: float) -> list[list[str]]:
    [first, *others] = _rows(job, now)
    head = [*first, "ROLE", "DETAIL", "UP", "RESTARTS", "EXIT", "IP", "GPU(Requested)", "GPU(Allocated)"]
    if not job.listed_instances:
        return [first, *others]
    rows = [head]
    for row, one in zip(others, job.listed_instances, strict=True):
        up = short_duration((one.ended or now) - one.started) if one.started is not None else NONE
        code = NONE if one.exit_code is None else str(one.exit_code)
        held = one.gpus if one.seated else 0
        more = [one.role or NONE, one.detail, up, str(one.restarts), code, one.ip or NONE, str(one.gpus), str(held)]
        rows.append([*row, *more])
    return rows


def accelerator_lines(job: JobSummary) -> list[str]:
    rows = [["INSTANCE", "NODE", "GPU(Requested)", "GPU(Allocated)", "RESOURCES"]]
    for one in job.instances:
        resources = ", ".join(f"{amount} {name}" for name, amount in written(one.requests).items())
        rows.append([one.name, one.shown_node, str(one.gpus), str(one.gpus if one.seated else 0), resources or NONE])
    return [
        "",
        "GPUs:",
        *table(rows),
        "",
        f"Allocated/Requested GPUs of Job: {job.gpus_allocated}/{job.gpus_requested}",
    ]
