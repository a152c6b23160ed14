"""`understudy incidents`: what disrupted jobs, how it was repaired, and where the seconds went."""

import argparse
import sys
import time

from understudy.cli.errors import BadInput
from understudy.cli.options import VerbParser, add_all_namespaces, add_cluster_options, add_type
from understudy.cli.output.formats import print_as
from understudy.cli.output.tables import show
from understudy.cli.queries.installation import NOT_INSTALLED, is_embedded, is_installed
from understudy.cli.queries.job_objects import find_jobs, job_kinds
from understudy.cli.queries.lists import list_incidents
from understudy.cli.session import FAILED, Session, run_in_session
from understudy.cli.views.incidents import incident_lines, incidents_figures, no_incidents_text, select_incidents

ABOUT = """\
List the incidents of a namespace, or of one job: what was lost, how it was repaired, and when each step of the repair
was reached, in seconds from the failure. Incidents outlive their jobs; a cluster keeps the newest 500.

DETECTED is when the scheduler saw it, DECIDED when it knew what to do, VICTIMS OUT when less important jobs had left
their seats, SEATED when all members had seats, RUNNING when all of them ran again. TOTAL counts from the failure."""

EXAMPLES = """\
examples:
  understudy incidents
  understudy incidents train -o wide
  understudy incidents -A -o json"""


def add_flags(parser: VerbParser) -> None:
    parser.add_argument("job", metavar="JOB", nargs="?", help="incidents of this job, also of one that is gone")
    add_all_namespaces(parser, "incidents of")
    parser.add_argument(
        "-o", "--output", choices=("wide", "json", "yaml", "name"), default="", help="form (default: a table)"
    )
    add_type(parser)
    add_cluster_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    if options.job is not None and options.all_namespaces:
        raise BadInput("--all-namespaces: a job is in one namespace; leave out JOB, or name the namespace with -n")

    async def work(session: Session) -> int:
        space = "" if options.all_namespaces else session.namespace
        kinds = {resource.kind for resource in job_kinds(options.type)}
        found = select_incidents(await list_incidents(session.client, space), kinds, options.job)
        if not found and not is_embedded(session.client) and not await is_installed(session.client):
            print(f"understudy: {NOT_INSTALLED}", file=sys.stderr)
            return FAILED
        if options.job is not None and not found:  # where there is no such job either, that is what is wrong
            await find_jobs(session.client, session.namespace, [options.job], job_kinds(options.type))
        if print_as(options.output, incidents_figures(found), [f"incident/{one.name}" for one in found]):
            return 0
        wide = options.output == "wide"
        lines = incident_lines(found, time.time(), wide=wide, everywhere=options.all_namespaces)
        show(lines if found else [no_incidents_text(options.job, space)])
        return 0

    return run_in_session(options, work)
