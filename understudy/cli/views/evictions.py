"""Events of evicted pods into sentences: which node was drained when, and where each pod went."""

import re
from collections.abc import Sequence

from understudy.cli.input.times import short_duration
from understudy.cli.queries.instances import Instance
from understudy.cli.queries.jobs import JobSummary
from understudy.cli.queries.objects import EventInfo
from understudy.kinds.registry import KINDS

DRAINED, EVICTED = "Drained", "Evicted"
TOGETHER = 60.0  # seconds within which evictions from one node are one story
SHOWN = 3
_FROM = re.compile(r"Evicted from node ([a-z0-9.-]+)\b(?:,| by).*")


def drain_message(node: str) -> str:
    return f"Evicted from node {node}, which was drained"


def eviction_sentences(job: JobSummary, events: Sequence[EventInfo], now: float) -> list[str]:
    """The last time that pods of the job were evicted from a node; nothing where nothing of the kind is known."""
    evictions = [(match[1], event) for event in events if (match := _eviction(event)) is not None]
    if not evictions:
        return []
    node, last = evictions[-1]
    recent = [event for name, event in evictions if name == node and last.at - event.at <= TOGETHER]
    pods = list(dict.fromkeys(event.involved_object.name for event in recent))
    drained = any(event.reason == DRAINED for event in recent)
    moves = [_move(job, pod, node) for pod in pods[:SHOWN]]
    if len(pods) > SHOWN:
        moves.append(f"{len(pods) - SHOWN} more of its pods had to leave")
    ago = short_duration(now - last.at)
    beginning = f"{node} was drained {ago} ago" if drained else f"Its pods were evicted from {node} {ago} ago"
    return [f"{beginning}: {'; '.join(moves)}."]


def _eviction(event: EventInfo) -> re.Match[str] | None:
    about_pod = event.involved_object.kind == "Pod" and event.reason in (DRAINED, EVICTED)
    return _FROM.fullmatch(event.message) if about_pod else None


def _move(job: JobSummary, pod: str, node: str) -> str:
    found = _successor(job, pod)
    if found is None:
        return f"{pod} had to leave"
    if found.node == node:
        return f"{pod} came back to it"
    where = f"moved to {found.node}" if found.node else "has no seat yet"
    return f"{pod} {where}" if found.name == pod else f"{pod} {where} as {found.name}"


def _successor(job: JobSummary, pod: str) -> Instance | None:
    """The pod in the place of an evicted one: of the same name, or with another random end to it."""
    there = [one for one in job.instances if not one.leaving]
    place = pod.rpartition("-")[0]
    same = next((one for one in there if one.name == pod), None)
    others = [one for one in there if one.name.rpartition("-")[0] == place]
    return same or (others[0] if len(others) == 1 and KINDS[job.kind].random_pod_names else None)
