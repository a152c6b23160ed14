"""`understudy list`: all jobs, of whatever kind."""

import argparse
import time
from collections.abc import Mapping, Sequence

from understudy.cli.input.times import short_duration
from understudy.cli.options import VerbParser, add_all_namespaces, add_cluster_options, add_type
from understudy.cli.output.formats import print_as
from understudy.cli.output.tables import NONE, show, status_colours, table
from understudy.cli.queries.ended_pods import with_last_attempts
from understudy.cli.queries.events import count_preemptions, events_of_job
from understudy.cli.queries.jobs import JobSummary, read_jobs
from understudy.cli.queries.lists import list_events
from understudy.cli.session import Session, run_in_session
from understudy.cli.views.figures import job_figures
from understudy.cli.views.findings import is_unexplained, with_event_reason
from understudy.client import KubeClient

ABOUT = """\
List the training jobs of a namespace, of all kinds that --type names and from every client. The objects that
a job makes, such as the Jobs of a JobSet, are parts of it and are not listed.

NODE is where the first instance runs."""
EXAMPLES = """\
examples:
  understudy list
  understudy list -A -o wide          of all namespaces, with GPUs, preemptions and reasons
  understudy list -T mpijob -o name"""


def add_flags(parser: VerbParser) -> None:
    add_all_namespaces(parser, "jobs of")
    parser.add_argument(
        "-o", "--output", choices=("wide", "json", "yaml", "name"), default="", help="form (default: a table)"
    )
    add_type(parser)
    add_cluster_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    async def work(session: Session) -> int:
        everywhere = options.all_namespaces
        jobs = await read_jobs(session, options.type, everywhere=everywhere)
        jobs = await with_event_reasons(session.client, await with_last_attempts(session.client, jobs))
        now = time.time()
        figures = [job_figures(job, now) for job in jobs]
        if print_as(options.output, {"jobs": figures}, [job.full_name for job in jobs]):
            return 0
        if options.output == "wide":
            setbacks = await count_preemptions(session.client, "" if everywhere else session.namespace)
            show(wide_list_lines(jobs, setbacks, now))
        else:
            show(list_lines(jobs, now, everywhere=everywhere))
        return 0

    return run_in_session(options, work)


async def with_event_reasons(client: KubeClient, jobs: Sequence[JobSummary]) -> list[JobSummary]:
    """Events are read only where a job does not say why it is pending."""
    namespaces = {job.namespace for job in jobs if is_unexplained(job)}
    events = {namespace: await list_events(client, namespace) for namespace in sorted(namespaces)}
    return [
        with_event_reason(job, events_of_job(job, events[job.namespace])) if is_unexplained(job) else job
        for job in jobs
    ]


LONGEST_REASON = 80


def list_lines(jobs: Sequence[JobSummary], now: float, *, everywhere: bool = False) -> list[str]:
    rows = [["NAME", "STATUS", "TRAINER", "AGE", "NODE"], *(_row(job, now) for job in jobs)]
    if everywhere:
        rows = [[space, *row] for space, row in zip(["NAMESPACE", *(job.namespace for job in jobs)], rows, strict=True)]
    return table(rows, status_colours())


def wide_list_lines(jobs: Sequence[JobSummary], setbacks: Mapping[str, int], now: float) -> list[str]:
    """`setbacks` maps the uid of a job to the number of times it gave up its seats."""
    head = ["NAMESPACE", "NAME", "STATUS", "TRAINER", "AGE", "NODE", "PRIORITY", "DURATION", "INSTANCES"]
    head += ["GPU(Requested)", "GPU(Allocated)", "PREEMPTIONS", "REASON"]
    rows = [head]
    for job in jobs:
        running = sum(1 for one in job.instances if one.status == "RUNNING" and not one.leaving)
        row = [job.namespace, *_row(job, now), job.priority, short_duration(job.duration(now))]
        row += [f"{running}/{len(job.listed_instances)}", str(job.gpus_requested), str(job.gpus_allocated)]
        rows.append([*row, str(setbacks.get(job.uid, 0)), shortened(job.reason)])
    return table(rows, status_colours())


def _row(job: JobSummary, now: float) -> list[str]:
    node = job.chief.shown_node if job.chief else NONE
    return [job.name, job.status, job.trainer, short_duration(job.age(now)), node]


def shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_REASON else f"{line[: LONGEST_REASON - 1]}…"
