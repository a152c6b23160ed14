"""`understudy delete`: removes jobs of any kind, with their pods and all that was made beside them."""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from functools import partial
from http import HTTPStatus

from understudy.cli.errors import BadInput
from understudy.cli.input.times import parse_duration
from understudy.cli.options import VerbParser, add_cluster_options, add_type
from understudy.cli.queries.job_objects import JobObject, find_jobs, job_kinds, list_job_objects
from understudy.cli.queries.pod_watch import PodSelection, WaitTimeout, no_pods, wait_for_pods
from understudy.cli.session import FAILED, Session, run_in_session
from understudy.ports import Refused

ABOUT = """\
Delete jobs, made by this command, kubectl or an SDK. Their pods get SIGTERM and their
grace period; what was made for a job (services, config maps, a TensorBoard) goes with it.

Waits until the pods are gone. Nothing is deleted where one of the names is wrong."""

EXAMPLES = """\
examples:
  understudy delete medium
  understudy delete first second -n research
  understudy delete train -T pytorch       where jobs of two types share a name
  understudy delete --all -T mpi           all MPIJobs of the namespace"""

LIMIT = "5m"
GONE = (HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT)  # it is no more, or another one has its name now


def add_flags(parser: VerbParser) -> None:
    parser.add_argument("names", metavar="JOB", nargs="*", help="their names")
    parser.add_argument("--all", action="store_true", help="all jobs of the namespace")
    add_type(parser)
    add_wait(parser)
    add_cluster_options(parser)
    parser.set_defaults(run=run)


def add_wait(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--wait", metavar="true|false", choices=("true", "false"), nargs="?", const="true", default="true",
        help="whether to wait until the pods are gone (default: true)",
    )  # fmt: skip
    parser.add_argument("--timeout", metavar="TIME", default=LIMIT, help=f"how long, such as 90s (default: {LIMIT})")


def run(options: argparse.Namespace) -> int:
    if bool(options.names) == options.all:
        raise BadInput("name the jobs to delete, or give --all" if not options.all else "--all takes no names")
    parse_duration(options.timeout, "--timeout")
    job_kinds(options.type)
    return run_in_session(options, partial(_delete, options))


async def _delete(options: argparse.Namespace, session: Session) -> int:
    kinds = job_kinds(options.type)
    if options.all:
        jobs = await list_job_objects(session.client, session.namespace, kinds)
    else:
        jobs = await find_jobs(session.client, session.namespace, options.names, kinds)
    if not jobs:
        print(f"No job in namespace {session.namespace}")
    await remove(session, jobs)
    for job in jobs:
        print(f"{job.title} deleted", flush=True)
    if options.wait == "false" or not jobs:
        return 0
    return await gone(session, jobs, parse_duration(options.timeout, "--timeout"))


async def remove(session: Session, jobs: Sequence[JobObject]) -> None:
    """Deletes all jobs at once: one after the other would be slow, and in no way safer."""
    await asyncio.gather(*(_remove(session, job) for job in jobs))


async def _remove(session: Session, job: JobObject) -> None:
    try:
        # Said in so many words: of a batch/v1 Job the pods would stay otherwise.
        await session.client.delete(job.ref, uid=job.uid, propagation="Background")
    except Refused as error:
        if error.code not in GONE:
            raise


async def gone(session: Session, jobs: Sequence[JobObject], limit: float) -> int:
    """Waits for the pods of these jobs to end."""
    namespaces = {job.namespace for job in jobs}
    which = PodSelection(namespaces.pop() if len(namespaces) == 1 else "", frozenset(job.gang for job in jobs))
    try:
        await wait_for_pods(session.client, which, no_pods, limit)
    except WaitTimeout as error:
        print(f"understudy: {error} to be gone", file=sys.stderr)
        return FAILED
    return 0
