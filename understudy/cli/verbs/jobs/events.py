"""`understudy events`: what happened to a job and its pods, in order."""

import argparse
import time

from understudy.cli.errors import BadInput
from understudy.cli.options import VerbParser, add_all_namespaces, add_cluster_options, add_type
from understudy.cli.output.formats import print_as
from understudy.cli.output.tables import show
from understudy.cli.queries.events import events_of_jobs, read_job_events
from understudy.cli.queries.jobs import read_job, read_jobs
from understudy.cli.queries.lists import list_events
from understudy.cli.session import Session, run_in_session
from understudy.cli.views.events import event_figures, event_lines

ABOUT = """\
Show the events of a job in the order they happened: those of the job itself, of what it made of itself, and of its
pods, also of those that are gone. Without JOB: the events of all jobs of the namespace."""

EXAMPLES = """\
examples:
  understudy events medium
  understudy events -o json"""


def add_flags(parser: VerbParser) -> None:
    parser.add_argument("job", metavar="JOB", nargs="?")
    add_all_namespaces(parser, "jobs of")
    parser.add_argument("-o", "--output", choices=("wide", "json", "yaml", "name"), default="", help="form")
    add_type(parser)
    add_cluster_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    if options.job is not None and options.all_namespaces:
        raise BadInput("--all-namespaces: a job is in one namespace; leave out JOB, or name the namespace with -n")

    async def work(session: Session) -> int:
        if options.job is not None:
            events = await read_job_events(session.client, await read_job(session, options.job, options.type))
        else:
            jobs = await read_jobs(session, options.type, everywhere=options.all_namespaces)
            space = "" if options.all_namespaces else session.namespace
            events = events_of_jobs(jobs, await list_events(session.client, space))
        figures = {"events": [event_figures(event) for event in events]}
        if not print_as(options.output, figures, [f"event/{event.metadata.name}" for event in events]):
            show(event_lines(events, time.time(), wide=options.output == "wide") if events else ["No events."])
        return 0

    return run_in_session(options, work)
