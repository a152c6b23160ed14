"""How often jobs had to give up their seats, counted from the events that are still there."""

from collections import Counter
from typing import TYPE_CHECKING

from understudy.cli.jobs.gathering import events_in
from understudy.objects.resources import JOB_KINDS

if TYPE_CHECKING:
    from understudy.client import KubeClient

_REASONS = ("Preempted", "Requeued")
_KINDS = frozenset(resource.kind for resource in JOB_KINDS)


async def setbacks_in(client: "KubeClient", namespace: str) -> Counter[str]:
    """By the uid of the job: preemptions, and other times it went back to the queue."""
    counts: Counter[str] = Counter()
    for reason in _REASONS:
        for event in await events_in(client, namespace, f"reason={reason}"):
            if event.involved_object.kind in _KINDS:
                counts[event.involved_object.uid] += event.times
    return counts
