"""`understudy list`: all jobs, of whatever kind."""

import argparse
import time
from collections.abc import Mapping, Sequence

from understudy.cli.input.times import short_duration
from understudy.cli.options import VerbParser, add_all_namespaces, add_cluster_options, add_type
from understudy.cli.output.formats import print_as
from understudy.cli.output.tables import NONE, show, status_colours, table
from understudy.cli.queries.events import count_preemptions
from understudy.cli.queries.jobs import JobSummary, read_jobs
from understudy.cli.session import Session, run_in_session
from understudy.cli.views.figures import job_figures

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
        row += [f"{running}/{len(job.instances)}", str(job.gpus_requested), str(job.gpus_allocated)]
        rows.append([*row, str(setbacks.get(job.uid, 0)), shortened(job.reason)])
    return table(rows, status_colours())


def _row(job: JobSummary, now: float) -> list[str]:
    node = job.chief.shown_node if job.chief else NONE
    return [job.name, job.status, job.trainer, short_duration(job.age(now)), node]


def shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_REASON else f"{line[: LONGEST_REASON - 1]}…"
