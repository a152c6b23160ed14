"""An apps/v1 StatefulSet and its pods, into what is to be done next: the lowest missing pod, the highest surplus one,
the highest that is not up to date."""

from collections.abc import Iterator

import msgspec

from understudy.kinds.children.actions import (
    NO_ACTIONS,
    ChildActions,
    CreateChild,
    DeleteChild,
    Document,
    ObservedChildren,
)
from understudy.kinds.children.statefulset.pods import created, deleted, unused_claims
from understudy.kinds.children.statefulset.spec import NumberedPods, numbered_pods, revision_of
from understudy.kinds.children.workload_pods import next_available, released


def reconcile(document: Document, observed: ObservedChildren, now: float) -> ChildActions:
    case = numbered_pods(document, observed, now)
    stateful, history = case.stateful, case.history
    if stateful.metadata.leaving:
        return NO_ACTIONS
    if history.creates:  # pods name their revision, so it exists before them
        return ChildActions(creates=history.creates)
    status = _status(case)
    used = {revision_of(stateful, pod) for pod in case.pods.values()} | {status["currentRevision"]}
    actions = ChildActions(
        status=status,
        patches=(*history.patches, *(released(pod, stateful.metadata) for pod in case.lost)),
        deletes=history.surplus(stateful.spec.revision_history_limit, used),
        again_at=next_available(case.pods.values(), stateful.spec.min_ready_seconds, now),
    )
    deletes, creates = _next_step(case)
    return msgspec.structs.replace(actions, deletes=(*actions.deletes, *deletes), creates=creates)


Step = tuple[tuple[DeleteChild, ...], tuple[CreateChild, ...]]


def _next_step(case: NumberedPods) -> Step:
    """Missing pods first, then surplus ones, then old ones. Ordered sets take a step at a time, and only while all
    pods before it are available."""
    finished = (number for number, pod in case.pods.items() if pod.finished)
    ended = tuple(deleted(case, number) for number in finished if not _leaves(case, number))
    if ended:
        return ended, ()
    missing = list(_missing(case))
    if missing:
        return (), tuple(create for number in missing for create in created(case, number))
    if case.one_at_a_time and not all(case.is_healthy(number) for number in case.wanted):
        return (), ()
    if case.condemned:
        return tuple(_shrunk(case)), ()
    return tuple(_outdated(case)), ()


def _leaves(case: NumberedPods, number: int) -> bool:
    return case.pods[number].metadata.leaving


def _missing(case: NumberedPods) -> Iterator[int]:
    for number in case.wanted:
        if number not in case.pods:
            yield number
            if case.one_at_a_time:
                return
        elif case.one_at_a_time and not case.is_healthy(number):
            return


def _shrunk(case: NumberedPods) -> Iterator[DeleteChild]:
    for number in case.condemned:
        if not _leaves(case, number):
            yield deleted(case, number)
            yield from unused_claims(case, number)
        if case.one_at_a_time:
            return


def _outdated(case: NumberedPods) -> Iterator[DeleteChild]:
    """One pod at a time, from the highest number down to the partition; the next once this one is available again."""
    strategy = case.stateful.spec.update_strategy
    if strategy.type != "RollingUpdate":
        return
    for number in reversed(case.wanted):
        if number < case.wanted.start + strategy.rolling_update.partition or number not in case.pods:
            return
        if not case.is_updated(case.pods[number]):
            if not _leaves(case, number):
                yield deleted(case, number)
            return
        if not case.is_healthy(number):
            return


def _status(case: NumberedPods) -> Document:
    stateful = case.stateful
    living = [pod for pod in case.pods.values() if not pod.finished]
    updated = sum(case.is_updated(pod) and not pod.metadata.leaving for pod in living)
    ready = sum(pod.ready and not pod.metadata.leaving for pod in living)
    current = case.current_revision
    if updated == ready == len(living) == stateful.spec.replicas:
        current = case.history.newest
    at_current = sum(revision_of(stateful, pod) == current and not pod.metadata.leaving for pod in living)
    return {
        **(case.document.get("status") or {}),
        "observedGeneration": stateful.metadata.generation,
        "replicas": len(living),
        "readyReplicas": ready,
        "availableReplicas": sum(case.is_available(pod) for pod in living),
        "currentReplicas": at_current,
        "updatedReplicas": updated,
        "currentRevision": current,
        "updateRevision": case.history.newest,
        "collisionCount": 0,
    }
