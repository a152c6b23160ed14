"""`understudy suspend`: pauses jobs, so that they give up their seats and keep everything else."""

import argparse
from functools import partial
from typing import TYPE_CHECKING, Any

from understudy.cli.complaint import BadInput
from understudy.cli.jobtypes import add_type
from understudy.cli.target import Session, add_target, with_session

if TYPE_CHECKING:
    from understudy.cli.finding import Found

_ABOUT = """\
Suspend jobs: their pods get SIGTERM and their grace period, and go. The jobs stay, spend none of
their restarts, and wait until `understudy resume`; the scheduler does not resume them, not even
one that it had preempted and that would have come back by itself."""

_EXAMPLES = """\
examples:
  understudy suspend medium
  understudy suspend medium --wait       until its pods are gone"""

LIMIT = "5m"


def add_to(verbs: Any) -> None:
    summary = "pause jobs until they are resumed"
    parser: argparse.ArgumentParser = verbs.add_parser("suspend", help=summary, description=_ABOUT, epilog=_EXAMPLES)
    add_jobs(parser, "wait until the pods are gone")
    parser.set_defaults(run=run)


def add_jobs(parser: argparse.ArgumentParser, wait: str) -> None:
    parser.add_argument("names", metavar="JOB", nargs="+", help="their names")
    add_type(parser)
    parser.add_argument("--wait", action="store_true", help=wait)
    parser.add_argument("--timeout", metavar="TIME", default=LIMIT, help=f"how long, such as 90s (default: {LIMIT})")
    add_target(parser)


def run(options: argparse.Namespace) -> int:
    from understudy.cli.durations import duration
    from understudy.cli.finding import kinds_of

    limit, kinds = duration(options.timeout, "--timeout"), kinds_of(options.type)
    return with_session(options, partial(_suspend, options, limit, kinds))


async def _suspend(options: argparse.Namespace, limit: float, kinds: Any, session: Session) -> int:
    from understudy.cli.delete import gone
    from understudy.cli.finding import jobs_named
    from understudy.cli.pausing import stand_of

    jobs = await jobs_named(session.client, session.namespace, options.names, kinds)
    stands = {job.title: stand_of(job) for job in jobs}  # of all of them, before the first is touched
    for job in jobs:
        print(await _one(session, job, stands[job.title]), flush=True)
    return await gone(session, jobs, limit) if options.wait else 0


async def _one(session: Session, job: "Found", stand: Any) -> str:
    from understudy.cli.pausing import Stand, suspension
    from understudy.ports import PatchForm

    if stand is Stand.ENDED:
        raise BadInput(f"{job.title} has finished; there is nothing to suspend")
    if stand is Stand.SUSPENDED:
        return f"{job.title} is suspended already"
    await session.client.patch(job.ref, suspension(job), form=PatchForm.MERGE)
    if stand is Stand.REQUEUED:
        return f"{job.title} suspended; it was preempted, and will not come back by itself any more"
    return f"{job.title} suspended"
