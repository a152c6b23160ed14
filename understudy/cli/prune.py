"""`understudy prune`: deletes jobs that finished a while ago, and never one that runs, waits or is suspended."""

import argparse
from functools import partial
from typing import Any

from understudy.cli.jobtypes import add_type
from understudy.cli.target import Session, add_target, with_session

_ABOUT = """\
Delete the jobs that have finished, well or not, longer ago than --since. Jobs that run, wait
or are suspended stay, however old they are."""

_EXAMPLES = """\
examples:
  understudy prune --since 10h --dry-run    what would go
  understudy prune --since 3d -A            in all namespaces"""


def add_to(verbs: Any) -> None:
    summary = "delete jobs that finished a while ago"
    parser: argparse.ArgumentParser = verbs.add_parser("prune", help=summary, description=_ABOUT, epilog=_EXAMPLES)
    parser.add_argument("--since", metavar="TIME", required=True, help="how long ago at least, such as 90m, 10h or 3d")
    parser.add_argument("-A", "--all-namespaces", action="store_true", help="in all namespaces")
    parser.add_argument("--dry-run", action="store_true", help="only print what would be deleted")
    add_type(parser)
    add_target(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from understudy.cli.durations import duration
    from understudy.cli.finding import kinds_of

    since, kinds = duration(options.since, "--since"), kinds_of(options.type)
    return with_session(options, partial(_prune, options, since, kinds))


async def _prune(options: argparse.Namespace, since: float, kinds: Any, session: Session) -> int:
    import time

    from understudy.cli.delete import remove
    from understudy.cli.durations import short
    from understudy.cli.ending import ended_at
    from understudy.cli.finding import every_job

    now = time.time()
    jobs = await every_job(session.client, "" if options.all_namespaces else session.namespace, kinds)
    ages = [(job, now - end) for job in jobs if (end := ended_at(job.document)) is not None and now - end >= since]
    if not ages:
        print("No job need to be deleted")
    for job, age in ages:
        where = f" in namespace {job.namespace}" if options.all_namespaces else ""
        print(f"{'Would delete' if options.dry_run else 'Delete'} {job.type} {job.name} with Age {short(age)}{where}")
    if not options.dry_run:
        await remove(session, [job for job, _ in ages])
    return 0
