"""`understudy delete`: removes jobs of any kind, with their pods and all that was made beside them."""

import argparse
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from understudy.cli.complaint import BadInput
from understudy.cli.jobtypes import add_type
from understudy.cli.target import FAILED, Session, add_target, with_session

if TYPE_CHECKING:
    from understudy.cli.finding import Found

_ABOUT = """\
Delete jobs, whoever made them: this command, kubectl or an SDK. Their pods get SIGTERM and their
grace period; what was made for a job (services, config maps, a TensorBoard) goes with it.

Waits until the pods are gone. Nothing is deleted where one of the names is wrong."""

_EXAMPLES = """\
examples:
  understudy delete medium
  understudy delete first second -n research
  understudy delete train -T pytorch       where jobs of two types share a name
  understudy delete --all -T mpi           all MPIJobs of the namespace"""

LIMIT = "5m"
GONE = (404, 409)  # it is no more, or another one has its name now


def add_to(verbs: Any) -> None:
    summary = "delete jobs of any kind"
    parser: argparse.ArgumentParser = verbs.add_parser(
        "delete", aliases=["del"], help=summary, description=_ABOUT, epilog=_EXAMPLES
    )
    parser.add_argument("names", metavar="JOB", nargs="*", help="their names")
    parser.add_argument("--all", action="store_true", help="all jobs of the namespace")
    add_type(parser)
    add_wait(parser)
    add_target(parser)
    parser.set_defaults(run=run)


def add_wait(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--wait", metavar="true|false", choices=("true", "false"), nargs="?", const="true", default="true",
        help="whether to wait until the pods are gone (default: true)",
    )  # fmt: skip
    parser.add_argument("--timeout", metavar="TIME", default=LIMIT, help=f"how long, such as 90s (default: {LIMIT})")


def run(options: argparse.Namespace) -> int:
    from understudy.cli.durations import duration
    from understudy.cli.finding import kinds_of

    if bool(options.names) == options.all:
        raise BadInput("name the jobs to delete, or give --all" if not options.all else "--all takes no names")
    duration(options.timeout, "--timeout")
    kinds_of(options.type)
    return with_session(options, partial(_delete, options))


async def _delete(options: argparse.Namespace, session: Session) -> int:
    from understudy.cli.durations import duration
    from understudy.cli.finding import every_job, jobs_named, kinds_of

    kinds = kinds_of(options.type)
    if options.all:
        jobs = await every_job(session.client, session.namespace, kinds)
    else:
        jobs = await jobs_named(session.client, session.namespace, options.names, kinds)
    if not jobs:
        print(f"No job in namespace {session.namespace}")
    await remove(session, jobs)
    for job in jobs:
        print(f"{job.title} deleted", flush=True)
    if options.wait == "false" or not jobs:
        return 0
    return await gone(session, jobs, duration(options.timeout, "--timeout"))


async def remove(session: Session, jobs: Sequence["Found"]) -> None:
    """One after the other would be slow, and in no way safer."""
    import asyncio

    await asyncio.gather(*(_remove(session, job) for job in jobs))


async def _remove(session: Session, job: "Found") -> None:
    from understudy.ports import Refused

    try:
        # Said in so many words: of a batch/v1 Job the pods would stay otherwise.
        await session.client.delete(job.ref, uid=job.uid, propagation="Background")
    except Refused as error:
        if error.code not in GONE:
            raise


async def gone(session: Session, jobs: Sequence["Found"], limit: float) -> int:
    """Waits for the pods of these jobs to end."""
    import sys

    from understudy.cli.awaiting import TooLate, Which, none_left, until_pods

    namespaces = {job.namespace for job in jobs}
    which = Which(namespaces.pop() if len(namespaces) == 1 else "", frozenset(job.gang for job in jobs))
    try:
        await until_pods(session.client, which, none_left, limit)
    except TooLate as error:
        print(f"understudy: {error} to be gone", file=sys.stderr)
        return FAILED
    return 0
