"""`understudy why`: why a job waits or ended, or the story of its last preemption or swap, in plain sentences."""

import argparse
from typing import Any

from understudy.cli.jobtypes import add_type
from understudy.cli.target import Session, add_target, with_session

_ABOUT = """\
Say why a job is where it is: what it waits for and who holds that, how it ended, and the story of its last preemption
or swap, as far as events and conditions still tell."""

_EXAMPLES = """\
examples:
  understudy why medium
  understudy why medium -o json"""


def add_to(verbs: Any) -> None:
    parser: argparse.ArgumentParser = verbs.add_parser(
        "why", help="say why a job waits, and how it got there", description=_ABOUT, epilog=_EXAMPLES
    )
    parser.add_argument("job", metavar="JOB")
    parser.add_argument("-o", "--output", choices=("wide", "json", "yaml", "name"), default="", help="form")
    add_type(parser)
    add_target(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    import sys
    import time

    from understudy.cli.jobs.figures import print_as
    from understudy.cli.jobs.happenings import event_figures, events_of
    from understudy.cli.jobs.queues import kueue_says
    from understudy.cli.jobs.reading import job_named
    from understudy.cli.jobs.reasons import sentences
    from understudy.cli.jobs.tables import show, wrapped
    from understudy.cli.jobs.unheard import unheard

    async def work(session: Session) -> int:
        job = await job_named(session, options.job, options.type)
        events = await events_of(session.client, job)
        said = [*sentences(job, events, time.time()), *await unheard(session.client, job, events)]
        said += await kueue_says(session.client, job)
        figures = {"name": job.name, "namespace": job.namespace, "kind": job.kind, "status": job.status}
        figures |= {"reason": job.reason}
        value = {**figures, "says": said, "events": [event_figures(event) for event in events]}
        if not print_as(options.output, value, [job.full_name]):
            show(said if options.output == "wide" or not sys.stdout.isatty() else wrapped(said))
        return 0

    return with_session(options, work)
