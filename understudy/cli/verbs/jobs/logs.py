"""`understudy logs`: prints the log of an instance of a job."""

import argparse
import sys
import time
from http import HTTPStatus
from urllib.parse import urlencode

import msgspec

from understudy.cli.errors import BadInput
from understudy.cli.input.times import parse_duration, parse_time, rfc3339, short_duration
from understudy.cli.options import VerbParser, add_cluster_options, add_type
from understudy.cli.queries.container_states import last_end_of
from understudy.cli.queries.ended_pods import log_path, with_history
from understudy.cli.queries.events import read_job_events
from understudy.cli.queries.instance_choice import (
    choose_container,
    choose_ended,
    choose_instance,
    kubelet_errors,
    previous_attempt,
)
from understudy.cli.queries.instances import EndedAttempt, Instance
from understudy.cli.queries.jobs import JobSummary, read_job
from understudy.cli.queries.lists import pod_selectors
from understudy.cli.queries.objects import PodInfo
from understudy.cli.session import FAILED, Session, run_in_session
from understudy.cli.views.findings import find_causes
from understudy.objects.resources import PODS
from understudy.ports import ChangeType, Ref, Refused

ABOUT = """\
Print the log of a job's first instance (its launcher or master, else the one with index 0), or of the instance
that -i names. On an embedded cluster the logs of attempts that have ended stay with the job: of a job without
pods, such as one that is QUEUING, the log of the last attempt is printed."""
EXAMPLES = """\
examples:
  understudy logs medium -f                   as it comes; waits until the instance has started
  understudy logs medium -i medium-worker-0 --tail 20
  understudy logs medium -i worker-0 --since 5m --timestamps
  understudy logs medium --previous           of the attempt before this one
  understudy logs medium --attempt 1          of the first attempt"""


def add_flags(parser: VerbParser) -> None:
    add = parser.add_argument
    add("job", metavar="JOB")
    add("-f", "--follow", action="store_true", help="go on until the instance ends")
    add("-i", "--instance", metavar="NAME", help="an instance, as `understudy get` lists them; worker-0 will do")
    add("-c", "--container", metavar="NAME", help="a container of the instance (default: its first)")
    add("-t", "--tail", metavar="N", type=int, help="only the last lines")
    add("--since", metavar="TIME", help="only what is newer than this, such as 5s, 2m or 3h")
    add("--since-time", metavar="TIME", help="only what came after this moment (RFC 3339)")
    add("--timestamps", action="store_true", help="the time before every line")
    which = parser.add_mutually_exclusive_group().add_argument
    which("-p", "--previous", action="store_true", help="of the attempt before the last")
    which("--attempt", metavar="N", type=int, help="of this attempt of the instance, the first being 1")
    add_type(parser)
    add_cluster_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    wanted = LogRequest(
        instance=options.instance,
        container=options.container,
        follow=options.follow,
        previous=options.previous,
        attempt=options.attempt,
        query=log_query(options),
    )

    async def work(session: Session) -> int:
        return await print_log(session, (options.job, options.type), wanted)

    return run_in_session(options, work)


class LogRequest(msgspec.Struct, frozen=True, kw_only=True):
    instance: str | None
    container: str | None
    follow: bool
    previous: bool
    attempt: int | None
    query: dict[str, str]


def log_query(options: argparse.Namespace) -> dict[str, str]:
    query: dict[str, str] = {}
    if options.tail is not None:
        if options.tail < 0:
            raise BadInput(f"--tail {options.tail}: write how many lines, 0 or more")
        query["tailLines"] = str(options.tail)
    if options.since is not None and options.since_time is not None:
        raise BadInput("--since and --since-time both say from when on: give one of them")
    if options.since is not None:
        query["sinceSeconds"] = str(max(1, round(parse_duration(options.since, "--since"))))
    if options.since_time is not None:
        query["sinceTime"] = rfc3339(parse_time(options.since_time, "--since-time"))
    if options.timestamps:
        query["timestamps"] = "true"
    return query


async def print_log(session: Session, named: tuple[str, str | None], wanted: LogRequest) -> int:
    job = await read_job(session, *named)
    instance = choose_instance(job, wanted.instance)
    while wanted.follow and (instance is None or _is_pending(instance)) and not job.finished:
        await _wait_for_start(session, job, instance)
        job = await read_job(session, *named)
        instance = choose_instance(job, wanted.instance)
    job = await with_history(session.client, job)
    ended = choose_ended(job, wanted.instance)  # of the instance's place, or of the last attempt where it has no pod
    if wanted.attempt is not None:
        return await _print_attempt(session, job, (instance, ended), wanted)
    if wanted.previous and (instance is None or not instance.restarts):
        return await _print_previous(session, job, (instance, ended), wanted)
    if instance is None and not ended:
        return _fail(f"{job.name} has no instances{_reason_suffix(job)}{await _explain(session, job, '')}")
    if instance is None or (_is_pending(instance) and not instance.node and ended):
        return await _print_ended(session, job, ended[-1], wanted)
    return await _print(session, job, instance, wanted, previous=wanted.previous)


Attempts = tuple[Instance | None, list[EndedAttempt]]  # the pod that is there, and those that are gone, oldest first


async def _print_attempt(session: Session, job: JobSummary, attempts: Attempts, wanted: LogRequest) -> int:
    now, ended = attempts
    newest = ended[-1].number + 1 if ended else 1
    if now is not None and wanted.attempt == newest:
        return await _print(session, job, now, wanted, previous=False)
    for one in ended:
        if one.number == wanted.attempt:
            return await _print_ended(session, job, one, wanted)
    known = [str(one.number) for one in ended] + ([str(newest)] if now is not None else [])
    raise BadInput(f"--attempt {wanted.attempt}: {job.name} has the logs of attempts {', '.join(known) or 'none'}")


async def _print_previous(session: Session, job: JobSummary, attempts: Attempts, wanted: LogRequest) -> int:
    """Prints the log of the previous attempt: of a pod that still exists, or of one that is gone."""
    now, ended = attempts
    before = previous_attempt(job, now) if now is not None else None
    if before is not None:
        return await _print(session, job, before, wanted, previous=False)
    gone = ended if now is not None else ended[:-1]
    if gone:
        return await _print_ended(session, job, gone[-1], wanted)
    name = now.name if now is not None else ended[-1].instance.name if ended else job.name
    return _fail(f"{name} is the first attempt: there is none before it")


async def _print_ended(session: Session, job: JobSummary, ended: EndedAttempt, wanted: LogRequest) -> int:
    """The pod is gone, its log is not. What is printed besides the log goes to stderr."""
    one = ended.instance
    container = choose_container(one, wanted.container or _failed_init_container(one))
    ago = f", {short_duration(time.time() - one.ended)} ago" if one.ended is not None else ""
    code = f" with exit code {one.exit_code}" if one.exit_code is not None else ""
    said = f"this is attempt {ended.number} of {one.name}, which ended{code} on {one.node}{ago}"
    print(f"understudy: {job.name} is {job.status}; {said}", file=sys.stderr)
    try:
        await _stream(session, f"{log_path(job, ended)}?{urlencode({'container': container, **wanted.query})}")
    except Refused as error:
        return _fail(error.message)
    return 0


async def _print(session: Session, job: JobSummary, instance: Instance, wanted: LogRequest, *, previous: bool) -> int:
    container = choose_container(instance, wanted.container or _failed_init_container(instance))
    if not instance.node and _is_pending(instance):  # of such a pod a real cluster has an empty log
        return await _no_log(session, job, instance, instance.waits)
    if container in instance.init_containers and wanted.container is None:
        print(f"understudy: this is the log of the init container {container}, which failed", file=sys.stderr)
    flags = {"container": container, "follow": "true" if wanted.follow else "", "previous": "true" if previous else ""}
    query = urlencode({**{name: value for name, value in flags.items() if value}, **wanted.query})
    try:
        with kubelet_errors(instance):
            is_empty = await _stream(session, f"{Ref(PODS, job.namespace, instance.name).path('log')}?{query}")
    except Refused as error:
        if error.code != HTTPStatus.BAD_REQUEST:
            raise
        if not _is_pending(instance):
            return _fail(f"{error.message}{await _explain(session, job, instance.name)}")
        return await _no_log(session, job, instance, instance.waits or error.message)
    if is_empty and instance.exit_code:
        print(f"understudy: the log is empty{await _explain(session, job, instance.name)}", file=sys.stderr)
    return 0


async def _stream(session: Session, path: str) -> bool:
    """Prints a log as it comes. Returns whether it is empty."""
    is_empty = True
    sys.stdout.flush()
    async for piece in session.client.stream(path):
        is_empty = is_empty and not piece
        sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
    return is_empty


async def _no_log(session: Session, job: JobSummary, instance: Instance, why: str) -> int:
    causes = await _explain(session, job, instance.name)
    return _fail(f"{instance.name} has no log yet{causes or (f': {why}' if why else '')}")


async def _explain(session: Session, job: JobSummary, pod: str) -> str:
    """The known causes for this pod, or for the job where it has no pods."""
    causes = find_causes(job, await read_job_events(session.client, job))
    words = [f"{cause.sentence} {cause.help}" for cause in causes if cause.pod == pod]
    return f": {' '.join(words)}" if words else ""


def _failed_init_container(instance: Instance) -> str | None:
    """The container whose log says why the others never began."""
    ends = {one.name: last_end_of(one) for one in instance.init_states}
    failed = [name for name, end in ends.items() if end is not None and end.exit_code]
    return failed[0] if failed and not any(one.state.running for one in instance.container_states) else None


async def _wait_for_start(session: Session, job: JobSummary, instance: Instance | None) -> None:
    """Returns when this instance, or any of the job, has begun to run, or is gone."""
    labels = pod_selectors(job.kind, job.name)[0] if instance is None else ""
    fields = f"metadata.name={instance.name}" if instance is not None else ""
    seen = False
    async for change in session.client.follow(PODS, namespace=job.namespace, labels=labels, fields=fields):
        if change.type is ChangeType.SYNCED:
            if instance is not None and not seen:
                return
            continue
        seen = True
        pod = msgspec.json.decode(change.raw, type=PodInfo)
        if change.type is ChangeType.DELETED or pod.status.phase != "Pending":
            return


def _is_pending(instance: Instance) -> bool:
    return instance.status == "PENDING" and instance.exit_code is None


def _reason_suffix(job: JobSummary) -> str:
    return f": {job.reason}" if job.reason else f"; it is {job.status}"


def _fail(words: str) -> int:
    print(f"understudy: {words}", file=sys.stderr)
    return FAILED
