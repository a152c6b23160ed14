"""Reads jobs with their pods, and turns each job into one summary, the value that all reading verbs show."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any

import msgspec

from understudy.cli.output.tables import NONE
from understudy.cli.queries.instances import EndedAttempt, Instance, instance_of, instance_order
from understudy.cli.queries.job_objects import JobObject, find_jobs, job_kinds, list_job_objects
from understudy.cli.queries.job_status import FINISHED, PENDING, QUEUING, SUSPENDED, status_of
from understudy.cli.queries.lists import list_pods, pods_of_job
from understudy.cli.queries.objects import PodInfo
from understudy.cli.session import Session
from understudy.client import KubeClient
from understudy.kinds.annotations import UNDERSTUDY_OF, WARM
from understudy.kinds.kueue import QUEUE
from understudy.kinds.ownership import owner_of
from understudy.kinds.registry import KINDS
from understudy.kinds.roles import JobRole, accelerators, total_requests
from understudy.objects.meta import Condition, has_condition, seconds
from understudy.objects.pods import Pod
from understudy.objects.resources import Resource
from understudy.ports import Ref


class JobSummary(msgspec.Struct, frozen=True, kw_only=True):
    resource: Resource
    namespace: str
    name: str
    uid: str
    status: str
    reason: str = ""  # why it is not running, or how it ended, as far as the job and its pods say
    priority: str = NONE
    created: float
    started: float | None = None
    ended: float | None = None
    instances: tuple[Instance, ...] = ()
    requested: Mapping[str, int] = {}  # resources of all its pods, whether they are there or not
    conditions: tuple[Condition, ...] = ()
    annotations: Mapping[str, str] = {}
    restarts: int = 0
    roles: tuple[str, ...] = ()  # as its object names them
    understudies: tuple[Instance, ...] = ()  # that are ready
    queue: str = ""  # of Kueue, which then suspends and resumes it
    history: tuple[EndedAttempt, ...] = ()  # whose pods are gone; only `with_history` asks for them

    @property
    def kind(self) -> str:
        return self.resource.kind

    @property
    def trainer(self) -> str:
        return self.kind.upper()

    @property
    def title(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"

    @property
    def full_name(self) -> str:
        """As kubectl writes and reads it: `mpijob.kubeflow.org/medium`."""
        return f"{self.kind.lower()}.{self.resource.group}/{self.name}"

    @property
    def ref(self) -> Ref:
        return Ref(self.resource, self.namespace, self.name)

    @property
    def listed_instances(self) -> tuple[Instance, ...]:
        """A job that has ended keeps its instances, as Arena lists them, also where their pods are gone."""
        return self.last_instances if self.finished else self.instances

    @property
    def chief(self) -> Instance | None:
        return next(iter(self.listed_instances), None)

    @property
    def gpus_requested(self) -> int:
        return accelerators(self.requested)

    @property
    def gpus_allocated(self) -> int:
        return sum(instance.gpus for instance in self.instances if instance.seated)

    @property
    def finished(self) -> bool:
        return self.status in FINISHED

    def age(self, now: float) -> float:
        return now - self.created

    def duration(self, now: float) -> float:
        """How long it has trained, in all attempts that are known."""
        runs = [(self.started, now if self.ended is None else self.ended), *_spans(self.past_instances, now)]
        return sum(end - start for start, end in _merged((start, end) for start, end in runs if start is not None))

    def attempts(self, now: float) -> int:
        """How many times it has begun: its instances that run at the same time are one attempt."""
        instances = (*self.past_instances, *self.instances)
        known = max(len(_merged(_spans(instances, now))), _turns(instances, now))
        lowest: dict[str, int] = {}
        for one in self.history:
            lowest[one.instance.place] = min(one.number, lowest.get(one.instance.place, one.number))
        kept = Counter(one.instance.place for one in self.history)
        return known + min((number - 1 for place, number in lowest.items() if kept[place] <= known), default=0)

    @property
    def past_instances(self) -> tuple[Instance, ...]:
        return tuple(one.instance for one in self.history)

    @property
    def last_instances(self) -> tuple[Instance, ...]:
        """Those there are; of a job without any, those of the last attempt, as far as they are known."""
        if self.instances:
            return self.instances
        newest = {one.instance.place: one.instance for one in sorted(self.history, key=lambda one: one.number)}
        return tuple(sorted(newest.values(), key=lambda one: instance_order(one, self.roles)))


def _turns(instances: Iterable[Instance], now: float) -> int:
    """How many times every place was taken, by one pod after the other. Times in whole seconds do not separate two
    attempts that began in the same second; this does. A place that several pods had at the same time says nothing."""
    places: dict[str, list[tuple[float, float]]] = {}
    for one in instances:
        places.setdefault(one.place, []).extend(_spans([one], now))
    spans = [sorted(taken) for taken in places.values() if taken]
    return min((len(taken) for taken in spans if all(a[1] <= b[0] for a, b in pairwise(taken))), default=0)


def _spans(instances: Iterable[Instance], now: float) -> list[tuple[float, float]]:
    return [(one.started, max(one.started, one.ended or now)) for one in instances if one.started is not None]


def _merged(spans: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """The spans of time that these cover, without overlaps."""
    found: list[tuple[float, float]] = []
    for start, end in sorted(spans):
        if found and (start < found[-1][1] or start == found[-1][0]):
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def gang_key(pod: PodInfo) -> str:
    """Kind/namespace/name of the job a pod belongs to."""
    return owner_of(Pod(kind="Pod", api_version="v1", metadata=pod.metadata, spec=pod.spec)).key


def pods_by_job(pods: Iterable[PodInfo]) -> dict[str, list[PodInfo]]:
    found: dict[str, list[PodInfo]] = {}
    for pod in pods:
        found.setdefault(gang_key(pod), []).append(pod)
    return found


def summarize(found: JobObject, pods: Sequence[PodInfo]) -> JobSummary:
    """`pods` are the job's own."""
    document, kind = found.document, found.resource.kind
    meta, status = document["metadata"], document.get("status") or {}
    conditions = _conditions(status)
    roles = KINDS[kind].roles_in(document.get("spec") or {})
    order = [role.name for role in roles]
    instances = sorted((instance_of(pod, kind) for pod in pods), key=lambda one: instance_order(one, order))
    word = status_of(kind, document, conditions, pods)
    created = _moment(meta.get("creationTimestamp")) or 0.0
    end = KINDS[kind].ends.condition(conditions)
    queue = str((meta.get("labels") or {}).get(QUEUE, ""))
    return JobSummary(
        resource=found.resource,
        namespace=found.namespace,
        name=found.name,
        uid=found.uid,
        status=word,
        reason=_reason(word, end, instances, queue),
        priority=_priority(roles, pods),
        created=created,
        started=_started(status, word, instances),
        ended=_ended(status, end, instances) if word in FINISHED else None,
        instances=tuple(instances),
        requested=_requested(kind, roles, instances),
        conditions=conditions,
        annotations=meta.get("annotations") or {},
        restarts=int(status.get("restarts") or 0),
        roles=tuple(filter(None, order)),
        queue=queue,
    )


def _conditions(status: Mapping[str, Any]) -> tuple[Condition, ...]:
    try:
        return msgspec.convert(status.get("conditions") or (), tuple[Condition, ...])
    except msgspec.ValidationError:
        return ()


def _priority(roles: Sequence[JobRole], pods: Sequence[PodInfo]) -> str:
    """The class its templates name, else the one its pods were given."""
    named = [role.priority for role in roles] + [pod.spec.priority_class_name for pod in pods]
    return next(filter(None, named), NONE)


def _requested(kind: str, roles: Sequence[JobRole], instances: Sequence[Instance]) -> dict[str, int]:
    """What a job does not say itself, as a TrainJob with its runtime, only its pods can tell."""
    asked = total_requests(roles)
    if KINDS[kind].has_templates or not instances:
        return asked
    there: dict[str, int] = {}
    for instance in instances:
        for name, amount in instance.requests.items():
            there[name] = there.get(name, 0) + amount
    return there


def _started(status: Mapping[str, Any], word: str, instances: Sequence[Instance]) -> float | None:
    """Some kinds count from when they first look at a job: one that only ever waited has not begun."""
    starts = [one.started for one in instances if one.started is not None]
    if word in (QUEUING, SUSPENDED) or (word == PENDING and not starts):
        return None
    return _moment(status.get("startTime")) or min(starts, default=None)


def _ended(status: Mapping[str, Any], end: Condition | None, instances: Sequence[Instance]) -> float | None:
    told = _moment(status.get("completionTime")) or (seconds(end.last_transition_time) if end else None)
    return told or max((one.ended for one in instances if one.ended is not None), default=None)


def _reason(word: str, end: Condition | None, instances: Sequence[Instance], queue: str) -> str:
    if word in FINISHED:
        return end.reason if end else ""
    if word == QUEUING:
        return "made room for others; goes on when it fits"
    if word == SUSPENDED:
        return f"waits in Kueue's queue {queue}" if queue else "suspended by its owner"
    return next((one.waits or one.trouble for one in instances if one.waits or one.trouble), "")


def _moment(text: object) -> float | None:
    try:
        return datetime.fromisoformat(str(text)).timestamp() if text else None
    except ValueError:
        return None


async def read_job(session: Session, name: str, wanted_type: str | None) -> JobSummary:
    """Unknown names, and names that several kinds share, are bad input. `KIND/NAME` names the kind too."""
    kind, slash, rest = name.partition("/")
    if slash and wanted_type is None:
        name, wanted_type = rest, kind.partition(".")[0]
    [found] = await find_jobs(session.client, session.namespace, [name], job_kinds(wanted_type))
    return await with_pods(session, found)


async def with_pods(session: Session, found: JobObject) -> JobSummary:
    kind = found.resource.kind
    pods = await pods_of_job(session.client, found.namespace, kind, found.name)
    job = summarize(found, pods_by_job(pods).get(found.gang, ()))
    if WARM not in job.annotations:
        return job
    ready = await list_pods(session.client, found.namespace, f"{UNDERSTUDY_OF}={found.name}")
    own = (
        pod for pod in ready if any(owner.kind == kind for owner in pod.metadata.owner_references) and _is_ready(pod)
    )
    return msgspec.structs.replace(job, understudies=tuple(instance_of(pod, kind) for pod in own))


async def with_nodes(client: KubeClient, job: JobSummary) -> JobSummary:
    """The job, with the states of the nodes that its instances sit on."""
    if job.finished:
        return job
    from understudy.cli.queries.node_states import node_states  # with what judges nodes, which lists do not need

    states = await node_states(client, {one.node for one in job.instances if one.node})
    placed = (msgspec.structs.replace(one, node_state=states.get(one.node)) for one in job.instances)
    return msgspec.structs.replace(job, instances=tuple(placed))


def _is_ready(pod: PodInfo) -> bool:
    return pod.metadata.deletion_timestamp is None and has_condition(pod.status.conditions, "Ready")


async def read_jobs(session: Session, wanted_type: str | None, *, everywhere: bool = False) -> list[JobSummary]:
    """The newest first, as people look for what they have just submitted."""
    namespace = "" if everywhere else session.namespace
    jobs, pods = await asyncio.gather(
        list_job_objects(session.client, namespace, job_kinds(wanted_type)), list_pods(session.client, namespace)
    )
    own = pods_by_job(pods)
    found = [summarize(job, own.get(job.gang, ())) for job in jobs]
    return sorted(found, key=lambda job: (-job.created, job.namespace, job.name, job.kind))
