"""`understudy events`: what happened to a job and its pods, in order."""

import argparse
from typing import Any

from understudy.cli.jobtypes import add_type
from understudy.cli.target import Session, add_target, with_session

_ABOUT = """\
Show the events of a job in the order they happened: those of the job itself, of what it made of itself, and of its
pods, also of those that are gone. Without JOB: the events of all jobs of the namespace."""

_EXAMPLES = """\
examples:
  understudy events medium
  understudy events -o json"""


def add_to(verbs: Any) -> None:
    parser: argparse.ArgumentParser = verbs.add_parser(
        "events", help="show what happened to a job and its pods", description=_ABOUT, epilog=_EXAMPLES
    )
    parser.add_argument("job", metavar="JOB", nargs="?")
    parser.add_argument("-A", "--all-namespaces", action="store_true", help="jobs of all namespaces")
    parser.add_argument("-o", "--output", choices=("wide", "json", "yaml", "name"), default="", help="form")
    add_type(parser)
    add_target(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    import time

    from understudy.cli.complaint import BadInput
    from understudy.cli.jobs.figures import print_as
    from understudy.cli.jobs.gathering import events_in
    from understudy.cli.jobs.happenings import belonging_to_any, event_figures, event_lines, events_of
    from understudy.cli.jobs.reading import all_jobs, job_named
    from understudy.cli.jobs.tables import show

    if options.job is not None and options.all_namespaces:
        raise BadInput("--all-namespaces: a job is in one namespace; leave out JOB, or name the namespace with -n")

    async def work(session: Session) -> int:
        if options.job is not None:
            events = await events_of(session.client, await job_named(session, options.job, options.type))
        else:
            jobs = await all_jobs(session, options.type, everywhere=options.all_namespaces)
            space = "" if options.all_namespaces else session.namespace
            events = belonging_to_any(jobs, await events_in(session.client, space))
        figures = {"events": [event_figures(event) for event in events]}
        if not print_as(options.output, figures, [f"event/{event.metadata.name}" for event in events]):
            show(event_lines(events, time.time(), wide=options.output == "wide") if events else ["No events."])
        return 0

    return with_session(options, work)
