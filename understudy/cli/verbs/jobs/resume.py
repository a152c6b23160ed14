"""`understudy resume`: lets suspended jobs go on, as soon as there is room for all of their pods."""

import argparse
import sys
from functools import partial
from typing import Any

from understudy.cli.input.times import parse_duration
from understudy.cli.options import VerbParser
from understudy.cli.queries.job_objects import JobObject, find_jobs, job_kinds
from understudy.cli.queries.pod_watch import PodSelection, WaitTimeout, wait_for_pods
from understudy.cli.queries.suspension import SuspendState, all_pods_run, ended_at, resumption_patch, suspend_state
from understudy.cli.session import FAILED, Session, run_in_session
from understudy.cli.verbs.jobs.suspend import add_jobs
from understudy.ports import PatchForm

ABOUT = """\
Resume suspended jobs. They have the place in line they had, and start when all of their pods fit.
A job that was preempted is not suspended: it comes back by itself."""

EXAMPLES = """\
examples:
  understudy resume medium
  understudy resume medium --wait        until all of it runs"""


def add_flags(parser: VerbParser) -> None:
    add_jobs(parser, "wait until all of their pods run")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    limit, kinds = parse_duration(options.timeout, "--timeout"), job_kinds(options.type)
    return run_in_session(options, partial(_resume, options, limit, kinds))


async def _resume(options: argparse.Namespace, limit: float, kinds: Any, session: Session) -> int:
    jobs = await find_jobs(session.client, session.namespace, options.names, kinds)
    stands = {job.title: suspend_state(job) for job in jobs}  # of all of them, before the first is touched
    for job in jobs:
        print(await _one(session, job, stands[job.title]), flush=True)
    return await _run_again(session, jobs, limit) if options.wait else 0


async def _one(session: Session, job: JobObject, stand: Any) -> str:
    match stand:
        case SuspendState.SUSPENDED:
            await session.client.patch(job.ref, resumption_patch(job), form=PatchForm.MERGE)
            return f"{job.title} resumed"
        case SuspendState.REQUEUED:
            return f"{job.title} is not suspended: it was preempted, and comes back by itself when there is room"
        case SuspendState.ENDED:
            return f"{job.title} is not suspended: it has finished"
        case _:
            return f"{job.title} is not suspended"


async def _run_again(session: Session, jobs: list[JobObject], limit: float) -> int:
    for job in jobs:
        if ended_at(job.resource.kind, job.document) is not None:
            continue
        try:
            which = PodSelection(job.namespace, frozenset({job.gang}))
            await wait_for_pods(session.client, which, partial(all_pods_run, job), limit)
        except WaitTimeout as error:
            print(f"understudy: {job.title}: {error} to run; `understudy why {job.name}` tells why", file=sys.stderr)
            return FAILED
    return 0
