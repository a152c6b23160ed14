"""What must never happen: ledger, observations and store order together become violations, each with its timeline.

Nothing is convicted by the order in which news arrived. What counts is the order of the store, dated by acknowledged
writes, and what the processes wrote themselves.
"""

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from bench.hotswap.replay import GangReplay, replayed
from tests.chaos.api_objects import JobState, ObservedEvent, PodState
from tests.chaos.faults import Fault
from tests.chaos.ledger import Line
from tests.chaos.observer import History
from tests.chaos.revision_times import StoreClock
from tests.chaos.users import Submission

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
    "preemption_in_vain": "a gang was preempted for another one, which then did not start",
    "write_lost": "an acknowledged write was lost",
    "job_lost": "a job was gone, failed, or did not end although all faults were healed",
    "no_reason": "a job waited and did not say why",
    "waits_though_it_fits": "after all faults were healed, a job waited although it fitted",
    "incident_open": "an incident was open after everything had ended",
    "not_healed": "a node could not be brought back when all faults were over",
    "up_failed": "`understudy up` did not bring the cluster back",
    "supervisor_ended": "the supervisor ended although no fault killed it",
    "left_over": "something was left after `understudy down`",
    "broken_run": "the run itself could not do what it wanted to",
}

A_MOMENT = 2.0  # seconds for a gang to get all its seats, which is one write
A_SWAP = 60.0  # seconds; a swap takes less than one on an idle machine
A_START = 60.0  # seconds for a gang to start for which others had to go
A_WHILE = 20.0  # seconds in which a fault still explains what happens to a gang

_PREEMPTED = re.compile(r"(?:preempt|take .*? from) (?P<victim>\S+)(?: \(.*?\))? for (?P<taker>\S+):")


class Violation(msgspec.Struct, frozen=True):
    kind: str
    words: str
    at: float | None = None  # by the monotonic clock
    gangs: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    timeline: tuple[str, ...] = ()


class Case(msgspec.Struct):
    """All that is known at the end of a run."""

    history: History
    ledger: Sequence[Line]
    clock: StoreClock
    submitted: Mapping[str, Submission]
    faults: Sequence[Fault] = ()
    ended: float = float("inf")  # when the cluster was told to go down: what happens after that is its end

    def gangs(self) -> dict[str, GangReplay]:
        observed_of: dict[str, list[PodState | JobState]] = {name: [] for name in self.submitted}
        for pod in self.history.pods:
            if pod.gang in observed_of:
                observed_of[pod.gang].append(pod)
        for job in self.history.jobs:
            if job.name in observed_of:
                observed_of[job.name].append(job)
        return {name: replayed(name, self.submitted[name].workload.size, seen) for name, seen in observed_of.items()}

    def blind(self, first: int, last: int) -> bool:
        """Whether the observer missed something between these revisions."""
        return any(gap.after <= last and first <= (gap.until or last) for gap in self.history.gaps)

    def stopped(self, begin: float, end: float) -> float:
        """Seconds of this time in which faults kept parts from working."""
        spans = [(f.began, f.ended if f.ended is not None else end) for f in self.faults]
        return sum(max(0.0, min(last, end) - max(first, begin)) for first, last in spans)

    def struck(self, nodes: set[str], begin: float, end: float) -> bool:
        """Whether a fault touched one of these nodes in this time."""
        return any(
            set(fault.nodes) & nodes and fault.began <= end and (fault.ended is None or fault.ended >= begin)
            for fault in self.faults
        )

    def struck_alone(self, nodes: set[str], before: float) -> bool:
        """Whether one of these nodes, and not all at once, was made to fail not long before."""
        found = [fault for fault in self.faults if fault.kind.startswith("node") and set(fault.nodes) & nodes]
        return any(f.began < before and (f.ended is None or f.ended > before - A_SWAP) for f in found)

    def meddled(self, name: str, begin: float, end: float) -> bool:
        one = self.submitted.get(name)
        return one is None or any(begin <= at <= end for at in one.meddled)


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
        preemptions,
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
        episodes = gang.episodes()
        for since, until in gang.partial():
            last = until.revision if until is not None else since.revision
            if case.blind(since.revision, last):
                continue
            begin = case.clock.not_after(since.revision)
            end = case.clock.not_before(until.revision) if until is not None else case.ended
            end = min(end, case.ended)
            episode = next((one for one in episodes if one.has(since.revision)), None)
            starting = episode is not None and (episode.whole is None or episode.whole > since.revision)
            lasted = end - begin - case.stopped(begin, end)
            nodes = gang.nodes_between(since.revision, last)
            if starting and lasted > A_MOMENT and not case.struck(nodes, begin - A_WHILE, end):
                kind = "seated_in_part"
            elif lasted > A_SWAP and not case.struck(nodes, begin + A_MOMENT, end):
                kind = "partly_seated"
            else:
                continue
            words = f"{gang.name}: {len(since.seated)} seats, {len(since.covered)} of {gang.size} covered"
            yield Violation(kind, f"{words} for {lasted:.2f} s at least", begin, (gang.name,))


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
            was_victim = any(name == gang.name and abs(when - at) < A_WHILE for name, when in preempted_at)
            if not was_victim and not _explained(case, gang, step.revision, at):
                words = (
                    f"{gang.name}: at revision {step.revision} no seat is held any more for {', '.join(sorted(lost))}"
                )
                yield Violation("hold_broken", words, at, (gang.name,))


def _explained(case: Case, gang: GangReplay, revision: int, at: float) -> bool:
    """Whether a lost node or its user is why the gang gives up seats."""
    first = next((step.revision for step in gang.steps if step.seated or step.nodes), revision)
    nodes = gang.nodes_between(first, revision)
    if _was_unwell(case, nodes, first, at) or case.struck_alone(nodes, at):
        return True
    return case.meddled(gang.name, at - A_WHILE, at)


def _was_unwell(case: Case, nodes: set[str], first: int, at: float) -> bool:
    """Whether one of these nodes was not ready, or ill, from this revision on until shortly after that moment: what is
    decided because of it may be written before it is."""
    before: dict[str, bool] = {}
    for observed in sorted(case.history.nodes, key=lambda one: one.revision):
        if observed.name in nodes and observed.revision <= first:
            before[observed.name] = observed.ready and not observed.ill
        elif observed.name in nodes and observed.arrived <= at + A_WHILE and (observed.ill or not observed.ready):
            return True
    return not all(before.values())


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


def preemptions(case: Case, found: Mapping[str, GangReplay]) -> Iterator[Violation]:
    for event in preempted(case.history):
        victim, taker = event.victim, event.taker
        if victim not in case.submitted or taker not in case.submitted:
            continue
        high, low = (case.submitted[name].workload.priority for name in (taker, victim))
        if low >= high:
            words = f"{victim} ({low}) was preempted for {taker} ({high})"
            yield Violation("victim_priority", words, event.at, (victim, taker))
        gang, end = found[taker], event.at + A_START
        end += case.stopped(event.at, end)
        if end > case.ended or case.meddled(taker, event.at - A_WHILE, end):
            continue
        started = any(
            line.what == "start" and line.gang == taker and event.at - A_WHILE < line.at < end for line in case.ledger
        )
        nodes = gang.nodes_between(event.revision, event.revision)
        if not started and not case.struck(nodes, event.at - A_WHILE, end):
            words = f"{victim} was preempted for {taker}, of which no process started within {end - event.at:.0f} s"
            yield Violation("preemption_in_vain", words, event.at, (victim, taker))


class Preemption(msgspec.Struct, frozen=True):
    victim: str
    taker: str
    at: float
    revision: int


def preempted(history: History) -> list[Preemption]:
    """By the events on jobs, which name both."""
    found = []
    for event in counted(history.events, "Preempted"):
        match = _PREEMPTED.match(event.message)
        if match is not None and event.kind != "Pod":
            victim, taker = (match[key].rpartition("/")[2] for key in ("victim", "taker"))
            found.append(Preemption(victim, taker, event.arrived, event.revision))
    return found


def counted(events: Sequence[ObservedEvent], reason: str) -> list[ObservedEvent]:
    """Each time it happened once: an event that happens again is the same object with a higher count."""
    seen: set[tuple[str, str, str, int]] = set()
    found = []
    for event in sorted(events, key=lambda one: one.revision):
        key = (event.kind, event.name, event.message, event.count)
        if event.reason == reason and key not in seen:
            seen.add(key)
            found.append(event)
    return found
