"""`understudy suspend`: pauses jobs, so that they give up their seats and keep everything else."""

import argparse
from functools import partial
from typing import Any

from understudy.cli.errors import BadInput
from understudy.cli.input.times import parse_duration
from understudy.cli.options import VerbParser, add_cluster_options, add_type
from understudy.cli.queries.job_objects import JobObject, find_jobs, job_kinds
from understudy.cli.queries.suspension import SuspendState, suspend_state, suspension_patch
from understudy.cli.session import Session, run_in_session
from understudy.cli.verbs.jobs.delete import gone
from understudy.ports import PatchForm

ABOUT = """\
Suspend jobs: their pods get SIGTERM and their grace period, and go. The jobs stay, spend none of
their restarts, and wait until `understudy resume`; the scheduler does not resume them, not even
one that it had preempted and that would have come back by itself."""

EXAMPLES = """\
examples:
  understudy suspend medium
  understudy suspend medium --wait       until its pods are gone"""

LIMIT = "5m"


def add_flags(parser: VerbParser) -> None:
    add_jobs(parser, "wait until the pods are gone")
    parser.set_defaults(run=run)


def add_jobs(parser: argparse.ArgumentParser, wait: str) -> None:
    parser.add_argument("names", metavar="JOB", nargs="+", help="their names")
    add_type(parser)
    parser.add_argument("--wait", action="store_true", help=wait)
    parser.add_argument("--timeout", metavar="TIME", default=LIMIT, help=f"how long, such as 90s (default: {LIMIT})")
    add_cluster_options(parser)


def run(options: argparse.Namespace) -> int:
    limit, kinds = parse_duration(options.timeout, "--timeout"), job_kinds(options.type)
    return run_in_session(options, partial(_suspend, options, limit, kinds))


async def _suspend(options: argparse.Namespace, limit: float, kinds: Any, session: Session) -> int:
    jobs = await find_jobs(session.client, session.namespace, options.names, kinds)
    stands = {job.title: suspend_state(job) for job in jobs}  # of all of them, before the first is touched
    for job in jobs:
        print(await _one(session, job, stands[job.title]), flush=True)
    return await gone(session, jobs, limit) if options.wait else 0


async def _one(session: Session, job: JobObject, stand: Any) -> str:
    if stand is SuspendState.ENDED:
        raise BadInput(f"{job.title} has finished; there is nothing to suspend")
    if stand is SuspendState.SUSPENDED:
        return f"{job.title} is suspended already"
    await session.client.patch(job.ref, suspension_patch(job), form=PatchForm.MERGE)
    if stand is SuspendState.REQUEUED:
        return f"{job.title} suspended; it was preempted, and will not come back by itself any more"
    return f"{job.title} suspended"
