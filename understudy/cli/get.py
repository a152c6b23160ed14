"""`understudy get`: how one job is doing, and each of its instances."""

import argparse
from typing import Any

from understudy.cli.jobtypes import add_type
from understudy.cli.target import Session, add_target, with_session

_ABOUT = """\
Show one job: its status, priority, how long it has trained, and its instances (pods) with the node each
of them runs on.

The words for STATUS: PENDING (it waits for seats, or starts), RUNNING, SUCCEEDED, FAILED, QUEUING (it had to
make room for others and goes on by itself), SUSPENDED (its owner paused it)."""

_EXAMPLES = """\
examples:
  understudy get medium
  understudy get medium -e               with its events, and those of its pods
  understudy get medium -T mpijob        where jobs of several kinds have that name
  understudy get medium -o json"""


def add_to(verbs: Any) -> None:
    parser: argparse.ArgumentParser = verbs.add_parser(
        "get", help="show a job and its instances", description=_ABOUT, epilog=_EXAMPLES
    )
    parser.add_argument("job", metavar="JOB")
    parser.add_argument("-e", "--events", action="store_true", help="show events too")
    parser.add_argument("-g", "--gpus", action="store_true", help="show which instance holds which accelerators")
    parser.add_argument(
        "-o", "--output", choices=("wide", "json", "yaml", "name"), default="", help="form (default: a table)"
    )
    add_type(parser)
    add_target(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    import time

    from understudy.cli.jobs.figures import job_figures, print_as
    from understudy.cli.jobs.happenings import event_figures, events_block, events_of
    from understudy.cli.jobs.portrait import accelerator_block, portrait
    from understudy.cli.jobs.reading import job_named
    from understudy.cli.jobs.tables import show

    async def work(session: Session) -> int:
        job = await job_named(session, options.job, options.type)
        events = await events_of(session.client, job) if options.events else []
        now = time.time()
        told = {"events": [event_figures(event) for event in events]} if options.events else {}
        if print_as(options.output, {**job_figures(job, now), **told}, [job.full_name]):
            return 0
        lines = portrait(job, now, wide=options.output == "wide")
        if options.gpus:
            lines += accelerator_block(job)
        if options.events:
            lines += events_block(events, now)
        show(lines)
        return 0

    return with_session(options, work)
