"""`understudy incidents`: what disrupted jobs, how it was repaired, and where the seconds went."""

import argparse
from typing import Any

from understudy.cli.jobtypes import add_type
from understudy.cli.target import FAILED, Session, add_target, with_session

_ABOUT = """\
List the incidents of a namespace, or of one job: what was lost, how it was repaired, and when each step of the repair
was reached, in seconds from the failure. Incidents outlive their jobs; a cluster keeps the newest 500.

DETECTED is when the scheduler saw it, DECIDED when it knew what to do, VICTIMS OUT when less important jobs had left
their seats, SEATED when all members had seats, RUNNING when all of them ran again. TOTAL counts from the failure."""

_EXAMPLES = """\
examples:
  understudy incidents
  understudy incidents train -o wide
  understudy incidents -A -o json"""


def add_to(verbs: Any) -> None:
    parser: argparse.ArgumentParser = verbs.add_parser(
        "incidents", help="show what disrupted jobs, and how fast they recovered", description=_ABOUT, epilog=_EXAMPLES
    )
    parser.add_argument("job", metavar="JOB", nargs="?", help="incidents of this job, also of one that is gone")
    parser.add_argument("-A", "--all-namespaces", action="store_true", help="incidents of all namespaces")
    parser.add_argument(
        "-o", "--output", choices=("wide", "json", "yaml", "name"), default="", help="form (default: a table)"
    )
    add_type(parser)
    add_target(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    import sys
    import time

    from understudy.cli.complaint import BadInput
    from understudy.cli.elsewhere import NOT_INSTALLED, is_embedded, is_installed
    from understudy.cli.finding import jobs_named, kinds_of
    from understudy.cli.jobs.figures import print_as
    from understudy.cli.jobs.gathering import incidents_in
    from understudy.cli.jobs.incidents import chosen, incident_lines, incidents_figures, nothing
    from understudy.cli.jobs.tables import show

    if options.job is not None and options.all_namespaces:
        raise BadInput("--all-namespaces: a job is in one namespace; leave out JOB, or name the namespace with -n")

    async def work(session: Session) -> int:
        space = "" if options.all_namespaces else session.namespace
        kinds = {resource.kind for resource in kinds_of(options.type)}
        found = chosen(await incidents_in(session.client, space), kinds, options.job)
        if not found and not is_embedded(session.client) and not await is_installed(session.client):
            print(f"understudy: {NOT_INSTALLED}", file=sys.stderr)
            return FAILED
        if options.job is not None and not found:  # where there is no such job either, that is what is wrong
            await jobs_named(session.client, session.namespace, [options.job], kinds_of(options.type))
        if print_as(options.output, incidents_figures(found), [f"incident/{one.name}" for one in found]):
            return 0
        wide = options.output == "wide"
        lines = incident_lines(found, time.time(), wide=wide, everywhere=options.all_namespaces)
        show(lines if found else [nothing(options.job, space)])
        return 0

    return with_session(options, work)
