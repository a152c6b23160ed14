"""`understudy why`: why a job waits or ended, or the story of its last preemption or swap, in plain sentences."""

import argparse
import sys
import time

from understudy.cli.options import VerbParser, add_cluster_options, add_type
from understudy.cli.output.formats import print_as
from understudy.cli.output.tables import show, wrapped
from understudy.cli.queries.events import read_job_events
from understudy.cli.queries.jobs import read_job
from understudy.cli.queries.waiting import kueue_reasons, silent_scheduler_reasons
from understudy.cli.session import Session, run_in_session
from understudy.cli.views.events import event_figures
from understudy.cli.views.reasons import reason_sentences

ABOUT = """\
Say why a job is where it is: what it waits for and who holds that, how it ended, and the story of its last preemption
or swap, as far as events and conditions still tell."""

EXAMPLES = """\
examples:
  understudy why medium
  understudy why medium -o json"""


def add_flags(parser: VerbParser) -> None:
    parser.add_argument("job", metavar="JOB")
    parser.add_argument("-o", "--output", choices=("wide", "json", "yaml", "name"), default="", help="form")
    add_type(parser)
    add_cluster_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    async def work(session: Session) -> int:
        job = await read_job(session, options.job, options.type)
        events = await read_job_events(session.client, job)
        said = [
            *reason_sentences(job, events, time.time()),
            *await silent_scheduler_reasons(session.client, job, events),
        ]
        said += await kueue_reasons(session.client, job)
        figures = {"name": job.name, "namespace": job.namespace, "kind": job.kind, "status": job.status}
        figures |= {"reason": job.reason}
        value = {**figures, "says": said, "events": [event_figures(event) for event in events]}
        if not print_as(options.output, value, [job.full_name]):
            show(said if options.output == "wide" or not sys.stdout.isatty() else wrapped(said))
        return 0

    return run_in_session(options, work)
