"""Options into a job that is checked, then printed or created, and followed if asked."""

import argparse
import shlex
import sys
from pathlib import Path

import msgspec

from understudy.cli.errors import BadInput
from understudy.cli.output.manifests import as_yaml
from understudy.cli.session import FAILED, Session, client_config, run_in_session, try_in_session
from understudy.cli.submit import checks, cluster_capacity, tensorboard
from understudy.cli.submit.create import ApiObject, create
from understudy.cli.submit.discovery import Discovery
from understudy.cli.submit.field_paths import set_fields
from understudy.cli.submit.follow import follow_job
from understudy.cli.submit.kinds.registered import SubmitKind
from understudy.cli.submit.manifest import apply_flags, read_manifest, resource_of, templates
from understudy.cli.submit.pod_template import labels_of
from understudy.cli.submit.request import Document, JobRequest
from understudy.cli.submit.volumes import check_code, config_maps
from understudy.kube.settings import SCHEDULER_NAME
from understudy.objects.resources import CONFIG_MAPS, SERVICES, Resource
from understudy.ports import Ref


def goes_to_embedded(options: argparse.Namespace) -> bool:
    """Decided without a request. Without any cluster, the target is the embedded one that `up` would make."""
    try:
        return client_config(options).embedded
    except BadInput:
        if options.cluster or options.context or options.kubeconfig:
            raise
        return True


def fit_request(request: JobRequest, *, embedded: bool) -> JobRequest:
    _check_warm(request.warm, embedded=embedded)
    return request if embedded else msgspec.structs.replace(request, scheduler=request.scheduler or SCHEDULER_NAME)


def fit_manifest(document: Document, warm: int, *, embedded: bool) -> None:
    """Fits a manifest to the cluster. A template that names its scheduler keeps it."""
    _check_warm(warm, embedded=embedded)
    if not embedded:
        for _, template in templates(document):
            template["spec"].setdefault("schedulerName", SCHEDULER_NAME)


def _check_warm(warm: int, *, embedded: bool) -> None:
    if warm and not embedded:
        raise BadInput(
            f"--warm {warm}: only embedded clusters hold understudies ready; leave it out, and label nodes "
            "understudy.dev/spare=true to have spares step in"
        )


QUIET = ("warn", "error")
ANSWERS_WITHIN = 2.0  # seconds that a dry run waits for a cluster
_BESIDE = {one.kind: one for one in (CONFIG_MAPS, SERVICES, tensorboard.DEPLOYMENTS)}


def submit(options: argparse.Namespace) -> int:
    if options.file is not None:
        return _submit_manifest(options)
    kind, request = options.kind, fit_request(_request(options), embedded=goes_to_embedded(options))
    if options.dry_run:
        resource = _asked_version(kind, request) or kind.RESOURCES[0]
        return _dry_run([_job(kind, request, resource, options.set), *_beside(request, kind)], options)

    async def work(session: Session) -> int:
        checks.check_source(session, request.sync_source)
        catalogue = Discovery(session.client)
        resource = await _served(catalogue, kind, request)
        job = _job(kind, request, resource, options.set)
        await checks.check(session, resource, job)
        return await _made(session, options, ApiObject(resource, job), _beside(request, kind))

    return run_in_session(options, work)


def _submit_manifest(options: argparse.Namespace) -> int:
    document = read_manifest(options.file)
    resource = resource_of(document, options.file)
    if options.kind is not None and resource.kind != options.kind.RESOURCES[0].kind:
        raise BadInput(f"-f {options.file}: a {resource.kind}, not a {options.kind.RESOURCES[0].kind}")
    apply_flags(document, options)
    fit_manifest(document, options.warm, embedded=goes_to_embedded(options))
    job = set_fields(document, options.set)
    if options.namespace is None:
        options.namespace = job["metadata"].get("namespace")
    elif job["metadata"].get("namespace") not in (None, options.namespace):
        raise BadInput(f"--namespace {options.namespace}: the manifest says {job['metadata']['namespace']}")
    if options.dry_run:
        return _dry_run([job], options)

    async def work(session: Session) -> int:
        if await Discovery(session.client).first([resource]) is None:
            raise _unknown(resource)
        await checks.check(session, resource, job)
        return await _made(session, options, ApiObject(resource, job), [])

    return run_in_session(options, work)


def _request(options: argparse.Namespace) -> JobRequest:
    if options.kind is None:
        raise BadInput("submit: say which KIND of job, such as pytorch, or give a manifest with -f")
    if not options.name:
        raise BadInput("--name: missing; every job has a name")
    words: list[str] = options.command
    command = words[0] if len(words) == 1 else shlex.join(words)
    if not command.strip():
        raise BadInput('a command is missing; put it last, in quotes, such as "python train.py"')
    if options.sync_source and Path(options.sync_source).is_dir():
        options.sync_source = str(Path(options.sync_source).absolute())
    request = JobRequest.of(options, command)
    check_code(request)
    return request


def _asked_version(kind: SubmitKind, request: JobRequest) -> Resource | None:
    version = request.more.get("mpi_version")
    return next((one for one in kind.RESOURCES if one.version == version), None)


async def _served(catalogue: Discovery, kind: SubmitKind, request: JobRequest) -> Resource:
    asked = _asked_version(kind, request)
    resource = await catalogue.first([asked] if asked else kind.RESOURCES)
    if resource is None:
        raise _unknown(asked or kind.RESOURCES[0])
    return resource


def _unknown(resource: Resource) -> BadInput:
    return BadInput(f"this cluster has no {resource.kind} ({resource.api_version}); its operator is not installed")


def _job(kind: SubmitKind, request: JobRequest, resource: Resource, settings: list[str]) -> Document:
    return set_fields(kind.document(request, resource), settings)


def _beside(request: JobRequest, kind: SubmitKind) -> list[Document]:
    found = config_maps(request, labels_of(request, kind.RESOURCES[0].kind, request.workers))
    return [*found, *tensorboard.documents(request)] if request.tensorboard else found


def _dry_run(documents: list[Document], options: argparse.Namespace) -> int:
    """An embedded cluster that is there tells whether it could hold the job; others are asked nothing."""

    async def work(session: Session) -> int:
        await cluster_capacity.is_wanted(session, options, documents[0])
        return 0

    try_in_session(options, work, ANSWERS_WITHIN)
    return _print(documents, options)


def _print(documents: list[Document], options: argparse.Namespace) -> int:
    """A namespace that was asked for is printed too, so `kubectl apply` needs no option for it."""
    space = {"namespace": options.namespace} if options.namespace else {}
    placed = [{**one, "metadata": {**one["metadata"], **space}} for one in documents]
    sys.stdout.write(as_yaml(placed))
    return 0


async def _made(session: Session, options: argparse.Namespace, job: ApiObject, others: list[Document]) -> int:
    if not await cluster_capacity.is_wanted(session, options, job.document):
        print(f"{job.title} was not submitted")
        return FAILED
    pieces = [ApiObject(_BESIDE[document["kind"]], document) for document in others]
    await create(session, job, pieces)
    for piece in (job, *pieces):
        print(f"{piece.title} created")
    sys.stdout.flush()
    name = job.document["metadata"]["name"]
    if options.loglevel not in QUIET:
        _tell(options, name, job.resource.kind.lower())
    if not (options.wait or options.watch):
        return 0
    return await follow_job(session, Ref(job.resource, session.namespace, name), live=options.watch)


def _tell(options: argparse.Namespace, name: str, kind: str) -> None:
    """Arena's words. The command they tell leads to the same cluster as this one."""
    where = {flag: getattr(options, flag) for flag in ("cluster", "context", "kubeconfig")}
    target = "".join(f" --{flag} {value}" for flag, value in where.items() if value)
    space = f" -n {options.namespace}" if options.namespace else ""
    print(f"INFO[0000] The Job {name} has been submitted successfully", file=sys.stderr)
    again = f"understudy get {name} --type {kind}{space}{target}"
    print(f"INFO[0000] You can run `{again}` to check the job status", file=sys.stderr)
