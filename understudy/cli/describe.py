"""`understudy describe`: everything there is to say about one job."""

import argparse
from typing import Any

from understudy.cli.jobtypes import add_type
from understudy.cli.target import Session, add_target, with_session

_ABOUT = """\
Show all there is to know about a job: what it asks for and has, its conditions, its instances with their containers,
restarts and exit codes, what Understudy noted on it, why it is where it is, its last incidents, and its events."""

_EXAMPLES = """\
examples:
  understudy describe medium"""


def add_to(verbs: Any) -> None:
    parser: argparse.ArgumentParser = verbs.add_parser(
        "describe", help="show everything about a job", description=_ABOUT, epilog=_EXAMPLES
    )
    parser.add_argument("job", metavar="JOB")
    parser.add_argument("-o", "--output", choices=("wide", "json", "yaml", "name"), default="", help="form")
    add_type(parser)
    add_target(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    import time

    from understudy.cli.jobs.description import described, described_figures
    from understudy.cli.jobs.figures import print_as
    from understudy.cli.jobs.gathering import incidents_in
    from understudy.cli.jobs.happenings import events_of
    from understudy.cli.jobs.incidents import chosen
    from understudy.cli.jobs.reading import job_named
    from understudy.cli.jobs.tables import show

    async def work(session: Session) -> int:
        job = await job_named(session, options.job, options.type)
        events = await events_of(session.client, job)
        incidents = chosen(await incidents_in(session.client, job.namespace), [job.kind], job.name)
        now = time.time()
        if not print_as(options.output, described_figures(job, events, incidents, now), [job.full_name]):
            show(described(job, events, incidents, now))
        return 0

    return with_session(options, work)
