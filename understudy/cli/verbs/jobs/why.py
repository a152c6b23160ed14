"""`understudy why`: why a job waits or ended, or the story of its last preemption or swap, in plain sentences."""

import argparse
import sys
import time
from collections.abc import Sequence
from urllib.parse import urlencode

from understudy.cli.options import VerbParser, add_cluster_options, add_type
from understudy.cli.output.formats import print_as
from understudy.cli.output.tables import show, wrapped
from understudy.cli.queries.events import read_job_events
from understudy.cli.queries.jobs import JobSummary, read_job
from understudy.cli.queries.waiting import kueue_reasons, silent_scheduler_reasons
from understudy.cli.session import Session, run_in_session
from understudy.cli.views.events import event_figures
from understudy.cli.views.findings import Finding, find_causes
from understudy.cli.views.reasons import reason_sentences
from understudy.client import KubeClient
from understudy.objects.resources import PODS
from understudy.ports import Ref, Refused, Unreachable

ABOUT = """\
Say why a job is where it is: what it waits for and who holds that, how it ended, and the story of its last preemption
or swap, as far as events and conditions still tell."""

EXAMPLES = """\
examples:
  understudy why medium
  understudy why medium -o json"""
_LOG_LINES, _LONGEST_LINE = 20, 300  # what is read of a container's log, and shown of its last line


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
        causes = find_causes(job, events)
        said = [
            *reason_sentences(job, events, time.time(), causes),
            *await silent_scheduler_reasons(session.client, job, events),
            *await kueue_reasons(session.client, job),
            *await cause_sentences(session, job, causes),
        ]
        figures: dict[str, object] = {
            "name": job.name,
            "namespace": job.namespace,
            "kind": job.kind,
            "status": job.status,
        }
        figures |= {"reason": job.reason, "causes": [cause_figures(cause) for cause in causes]}
        value = {**figures, "says": said, "events": [event_figures(event) for event in events]}
        if not print_as(options.output, value, [job.full_name]):
            show(said if options.output == "wide" or not sys.stdout.isatty() else wrapped(said))
        return 0

    return run_in_session(options, work)


async def cause_sentences(session: Session, job: JobSummary, causes: Sequence[Finding]) -> list[str]:
    """The problem, the last line that the program printed, and the fix."""
    said = []
    for cause in causes:
        said.append(cause.sentence)
        words = await last_line(session.client, job.namespace, cause.pod, cause.container) if cause.container else ""
        if words:
            said.append(f"The last line it printed: {words}")
        said.append(cause.help)
    return said


async def last_line(client: KubeClient, namespace: str, pod: str, container: str) -> str:
    """The last line, not blank, that a container printed. Empty where there is no log, or it cannot be read."""
    path = Ref(PODS, namespace, pod).path("log")
    query = urlencode({"container": container, "tailLines": _LOG_LINES})
    log = b""
    try:
        async for piece in client.stream(f"{path}?{query}"):
            log += piece
    except (Refused, Unreachable):
        return ""
    lines = [line.strip() for line in log.decode(errors="replace").splitlines()]
    return next((line for line in reversed(lines) if line), "")[:_LONGEST_LINE]


def cause_figures(cause: Finding) -> dict[str, object]:
    return {"cause": cause.cause, "says": cause.sentence, "help": cause.help, "pod": cause.pod}
