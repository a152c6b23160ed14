"""Job names into job objects of whatever kind: one concurrent round over the kinds that the cluster serves."""

import asyncio
from collections.abc import Awaitable, Iterable, Sequence
from http import HTTPStatus
from typing import Any

import msgspec

from understudy.cli.errors import BadInput, short_list, suggestion
from understudy.cli.job_types import kind_named
from understudy.client import KubeClient
from understudy.kinds.decoding import decode
from understudy.kinds.registry import JOB_RESOURCES
from understudy.objects.errors import BadObject
from understudy.objects.jobs import Workload
from understudy.objects.resources import JOB_SETS, MPI_JOBS, MPI_JOBS_V1, MPI_JOBS_V1ALPHA1, TRAIN_JOBS, Resource
from understudy.ports import Ref, Refused

_OTHER_VERSIONS = {MPI_JOBS: (MPI_JOBS_V1, MPI_JOBS_V1ALPHA1)}  # of several, the first that is served
_KINDS = frozenset(resource.kind for resource in JOB_RESOURCES)

Document = dict[str, Any]


class JobObject(msgspec.Struct, frozen=True):
    """A job as the API returned it."""

    resource: Resource  # in the version it was read in
    document: Document

    @property
    def name(self) -> str:
        return str(self.document["metadata"]["name"])

    @property
    def namespace(self) -> str:
        return str(self.document["metadata"].get("namespace") or "default")

    @property
    def uid(self) -> str:
        return str(self.document["metadata"].get("uid", ""))

    @property
    def type(self) -> str:
        return self.resource.kind.lower()

    @property
    def title(self) -> str:
        """The name of the job as kubectl writes it: `mpijob.kubeflow.org/medium`."""
        return f"{self.type}.{self.resource.group}/{self.name}"

    @property
    def ref(self) -> Ref:
        return Ref(self.resource, self.namespace, self.name)

    @property
    def maker(self) -> str:
        """The title of the job that made this one; empty where a person did, or something that is no job."""
        for owner in self.document["metadata"].get("ownerReferences") or ():
            if owner.get("controller") and owner.get("kind") in _KINDS:
                return f"{owner['kind'].lower()} {owner['name']}"
        return ""

    @property
    def gang(self) -> str:
        """The key its pods go by. Those of a TrainJob go by the JobSet that it makes."""
        kind = JOB_SETS.kind if self.resource.kind == TRAIN_JOBS.kind else self.resource.kind
        return f"{kind}/{self.namespace}/{self.name}"

    def typed(self) -> Workload:
        try:
            job = decode(self.document)
        except BadObject as error:
            raise BadInput(f"{self.title}: {error}") from None
        assert isinstance(job, Workload)
        return job


def job_kinds(wanted: str | None) -> tuple[Resource, ...]:
    """The job kinds to look for: all, or the one that -T names."""
    if wanted is None:
        return JOB_RESOURCES
    kind = kind_named(wanted)
    return tuple(resource for resource in JOB_RESOURCES if resource.kind == kind)


async def find_jobs(
    client: KubeClient, namespace: str, names: Sequence[str], kinds: Sequence[Resource]
) -> list[JobObject]:
    """Finds one job for each name, in their order. Raises BadInput if any name is unknown or ambiguous.

    A name may carry its type: `pytorchjob/mnist`, `pytorchjob.kubeflow.org/mnist`.
    """
    wanted = {text: _split(text, kinds) for text in names}
    refs = [(text, Ref(kind, namespace, name)) for text, (name, among) in wanted.items() for kind in among]
    found = await asyncio.gather(*(_named(client, ref) for _, ref in refs))
    by_text: dict[str, list[JobObject]] = {text: [] for text in wanted}
    for (text, _), job in zip(refs, found, strict=True):
        by_text[text] += [job] if job is not None else []
    if missing := [text for text, jobs in by_text.items() if not jobs]:
        known = await list_job_objects(client, namespace, kinds)
        hint = suggestion(missing[0], {job.name for job in known}, "there are") if known else "there is none"
        raise BadInput(f"no job {missing[0]} in namespace {namespace}; {hint}")
    return [_the_one(text, jobs) for text, jobs in by_text.items()]


def _split(text: str, kinds: Sequence[Resource]) -> tuple[str, Sequence[Resource]]:
    kind, slash, name = text.partition("/")
    return (name, job_kinds(kind.partition(".")[0])) if slash else (text, kinds)


def _the_one(name: str, jobs: Sequence[JobObject]) -> JobObject:
    """A JobSet that belongs to a TrainJob of the same name does not count as a job."""
    own = [job for job in jobs if not job.maker]
    if not own:
        raise BadInput(f"{jobs[0].title} is a part of {jobs[0].maker}; name that one")
    if len(own) > 1:
        titles = short_list(job.title for job in own)
        raise BadInput(f"{name} may be {titles}; say which with --type {own[0].type} or --type {own[1].type}")
    return own[0]


async def list_job_objects(client: KubeClient, namespace: str, kinds: Iterable[Resource]) -> list[JobObject]:
    """All that people made, by kind and name; no namespace: of all of them."""
    lists = await asyncio.gather(*(_listed(client, kind, namespace) for kind in kinds))
    jobs = [job for jobs in lists for job in jobs if not job.maker]
    return sorted(jobs, key=lambda job: (job.namespace, job.name, job.type))


async def _named(client: KubeClient, ref: Ref) -> JobObject | None:
    for resource in _versions(ref.resource):
        place = msgspec.structs.replace(ref, resource=resource)
        if (raw := await _unless_absent(client.get(place))) is not None:
            return JobObject(resource, msgspec.json.decode(raw))
    return None


async def _listed(client: KubeClient, kind: Resource, namespace: str) -> list[JobObject]:
    for resource in _versions(kind):
        if (raw := await _unless_absent(client.get(Ref(resource, namespace)))) is not None:
            items = msgspec.json.decode(raw)["items"]
            head = {"apiVersion": resource.api_version, "kind": resource.kind}
            return [JobObject(resource, {**head, **item}) for item in items]
    return []


def _versions(kind: Resource) -> tuple[Resource, ...]:
    return (kind, *_OTHER_VERSIONS.get(kind, ()))


async def _unless_absent(answer: Awaitable[bytes]) -> bytes | None:
    try:
        return await answer
    except Refused as error:
        if error.code != HTTPStatus.NOT_FOUND:
            raise
        return None
