"""`understudy resume`: lets suspended jobs go on, as soon as there is room for all of their pods."""

import argparse
from functools import partial
from typing import TYPE_CHECKING, Any

from understudy.cli.suspend import add_jobs
from understudy.cli.target import FAILED, Session, with_session

if TYPE_CHECKING:
    from understudy.cli.finding import Found

_ABOUT = """\
Resume suspended jobs. They have the place in line they had, and start when all of their pods fit.
A job that was preempted is not suspended: it comes back by itself."""

_EXAMPLES = """\
examples:
  understudy resume medium
  understudy resume medium --wait        until all of it runs"""


def add_to(verbs: Any) -> None:
    summary = "let suspended jobs go on"
    parser: argparse.ArgumentParser = verbs.add_parser("resume", help=summary, description=_ABOUT, epilog=_EXAMPLES)
    add_jobs(parser, "wait until all of their pods run")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from understudy.cli.durations import duration
    from understudy.cli.finding import kinds_of

    limit, kinds = duration(options.timeout, "--timeout"), kinds_of(options.type)
    return with_session(options, partial(_resume, options, limit, kinds))


async def _resume(options: argparse.Namespace, limit: float, kinds: Any, session: Session) -> int:
    from understudy.cli.finding import jobs_named
    from understudy.cli.pausing import stand_of

    jobs = await jobs_named(session.client, session.namespace, options.names, kinds)
    stands = {job.title: stand_of(job) for job in jobs}  # of all of them, before the first is touched
    for job in jobs:
        print(await _one(session, job, stands[job.title]), flush=True)
    return await _run_again(session, jobs, limit) if options.wait else 0


async def _one(session: Session, job: "Found", stand: Any) -> str:
    from understudy.cli.pausing import Stand, resumption
    from understudy.ports import PatchForm

    match stand:
        case Stand.SUSPENDED:
            await session.client.patch(job.ref, resumption(job), form=PatchForm.MERGE)
            return f"{job.title} resumed"
        case Stand.REQUEUED:
            return f"{job.title} is not suspended: it was preempted, and comes back by itself when there is room"
        case Stand.ENDED:
            return f"{job.title} is not suspended: it has finished"
        case _:
            return f"{job.title} is not suspended"


async def _run_again(session: Session, jobs: list["Found"], limit: float) -> int:
    import sys

    from understudy.cli.awaiting import TooLate, Which, until_pods
    from understudy.cli.ending import ended_at
    from understudy.cli.pausing import all_run

    for job in jobs:
        if ended_at(job.document) is not None:
            continue
        try:
            which = Which(job.namespace, frozenset({job.gang}))
            await until_pods(session.client, which, partial(all_run, job), limit)
        except TooLate as error:
            print(f"understudy: {job.title}: {error} to run; `understudy why {job.name}` tells why", file=sys.stderr)
            return FAILED
    return 0
