"""`understudy prune`: deletes jobs that finished a while ago, and never one that runs, waits or is suspended."""

import argparse
import time
from functools import partial
from typing import Any

from understudy.cli.input.times import parse_duration, short_duration
from understudy.cli.options import VerbParser, add_all_namespaces, add_cluster_options, add_type
from understudy.cli.queries.job_objects import job_kinds, list_job_objects
from understudy.cli.queries.suspension import ended_at
from understudy.cli.session import Session, run_in_session
from understudy.cli.verbs.jobs.delete import remove

ABOUT = """\
Delete the jobs that have finished, well or not, longer ago than --since. Jobs that run, wait
or are suspended stay, however old they are."""

EXAMPLES = """\
examples:
  understudy prune --since 10h --dry-run    what would go
  understudy prune --since 3d -A            in all namespaces"""


def add_flags(parser: VerbParser) -> None:
    parser.add_argument("--since", metavar="TIME", required=True, help="how long ago at least, such as 90m, 10h or 3d")
    add_all_namespaces(parser, "in")
    parser.add_argument("--dry-run", action="store_true", help="only print what would be deleted")
    add_type(parser)
    add_cluster_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    since, kinds = parse_duration(options.since, "--since"), job_kinds(options.type)
    return run_in_session(options, partial(_prune, options, since, kinds))


async def _prune(options: argparse.Namespace, since: float, kinds: Any, session: Session) -> int:
    now = time.time()
    jobs = await list_job_objects(session.client, "" if options.all_namespaces else session.namespace, kinds)
    ends = [(job, ended_at(job.resource.kind, job.document)) for job in jobs]
    ages = [(job, now - end) for job, end in ends if end is not None and now - end >= since]
    if not ages:
        print("No job need to be deleted")
    for job, age in ages:
        where = f" in namespace {job.namespace}" if options.all_namespaces else ""
        verb = "Would delete" if options.dry_run else "Delete"
        print(f"{verb} {job.type} {job.name} with Age {short_duration(age)}{where}")
    if not options.dry_run:
        await remove(session, [job for job, _ in ages])
    return 0
