"""The desired status of a training job, and the events about its change."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from understudy.kinds.children.actions import Document, EventNote
from understudy.kinds.children.partial_objects import PartialPod, whole_seconds
from understudy.kinds.children.training.spec import RoleState, TrainingJob, TrainingOutcome, TrainingState
from understudy.kinds.children.training.state import exit_code
from understudy.kinds.children.training.verdict import TrainingVerdict

RIVALS = {"Running": "Restarting", "Restarting": "Running"}  # each of the two replaces the other


class ConditionChange(msgspec.Struct, frozen=True):
    """A condition that becomes true or false."""

    type: str
    reason: str
    message: str
    status: str = "True"


def with_change(conditions: Sequence[Document], news: ConditionChange, now: float) -> list[Document]:
    """The newest condition stands last: clients show it as the state. Nothing changes once the job has failed."""
    old = next((one for one in conditions if one["type"] == news.type), None)
    if _is_true(conditions, "Failed") or _says_the_same(old, news):
        return list(conditions)
    moment = whole_seconds(now)
    since = moment
    if old is not None and old["status"] == news.status:
        since = old.get("lastTransitionTime", moment)
    fresh = {
        "type": news.type,
        "status": news.status,
        "reason": news.reason,
        "message": news.message,
        "lastUpdateTime": moment,
        "lastTransitionTime": since,
    }
    others = [one for one in conditions if one["type"] not in (news.type, RIVALS.get(news.type))]
    if news.type in ("Succeeded", "Failed"):
        others = without_running(others, now)
    return [*others, fresh]


def _says_the_same(old: Document | None, news: ConditionChange) -> bool:
    return old is not None and (old["status"], old.get("reason")) == (news.status, news.reason)


def _is_true(conditions: Sequence[Document], kind: str) -> bool:
    return any(one["type"] == kind and one["status"] == "True" for one in conditions)


def without_running(conditions: Sequence[Document], now: float) -> list[Document]:
    """A job that has ended does not run."""
    moment = whole_seconds(now)
    stopped = {"status": "False", "lastUpdateTime": moment, "lastTransitionTime": moment}
    return [{**one, **stopped} if one["type"] == "Running" and one["status"] == "True" else one for one in conditions]


class TrainingStatusUpdate(NamedTuple):
    status: Document
    notes: tuple[EventNote, ...] = ()


class TrainingStatusWriter:
    """Used for one look at a job."""

    def __init__(self, job: TrainingJob, old: Document, now: float) -> None:
        self._job = job
        self._old = old
        self._now = now
        self._conditions: list[Document] = list(old.get("conditions") or [])
        self._notes: list[EventNote] = []

    def running(self, state: TrainingState, verdict: TrainingVerdict | None) -> TrainingStatusUpdate:
        """For a job that continues, or ends now."""
        status = self._old | {"replicaStatuses": self._figures(state)} | self._record(state)
        self._created()
        if self._job.was_suspended:
            self._set("Suspended", "Resumed", "is resumed.", holds=False)
        # Set again after every pause: deadlines do not run while the job is suspended.
        if self._job.was_suspended or self._job.status.start_time is None:
            status["startTime"] = whole_seconds(self._now)
        self._notes += exits(self._job, state)
        if verdict is not None:
            self._judge(verdict)
            if verdict.final:
                status.setdefault("completionTime", whole_seconds(self._now))
        return self._report(status)

    def suspended(self) -> TrainingStatusUpdate:
        figures = {role: {**one, "active": 0} for role, one in (self._old.get("replicaStatuses") or {}).items()}
        self._created()
        if any(one["type"] == "Running" and one["status"] == "True" for one in self._conditions):
            self._add(ConditionChange("Running", self._reason("Suspended"), self._words("is suspended."), "False"))
        if not self._job.was_suspended:
            self._set("Suspended", "Suspended", "is suspended.")
        return self._report({**self._old, "replicaStatuses": figures})

    def invalid(self, problem: str) -> TrainingStatusUpdate:
        note = EventNote(
            self._reason("FailedValidation"), f"{self._job.kind.name} failed validation: {problem}", "Warning"
        )
        self._created()
        self._add(ConditionChange("Failed", note.reason, note.message))
        self._notes.append(note)
        return self._report({**self._old, "completionTime": whole_seconds(self._now)})

    def ended(self, state: TrainingState) -> TrainingStatusUpdate:
        """Pods that ran when the job succeeded count as succeeded. Another client may have ended it."""
        status = dict(self._old)
        ends = [c for c in self._conditions if c["type"] in ("Succeeded", "Failed") and c["status"] == "True"]
        status.setdefault("completionTime", ends[-1].get("lastTransitionTime") or whole_seconds(self._now))
        self._conditions = without_running(self._conditions, self._now)
        succeeded = ends[-1]["type"] == "Succeeded"
        figures: Document = {}
        for role, one in (self._old.get("replicaStatuses") or {}).items():
            found = state.of(role)
            done = one.get("succeeded", 0) + (one.get("active", 0) if succeeded else 0)
            active = 0 if succeeded or found is None else found.active
            figures[role] = _nonzero({**one, "succeeded": done, "active": active})
        return self._report({**status, "replicaStatuses": figures})

    def _report(self, status: Document) -> TrainingStatusUpdate:
        return TrainingStatusUpdate({**status, "conditions": self._conditions}, tuple(self._notes))

    def _created(self) -> None:
        if not self._conditions:
            self._add(ConditionChange("Created", self._reason("Created"), self._words("is created.")))

    def _judge(self, verdict: TrainingVerdict) -> None:
        kind = verdict.outcome.value
        before = self._conditions
        self._add(ConditionChange(kind, self._reason(kind), verdict.message))
        if self._conditions != before and verdict.outcome is not TrainingOutcome.RUNNING:
            warned = verdict.outcome is TrainingOutcome.RESTARTING
            self._notes.append(EventNote(self._reason(kind), verdict.message, "Warning" if warned else "Normal"))

    def _set(self, kind: str, reason: str, words: str, holds: bool = True) -> None:
        news = ConditionChange(kind, self._reason(reason), self._words(words), "True" if holds else "False")
        self._add(news)
        self._notes.append(EventNote(news.reason, news.message))

    def _add(self, news: ConditionChange) -> None:
        self._conditions = with_change(self._conditions, news, self._now)

    def _reason(self, what: str) -> str:
        return f"{self._job.kind.name}{what}"

    def _words(self, what: str) -> str:
        return f"{self._job.kind.name} {self._job.metadata.name} {what}"

    def _figures(self, state: TrainingState) -> Document:
        return {found.role.name: self._figures_of(found) for found in state.roles}

    def _figures_of(self, found: RoleState) -> Document:
        labels = sorted(self._job.labels(found.role).items())
        selector = ",".join(f"{key}={value}" for key, value in labels)
        counts = {"active": found.active, "succeeded": found.succeeded, "failed": found.failed}
        return {**_nonzero(counts), "selector": selector}

    def _record(self, state: TrainingState) -> Document:
        """Records what the next look needs. A failed pod is counted once, however often it is seen before it is
        gone."""
        new = {pod.metadata.uid for pod in state.retried} - set(self._job.status.counted_pods)
        excuses = state.excuses
        record: Document = {"restarts": self._job.status.restarts + len(new)} if new else {}
        if excuses.last is not None:
            record |= {"disruptedAt": whole_seconds(excuses.last), "forgivenRestarts": dict(excuses.forgiven)}
        return record | {"countedPods": sorted(pod.metadata.uid for pod in state.broken)}


def exits(job: TrainingJob, state: TrainingState) -> Iterator[EventNote]:
    """How those pods ended whose end was not recorded at the last look."""
    for found in state.roles:
        before = job.status.replica_statuses.get(found.role.name)
        known = before.succeeded + before.failed if before else 0
        done = [pod for pod in found.pods if pod.status.phase == "Succeeded"]
        ended = sorted((*done, *found.broken), key=_end, reverse=True)
        for pod in ended[: max(0, len(ended) - known)]:
            code, meta = exit_code(pod, job.kind.container), pod.metadata
            if code is not None:
                yield EventNote("ExitedWithCode", f"Pod: {meta.namespace}.{meta.name} exited with code {code}")


def _end(pod: PartialPod) -> tuple[float, str]:
    return (pod.finished_at, pod.metadata.name)


def _nonzero(figures: Document) -> Document:
    return {key: value for key, value in figures.items() if value}
