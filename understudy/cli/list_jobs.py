"""`understudy list`: every job there is, of whatever kind and whoever made it."""

import argparse
from typing import Any

from understudy.cli.jobtypes import add_type
from understudy.cli.target import Session, add_target, with_session

_ABOUT = """\
List the training jobs of a namespace: Job, JobSet, MPIJob, PyTorchJob, TFJob, XGBoostJob, PaddleJob,
JAXJob and TrainJob, whoever made them. What a job makes of itself, such as the Jobs of a JobSet, is a part
of it and not listed.

NODE is where the first instance runs."""

_EXAMPLES = """\
examples:
  understudy list
  understudy list -A -o wide          of all namespaces, with GPUs, preemptions and reasons
  understudy list -T mpijob -o name"""


def add_to(verbs: Any) -> None:
    parser: argparse.ArgumentParser = verbs.add_parser(
        "list", aliases=["ls"], help="list jobs of all kinds", description=_ABOUT, epilog=_EXAMPLES
    )
    parser.add_argument("-A", "--all-namespaces", action="store_true", help="jobs of all namespaces")
    parser.add_argument(
        "-o", "--output", choices=("wide", "json", "yaml", "name"), default="", help="form (default: a table)"
    )
    add_type(parser)
    add_target(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    import time

    from understudy.cli.jobs.figures import job_figures, print_as
    from understudy.cli.jobs.listing import in_short, in_width
    from understudy.cli.jobs.reading import all_jobs
    from understudy.cli.jobs.setbacks import setbacks_in
    from understudy.cli.jobs.tables import show

    async def work(session: Session) -> int:
        everywhere = options.all_namespaces
        jobs = await all_jobs(session, options.type, everywhere=everywhere)
        now = time.time()
        figures = [job_figures(job, now) for job in jobs]
        if print_as(options.output, {"jobs": figures}, [job.full_name for job in jobs]):
            return 0
        if options.output == "wide":
            setbacks = await setbacks_in(session.client, "" if everywhere else session.namespace)
            show(in_width(jobs, setbacks, now))
        else:
            show(in_short(jobs, now, everywhere=everywhere))
        return 0

    return with_session(options, work)
