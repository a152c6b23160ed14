"""Preemptions are for what is more important, and not in vain: victim, taker and ledger into violations."""

import itertools
import re
from collections.abc import Iterator, Mapping

from bench.hotswap.replay import GangReplay
from tests.chaos.judge.case import LATE, Case, Preemption, Violation, counted
from tests.chaos.observer import History

A_START = 6.0  # seconds without a delay in which a gang starts for which others had to go

_PREEMPTED = re.compile(r"(?:preempt|take .*? from) (?P<victim>\S+)(?: \(.*?\))? for (?P<taker>\S+):")


def preempted(history: History) -> list[Preemption]:
    """By the events on jobs, which name both."""
    found = []
    for event in counted(history.events, "Preempted"):
        match = _PREEMPTED.match(event.message)
        if match is not None and event.kind != "Pod":
            victim, taker = (match[key].rpartition("/")[2] for key in ("victim", "taker"))
            found.append(Preemption(victim, taker, event.arrived, event.revision))
    return found


def victims_are_lower(case: Case, _found: Mapping[str, GangReplay]) -> Iterator[Violation]:
    for event in preempted(case.history):
        names = (event.victim, event.taker)
        if all(name in case.submitted for name in names):
            low, high = (case.submitted[name].workload.priority for name in names)
            if low >= high:
                words = f"{event.victim} ({low}) was preempted for {event.taker} ({high})"
                yield Violation("victim_priority", words, event.at, names)


def takers_start(case: Case, found: Mapping[str, GangReplay]) -> Iterator[Violation]:
    """All processes of the taker's first stage run soon, and its later stages have seats or held ones. A taker that was
    disturbed meanwhile starts soon after that, or leaves its seats."""
    events = preempted(case.history)
    for event in events:
        taker = found.get(event.taker)
        if taker is None or event.victim not in found:
            continue
        since, disturbed = _last_disturbance(case, found, event)
        end = case.deadline(since, A_START)
        last = case.clock.revision_at(end)
        if end > case.ended or case.blind(event.revision, last):
            continue
        if disturbed and _has_given_up(taker, last):
            continue
        first = case.submitted[event.taker].workload.first_stage
        started, covered = len(_started(case, event, end)), _most_covered(taker, event.revision, last)
        if started < first or covered < taker.size:
            words = f"{event.victim} was preempted for {event.taker}; {end - event.at:.1f} s later {started} of {first}"
            words += f" processes of its first stage had started, and {covered} of {taker.size} members were covered"
            yield Violation("preemption_in_vain", words, event.at, (event.victim, event.taker))


def _has_given_up(taker: GangReplay, revision: int) -> bool:
    """Whether nothing is kept for it, or it is on its way out."""
    step = next((step for step in reversed(taker.steps) if step.revision <= revision), None)
    return step is None or step.idle or not (step.seated or step.nodes)


def _started(case: Case, event: Preemption, end: float) -> set[str]:
    """Places of the taker that have a process, had one before already, or are done. The API's word counts too: what an
    operator runs by itself, as workers of old MPIJobs, writes no ledger."""
    taker, last = [pod for pod in case.history.pods if pod.gang == event.taker], case.clock.revision_at(end)
    left = {pod.uid for pod in taker if (pod.gone or pod.leaving) and pod.revision < event.revision}
    starts = {line.uid for line in case.ledger if line.what == "start" and line.gang == event.taker and line.at < end}
    starts |= {pod.uid for pod in taker if pod.running and pod.revision <= last}
    done = {pod.place for pod in taker if pod.phase == "Succeeded"}
    return {pod.place for pod in taker if pod.uid in starts - left} | done


def _most_covered(gang: GangReplay, first: int, last: int) -> int:
    """Of how many members a seat was given or held, or which were done, at one of these revisions."""
    before = [step for step in gang.steps if step.revision <= first][-1:]
    during = [step for step in gang.steps if first < step.revision <= last]
    return max((len(step.covered) for step in (*before, *during)), default=0)


def _last_disturbance(case: Case, found: Mapping[str, GangReplay], event: Preemption) -> tuple[float, bool]:
    """The last moment at which something explains that the taker has not started, and whether there was one beside the
    preemption: each counts only if it comes before the time is over that the taker has had since the one before."""
    since, disturbed = event.at, False
    others = [one.at for one in preempted(case.history) if one.taker == event.taker and one.at > event.at]
    while True:
        end = case.deadline(since, A_START)
        moments = [at for at in (*others, *case.submitted[event.taker].meddled) if event.at - LATE < at <= end]
        moments += _losses(case, found, event, end)
        disturbed = disturbed or bool(moments)
        if end > case.ended or (latest := max(moments, default=since)) <= since:
            return since, disturbed
        since = latest


def _losses(case: Case, found: Mapping[str, GangReplay], event: Preemption, end: float) -> Iterator[float]:
    """When a fault, a user, or a gang above it took a node that the taker was to have. The event comes after what it
    tells of, so such a gang may have come before it."""
    begin = event.at - LATE
    first, last = case.clock.revision_at(begin), case.clock.revision_at(end)
    nodes = found[event.taker].nodes_between(first, last) or _last_nodes(found[event.victim], event.revision)
    yield from case.blows(nodes, begin, end)
    priority = case.submitted[event.taker].workload.priority
    for name, gang in found.items():
        if case.submitted[name].workload.priority > priority:
            for before, step in itertools.pairwise(gang.steps):
                if first < step.revision <= last and (step.nodes - before.nodes) & nodes:
                    yield min(case.clock.not_after(step.revision), end)


def _last_nodes(gang: GangReplay, revision: int) -> set[str]:
    """Where it was before it left."""
    return set(next((step.nodes for step in reversed(gang.steps) if step.revision <= revision and step.nodes), ()))
