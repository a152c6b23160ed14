"""Turns evidence in a job's containers, conditions and events into sentences, by the table of causes."""

import re
from collections.abc import Iterable, Iterator, Sequence
from math import inf
from typing import NamedTuple

import msgspec

from understudy.cli.queries.container_states import last_end_of
from understudy.cli.queries.instances import Instance
from understudy.cli.queries.job_status import FAILED, PENDING, QUEUING
from understudy.cli.queries.jobs import JobSummary
from understudy.cli.queries.objects import ContainerInfo, EventInfo, TerminatedState
from understudy.cli.views.causes import (
    CAUSES,
    NOT_MADE,
    Cause,
    Ended,
    Evidence,
    JobFailed,
    Unseated,
    Waits,
    WarningEvent,
)
from understudy.kinds.registry import KINDS
from understudy.objects.meta import seconds

_ELSE = "it says no more"  # in place of what the evidence leaves open
_MOST = 3
_CRASH_LOOP, _ANY_END = "crash loop", "program failed"


class Finding(msgspec.Struct, frozen=True):
    cause: str
    says: str
    help: str
    pod: str = ""
    container: str = ""  # that ended: its log has last words
    at: float = 0.0  # when it ended: the first of a gang to end is the one that the others followed
    others: int = 0  # pods in the same trouble

    @property
    def sentence(self) -> str:
        if not self.others:
            return self.says
        plural = self.others != 1
        return f"{self.says} {self.others} more pod{'s are' if plural else ' is'} in the same trouble."


class _Fact(NamedTuple):
    """Something that may be evidence: of which type, and the words it has."""

    type: type[Evidence]
    reason: str
    message: str
    instance: Instance | None = None
    container: ContainerInfo | None = None
    end: TerminatedState | None = None
    init: bool = False


def find_causes(job: JobSummary, events: Sequence[EventInfo]) -> list[Finding]:
    """The causes that apply now, the first to happen first; of pods in the same trouble one speaks for all."""
    by_cause: dict[str, list[Finding]] = {}
    for fact in _facts(job, events):
        found = _explain(job, fact)
        if found is not None:
            by_cause.setdefault(found.cause, []).append(found)
    if _CRASH_LOOP in by_cause:
        by_cause.pop(_ANY_END, None)  # it says the same in fewer words
    ranks = {cause.name: rank for rank, cause in enumerate(CAUSES)}
    merged = [_merged(found) for found in by_cause.values()]
    return sorted(merged, key=lambda one: (one.at, ranks[one.cause]))[:_MOST]


def is_unexplained(job: JobSummary) -> bool:
    """Neither the job nor its pods say why it does not run; events may."""
    return job.status == PENDING and not job.reason


def with_event_reason(job: JobSummary, events: Sequence[EventInfo]) -> JobSummary:
    """The reason that only its events know: a missing PriorityClass, a quota, a volume."""
    found = find_causes(job, events) if is_unexplained(job) else []
    return msgspec.structs.replace(job, reason=found[0].says.removeprefix(NOT_MADE).removesuffix(".")) if found else job


def _merged(found: list[Finding]) -> Finding:
    first = min(found, key=lambda one: one.at)
    return msgspec.structs.replace(first, others=len({one.pod for one in found}) - 1)


def _explain(job: JobSummary, fact: _Fact) -> Finding | None:
    for cause in CAUSES:
        for evidence in cause.evidence:
            words = _matches(evidence, fact)
            if words is not None:
                return _finding(job, cause, fact, words)
    return None


def _matches(evidence: Evidence, fact: _Fact) -> dict[str, str] | None:
    """The named groups of the evidence's pattern; None where the fact is no such evidence."""
    if not isinstance(evidence, fact.type):
        return None
    match evidence:
        case Unseated():
            reasons: tuple[str, ...] = ()
        case Ended(codes=codes) if codes and (fact.end is None or fact.end.exit_code not in codes):
            return None
        case Ended(init=init) if init not in (None, fact.init):
            return None
        case _:
            reasons = evidence.reasons
    if reasons and fact.reason not in reasons:
        return None
    found = re.search(getattr(evidence, "pattern", ""), fact.message)
    return {name: value for name, value in found.groupdict().items() if value} if found else None


class _Words(dict[str, str]):
    def __missing__(self, name: str) -> str:
        return _ELSE


def _finding(job: JobSummary, cause: Cause, fact: _Fact, found: dict[str, str]) -> Finding:
    words = _Words(job=job.name, namespace=job.namespace, where=_flag("-n", job.namespace, job.namespace != "default"))
    words["reason"] = fact.reason
    if (one := fact.instance) is not None:
        words |= {"pod": one.name, "node": one.shown_node}
        words["instance"] = _flag("-i", one.name, len(job.instances) > 1)
    if (container := fact.container) is not None:
        words |= {"container": container.name, "restarts": str(container.restart_count)}
        words["part"] = _flag("-c", container.name, one is not None and one.containers[:1] != (container.name,))
    if fact.end is not None:
        words["code"] = str(fact.end.exit_code)
    words |= {name: value.rstrip(".") for name, value in found.items()}
    return Finding(
        cause=cause.name,
        says=cause.says.format_map(words),
        help=cause.help.format_map(words),
        pod=one.name if one is not None else "",
        container=container.name if container is not None and fact.end is not None else "",
        at=_moment(fact),
    )


def _flag(flag: str, value: str, needed: bool) -> str:
    return f" {flag} {value}" if needed else ""


def _moment(fact: _Fact) -> float:
    if fact.type is JobFailed:
        return inf
    return (seconds(fact.end.finished_at) or 0.0) if fact.end is not None else 0.0


def _facts(job: JobSummary, events: Sequence[EventInfo]) -> Iterator[_Fact]:
    for instance in job.instances:
        yield from _of_containers(instance)
        if instance.waits:
            yield _Fact(Unseated, "", instance.waits, instance)
    yield from _of_events(job, events)
    end = KINDS[job.kind].ends.condition(job.conditions) if job.status == FAILED else None
    if end is not None:
        yield _Fact(JobFailed, end.reason, end.message)


def _of_containers(instance: Instance) -> Iterator[_Fact]:
    if instance.status == "SUCCEEDED" or instance.leaving:
        return
    for init, containers in ((True, instance.init_states), (False, instance.container_states)):
        for container in containers:
            yield from _of_container(instance, container, init)


def _of_container(instance: Instance, container: ContainerInfo, init: bool) -> Iterator[_Fact]:
    """The facts of one container: why it waits, and how it ended. An end after which it runs again is no trouble any
    more."""
    waiting, end = container.state.waiting, last_end_of(container)
    if waiting is not None and (waiting.reason or waiting.message):
        yield _Fact(Waits, waiting.reason, waiting.message, instance, container, end, init)
    if end is not None and end.exit_code and container.state.running is None:
        yield _Fact(Ended, end.reason, end.message, instance, container, end, init)


def _of_events(job: JobSummary, events: Sequence[EventInfo]) -> Iterator[_Fact]:
    """Warnings that still hold: about pods that have not started, and about objects that have made no pod since."""
    if job.status not in (PENDING, QUEUING, FAILED):
        return
    pods = {one.name: one for one in job.instances}
    for event in _newest_first(events):
        pod = pods.get(event.involved_object.name) if event.involved_object.kind == "Pod" else None
        holds = _has_not_started(pod) if pod is not None else not _has_made_pods_since(job, event)
        if event.type == "Warning" and holds and (pod is not None or event.involved_object.kind != "Pod"):
            yield _Fact(WarningEvent, event.reason, _message(event), pod)


def _has_not_started(pod: Instance) -> bool:
    return pod.status == PENDING and pod.exit_code is None


def _newest_first(events: Iterable[EventInfo]) -> list[EventInfo]:
    """The newest event of each object and reason. A repeated event may say only that there were more like it."""
    newest = {(event.involved_object.name, event.reason): event for event in events if _message(event)}
    return list(newest.values())[::-1]


def _message(event: EventInfo) -> str:
    return " ".join(event.message.split()).removeprefix("(combined from similar events)").removeprefix(": ")


def _has_made_pods_since(job: JobSummary, event: EventInfo) -> bool:
    return any(one.created >= event.at for one in job.instances)
