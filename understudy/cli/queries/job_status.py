"""The status of a job in one word, from its object and its pods: the same word in every table.

SUCCEEDED, FAILED; RUNNING: its pods and their containers run; QUEUING: it had to make room and waits to go on;
SUSPENDED: its owner paused it; PENDING: anything else, which is waiting for seats, starting, or down.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from understudy.cli.queries.container_states import word_of
from understudy.cli.queries.objects import PodInfo
from understudy.kinds.annotations import REQUEUED_AT
from understudy.kinds.registry import KINDS
from understudy.objects.meta import Condition

PENDING, QUEUING, SUSPENDED = "PENDING", "QUEUING", "SUSPENDED"
RUNNING, SUCCEEDED, FAILED = "RUNNING", "SUCCEEDED", "FAILED"
FINISHED = (SUCCEEDED, FAILED)


def status_of(kind: str, document: Mapping[str, Any], conditions: Sequence[Condition], pods: Sequence[PodInfo]) -> str:
    """A success outdoes a failure, and both outdo whatever the pods are still doing."""
    status = document.get("status") or {}
    ends = KINDS[kind].ends
    if ends.has_succeeded(conditions, ends.word(status)):
        return SUCCEEDED
    if ends.has_failed(conditions, ends.word(status)):
        return FAILED
    if is_suspended(kind, document):
        return QUEUING if was_requeued(document) else SUSPENDED
    return RUNNING if _runs(kind, document, conditions, pods) else PENDING


def _runs(kind: str, document: Mapping[str, Any], conditions: Sequence[Condition], pods: Sequence[PodInfo]) -> bool:
    """Kinds that say so themselves have to say so; of all kinds no pod may be waiting."""
    words = {word_of(pod) for pod in pods if pod.metadata.deletion_timestamp is None}
    if PENDING in words or not words & {RUNNING, SUCCEEDED}:
        return False
    if not KINDS[kind].says_running:
        return True
    word = KINDS[kind].running_word
    if word and KINDS[kind].ends.word(document.get("status") or {}) == word:
        return True
    return true_condition(conditions, "Running") is not None


def is_suspended(kind: str, document: Mapping[str, Any]) -> bool:
    value: Any = document
    for field in KINDS[kind].suspend_path:
        value = value.get(field) if isinstance(value, Mapping) else None
    return value is True


def was_requeued(document: Mapping[str, Any]) -> bool:
    return REQUEUED_AT in (document.get("metadata", {}).get("annotations") or {})


def true_condition(conditions: Sequence[Condition], *types: str) -> Condition | None:
    return next((one for one in conditions if one.type in types and one.status == "True"), None)
