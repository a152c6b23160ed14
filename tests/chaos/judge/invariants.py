"""What must never happen: ledger, observations and store order together become violations, each with its timeline.

Nothing is convicted by the order in which news arrived. What counts is the order of the store, dated by acknowledged
writes, and what the processes wrote themselves.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence

from bench.hotswap.replay import GangReplay, Step
from tests.chaos.judge.case import MEMORY, NOTICE, Case, Violation, counted
from tests.chaos.judge.placement import claims_exist, domains_are_exclusive
from tests.chaos.judge.preemptions import preempted, takers_start, victims_are_lower
from tests.chaos.judge.spans import Span

KINDS = {
    "partial_start": "a process started before every member of its gang had a seat or a held seat",
    "seated_in_part": "a gang that had not been whole yet had seats for some members only, for more than a moment",
    "partly_seated": "a gang had seats for some members only, for longer than a swap takes",
    "requeued_without_loss": "a gang lost its seats although no fault and no user had touched them",
    "hold_broken": "a seat was held for a member of a gang that had started, and then neither held nor given",
    "dead_node_ready": "a node that gave no sign of life was said to be ready",
    "accelerator_twice": "an accelerator was given to a process while another one that had it lived",
    "two_of_a_name": "a process started while another one of the same pod name, or the same place, lived",
    "stopped_without_reason": "a process was told to end whose pod was not being deleted",
    "victim_priority": "a gang was preempted for one that is not more important",
    "preemption_in_vain": "a gang was preempted for another one, which then did not start as a whole",
    "domain_shared": "a pod got a seat in a domain that it, or a pod of another island there, has to itself",
    "island_scattered": "an island that has its domain to itself got seats in two domains",
    "seated_without_claim": "a pod got a seat before the claim existed that it names",
    "write_lost": "an acknowledged write was lost",
    "job_lost": "a job was gone, failed, or did not end although all faults were healed",
    "no_reason": "a job waited and did not say why",
    "waits_though_it_fits": "after all faults were healed, a job waited although it fitted",
    "lower_runs": "after all faults were healed, a job ran while one above it waited that would have fitted without it",
    "incident_open": "an incident was open after everything had ended",
    "not_healed": "a node could not be brought back when all faults were over",
    "up_failed": "`understudy up` did not bring the cluster back",
    "supervisor_ended": "the supervisor ended although no fault killed it",
    "left_over": "something was left after `understudy down`",
    "broken_run": "the run itself could not do what it wanted to",
}

A_MOMENT = 2.0  # seconds without a delay for a gang to get all its seats, which is one write
A_SWAP = 15.0  # seconds without a delay; a swap takes less than one on an idle machine


def judge(case: Case) -> list[Violation]:
    found = case.gangs()
    rules: Sequence[Callable[[Case, Mapping[str, GangReplay]], Iterator[Violation]]] = (
        partial_starts,
        partial_seats,
        requeued_without_loss,
        broken_holds,
        dead_nodes_ready,
        taken_twice,
        stopped_without_reason,
        victims_are_lower,
        takers_start,
        domains_are_exclusive,
        claims_exist,
    )
    return [violation for rule in rules for violation in rule(case, found)]


def partial_starts(case: Case, found: Mapping[str, GangReplay]) -> Iterator[Violation]:
    """The first process of a gang that was not seated before: all members must have had seats, or held ones."""
    told: set[tuple[str, int]] = set()
    by_uid = {uid: gang for gang in found.values() for uid in gang.bound}
    episodes = {gang.name: gang.episodes() for gang in found.values()}
    for line in case.ledger:
        gang = by_uid.get(line.uid)
        if line.what != "start" or gang is None or gang.size < 2:
            continue
        bound = gang.bound[line.uid]
        episode = next((one for one in episodes[gang.name] if one.has(bound)), None)
        if episode is None or (gang.name, episode.began) in told:
            continue
        whole = episode.whole
        at = case.clock.not_before(whole) if whole is not None else None
        if (at is None or line.began < at) and not case.blind(episode.began, whole or episode.ended or bound):
            told.add((gang.name, episode.began))
            covered = next(step for step in reversed(gang.steps) if step.revision <= bound).covered
            when = f"{at - line.began:.3f} s later at the earliest" if at is not None else "never"
            words = f"{gang.name}: {line.pod} started with {len(covered)} of {gang.size} covered; whole {when}"
            yield Violation("partial_start", words, line.began, (gang.name,))


def partial_seats(case: Case, found: Mapping[str, GangReplay]) -> Iterator[Violation]:
    for gang in found.values():
        for since, until in gang.partial():
            last = until.revision if until is not None else gang.steps[-1].revision
            if case.blind(since.revision, last):
                continue
            begin = case.clock.not_after(since.revision)
            end = case.clock.not_before(until.revision) if until is not None else case.ended
            partly = Span(begin, min(end, case.ended))
            if (kind := _too_long(case, gang, since, last, partly)) is not None:
                words = f"{gang.name}: {len(since.seated)} seats, {len(since.covered)} of {gang.size} covered"
                words += f" for {partly.end - begin:.2f} s at least"
                yield Violation(kind, words, begin, (gang.name,))


def _too_long(case: Case, gang: GangReplay, since: Step, last: int, partly: Span) -> str | None:
    """The kind of violation, if it is one. A gang that starts has all its seats at once: only the loss of some of them
    explains that it has not. A gang that lost some gets others soon; each further loss gives it that time anew."""
    episode = next((one for one in gang.episodes() if one.has(since.revision)), None)
    first = episode.began if episode is not None else since.revision
    nodes = gang.nodes_between(first, last)
    if episode is not None and (episode.whole is None or episode.whole > since.revision):
        covered = (step.covered for step in gang.steps if first <= step.revision < last)
        never = len(frozenset[str]().union(*covered)) < gang.size
        begin, end = partly.begin - NOTICE, partly.end
        lost = case.struck(nodes, begin, end) or case.meddled(gang.name, begin, end)
        if (never or not lost) and case.undelayed(*partly) > A_MOMENT:
            return "seated_in_part"
    moments = (partly.begin, *case.blows(gang.nodes_between(since.revision, last), *partly), partly.end)
    longest = max(case.undelayed(*span) for span in itertools.pairwise(moments))
    return "partly_seated" if longest > A_SWAP else None


def requeued_without_loss(case: Case, found: Mapping[str, GangReplay]) -> Iterator[Violation]:
    """A gang keeps its seats, and those that are held for it, unless a node of it was lost, as the API tells."""
    for event in counted(case.history.events, "Requeued"):
        gang = found.get(event.name)
        if gang is None or event.kind == "Pod" or case.blind(0, event.revision):
            continue
        if not _explained(case, gang, event.revision, at := event.arrived):
            yield Violation("requeued_without_loss", f"{gang.name}: {event.message}", at, (gang.name,))


def broken_holds(case: Case, found: Mapping[str, GangReplay]) -> Iterator[Violation]:
    """What is held for later stages of a gang that has started is theirs: nothing may take it."""
    preempted_at = [(one.victim, one.at) for one in preempted(case.history)]
    for gang in found.values():
        for before, step in itertools.pairwise(gang.steps):
            lost = before.covered - step.covered - before.seated
            if not lost or not step.seated or step.idle or case.blind(before.revision, step.revision):
                continue
            at = case.clock.not_after(step.revision)
            was_victim = any(name == gang.name and abs(when - at) < NOTICE for name, when in preempted_at)
            if not was_victim and not _explained(case, gang, step.revision, at):
                words = (
                    f"{gang.name}: at revision {step.revision} no seat is held any more for {', '.join(sorted(lost))}"
                )
                yield Violation("hold_broken", words, at, (gang.name,))


def _explained(case: Case, gang: GangReplay, revision: int, at: float) -> bool:
    """Whether a lost node or its user is why the gang gives up seats."""
    begin = at - MEMORY
    nodes = gang.nodes_between(case.clock.revision_at(begin), revision)
    if case.was_unwell(nodes, begin, at + NOTICE) or case.struck(nodes, begin, at):
        return True
    return case.meddled(gang.name, at - NOTICE, at)


def dead_nodes_ready(case: Case, _found: Mapping[str, GangReplay]) -> Iterator[Violation]:
    """A node that was given up after it had died, and was not healed yet, must not be said to be ready again."""
    given_up: dict[str, float] = {}  # when that was stored, at the earliest
    for observed in sorted(case.history.nodes, key=lambda one: one.revision):
        if not observed.ready:
            given_up.setdefault(observed.name, case.clock.not_before(observed.revision))
            continue
        since = given_up.pop(observed.name, float("-inf"))
        latest = case.clock.not_after(observed.revision)
        for fault in case.faults:
            until = fault.healed if fault.healed is not None else case.ended
            if fault.dead and observed.name in fault.nodes and fault.began < since and latest < until:
                words = (
                    f"{observed.name} died ({fault.kind}), was given up, and then said to be ready before it was healed"
                )
                yield Violation("dead_node_ready", words, observed.arrived, nodes=(observed.name,))


def taken_twice(case: Case, found: Mapping[str, GangReplay]) -> Iterator[Violation]:
    """A Job may make the successor of a pod that is on its way out, under another name; that is no violation."""
    for line in case.ledger:
        holder = line.holder
        if line.what != "conflict" or holder is None:
            continue
        gang = found.get(holder.gang)
        left = gang.left.get(holder.uid) if gang is not None else None
        if line.lock.startswith("accelerator-"):
            kind = "accelerator_twice"
        elif line.pod == holder.pod or left is None or case.clock.not_before(left) > line.at:
            kind = "two_of_a_name"
        else:
            continue
        words = f"{line.lock}: {line.pod} ({line.uid[:8]}, pid {line.pid}, on {line.node}) started while"
        words += f" {holder.pod} ({holder.uid[:8]}, pid {holder.pid}, on {holder.node}) lived ({line.state})"
        yield Violation(kind, words, line.at, (line.gang, holder.gang))


def stopped_without_reason(case: Case, found: Mapping[str, GangReplay]) -> Iterator[Violation]:
    """SIGTERM comes to a pod that is being deleted, and to no other."""
    for line in case.ledger:
        gang = found.get(line.gang)
        if line.what != "term" or gang is None or line.at >= case.ended or line.uid not in gang.bound:
            continue
        left = gang.left.get(line.uid)
        if left is None or (case.clock.not_before(left) > line.at and not case.blind(gang.bound[line.uid], left)):
            late = "never" if left is None else f"{case.clock.not_before(left) - line.at:.3f} s later at the earliest"
            words = f"{gang.name}: {line.pod} (pid {line.pid}) was told to end; its pod was deleted {late}"
            yield Violation("stopped_without_reason", words, line.at, (gang.name,))
