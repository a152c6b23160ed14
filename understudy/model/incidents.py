"""Incidents: one record from a failure to the moment all members run again, built from losses, decisions and progress.

Every function takes an incident and returns the next one. Times never run backwards, and what is closed stays as it is.
"""

import enum
import math
from collections.abc import Iterable, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from understudy.model.plans import Move, SeatSource


class IncidentOutcome(enum.StrEnum):
    OPEN = "open"
    RECOVERED = "recovered"  # its nodes came back before any action
    SWAPPED = "swapped"
    SHRUNK = "shrunk"  # it continues with fewer members
    REQUEUED = "requeued"  # it gave up its seats, queued, and runs again
    ENDED = "ended"  # the job has finished or was deleted


_GRAVITY = (IncidentOutcome.OPEN, IncidentOutcome.SWAPPED, IncidentOutcome.SHRUNK, IncidentOutcome.REQUEUED)

# The steps in order. The time of each is in the field `<step>_at`.
STEPS = ("failed", "detected", "decided", "victims_out", "seated", "running")


class Incident(msgspec.Struct, frozen=True):
    """One disruption of one gang. Times are seconds since 1970; None: not reached, or not known."""

    name: str  # the name of its record
    gang: str  # Kind/namespace/name
    uid: str  # of the job: a later job of the same name has another
    cause: str
    nodes: tuple[str, ...]  # nodes that are lost or leaving
    members: tuple[str, ...]  # members that sat there
    wanted: int  # how many members should run again
    detected_at: float
    failed_at: float | None = None
    decided_at: float | None = None
    victims_out_at: float | None = None  # stays None where no gang was preempted
    seated_at: float | None = None
    running_at: float | None = None
    decision: IncidentOutcome = IncidentOutcome.OPEN  # the outcome that the most severe decision so far leads to
    outcome: IncidentOutcome = IncidentOutcome.OPEN
    moves: tuple[Move, ...] = ()
    victims: tuple[str, ...] = ()
    deadline: float | None = None  # with a notice: when the first of its nodes was to go, or went

    @property
    def open(self) -> bool:
        return self.outcome is IncidentOutcome.OPEN

    @property
    def namespace(self) -> str:
        return self.gang.split("/")[1]

    @property
    def began_at(self) -> float:
        """The start of the incident: the failure, or its detection where the time of the failure is unknown."""
        return self.detected_at if self.failed_at is None else self.failed_at

    @property
    def total(self) -> float | None:
        return None if self.running_at is None else self.running_at - self.began_at

    @property
    def beaten(self) -> bool | None:
        """Whether all members sat elsewhere before the deadline of the notice. None: there was no notice, or that is
        not known yet."""
        if self.deadline is None or self.outcome is IncidentOutcome.ENDED or (self.open and self.seated_at is None):
            return None
        return self.seated_at is not None and self.seated_at <= self.deadline

    @property
    def sources(self) -> tuple[str, ...]:
        """The kinds of seats the moved members got: spare, idle, victim, or warm for a warm understudy."""
        return tuple(sorted({str(move.source) for move in self.moves}))

    @property
    def latest(self) -> float:
        return max(at for step in STEPS if (at := self.at(step)) is not None)

    def at(self, step: str) -> float | None:
        found: float | None = getattr(self, f"{step}_at")
        return found


class GangLoss(msgspec.Struct, frozen=True):
    """What a gang has lost, or is about to lose, at one moment."""

    nodes: tuple[str, ...]
    members: tuple[str, ...]
    cause: str
    since: float | None = None
    told_at: float | None = None  # with a notice: when it came
    deadline: float | None = None  # with a notice: when the first node was to go, or went


class IncidentDecision(msgspec.Struct, frozen=True):
    """What a plan does about the loss."""

    leads_to: IncidentOutcome
    moves: tuple[Move, ...] = ()
    victims: tuple[str, ...] = ()
    wanted: int | None = None  # how many members should run from now on; None: as before


class GangProgress(msgspec.Struct, frozen=True):
    """The state of a gang now. Only seats on nodes that are not lost count."""

    wanted: int = 0  # members it needs, at most
    seated: int = 0
    running: int = 0
    broken: bool = False  # whether members still sit on lost nodes
    victims_in: bool = False  # whether victims still sit where its members should sit
    gone: bool = False  # whether the job has finished or was deleted


def with_loss(incident: Incident, loss: GangLoss) -> Incident:
    """The incident with a further loss. Steps after the loss have to be reached again."""
    nodes = _joined(incident.nodes, loss.nodes)
    members = _joined(incident.members, loss.members)
    if not incident.open:
        return incident
    if loss.deadline is not None:
        deadline = loss.deadline if incident.deadline is None else min(incident.deadline, loss.deadline)
        incident = replace(incident, deadline=deadline)
    if (nodes, members) == (incident.nodes, incident.members):
        return incident
    fresh = set(loss.nodes) - set(incident.nodes)
    cause = f"{incident.cause}; {loss.cause}" if fresh else incident.cause
    moves = tuple(move for move in incident.moves if move.to_node not in fresh)
    return replace(incident, nodes=nodes, members=members, cause=cause, moves=moves, seated_at=None)


def with_decision(incident: Incident, decision: IncidentDecision, at: float) -> Incident:
    """The incident with a decision. The first decision sets the time; later ones add moves and victims."""
    if not incident.open:
        return incident
    known = {move.to_node for move in incident.moves}
    warm = {move.to_node for move in decision.moves if move.source is SeatSource.WARM}
    before = [replace(move, source=SeatSource.WARM) if move.to_node in warm else move for move in incident.moves]
    victims = _joined(incident.victims, decision.victims)
    wanted = incident.wanted if decision.wanted is None else min(incident.wanted, decision.wanted)
    return replace(
        incident,
        decided_at=_not_before(incident, at) if incident.decided_at is None else incident.decided_at,
        decision=max(incident.decision, decision.leads_to, key=_GRAVITY.index),
        moves=(*before, *(move for move in decision.moves if move.to_node not in known)),
        victims=victims,
        victims_out_at=incident.victims_out_at if victims == incident.victims else None,
        wanted=wanted,
    )


def with_progress(incident: Incident, progress: GangProgress, at: float) -> Incident:
    """The incident with the steps reached so far. It closes when enough members run again, or when the job is gone."""
    if not incident.open:
        return incident
    if progress.gone:
        return replace(incident, outcome=IncidentOutcome.ENDED)
    at = _not_before(incident, at)
    wanted = min(incident.wanted, progress.wanted)
    whole = not progress.broken and progress.seated >= wanted
    runs = whole and progress.running >= wanted
    if incident.decided_at is None:
        # Without a decision the incident closes only when the gang has recovered by itself.
        return replace(incident, running_at=at, outcome=IncidentOutcome.RECOVERED) if runs else incident
    if incident.victims and incident.victims_out_at is None and (whole or not progress.victims_in):
        incident = replace(incident, victims_out_at=at)
    if whole and incident.seated_at is None:
        incident = replace(incident, seated_at=at)
    return replace(incident, running_at=at, outcome=incident.decision) if runs else incident


def merged_records(kept: Incident, seen: Incident) -> Incident:
    """The recorded incident merged with what this process has seen: of every step, the earliest time."""
    both = with_loss(kept, GangLoss(seen.nodes, seen.members, seen.cause, seen.failed_at, deadline=seen.deadline))
    if not both.open:
        return both
    if seen.decided_at is not None:
        both = with_decision(
            both, IncidentDecision(seen.decision, seen.moves, seen.victims, seen.wanted), seen.decided_at
        )
    return both


def _joined(known: tuple[str, ...], more: Iterable[str]) -> tuple[str, ...]:
    return (*known, *(name for name in more if name not in known))


def _not_before(incident: Incident, at: float) -> float:
    """Steps stay in order even if the clock is set back."""
    return max(at, incident.latest)


# Statistics


def step_seconds(incident: Incident) -> dict[str, float]:
    """The reached steps and the total, in seconds from the failure."""
    found = {step: at - incident.began_at for step in STEPS[1:] if (at := incident.at(step)) is not None}
    return {**found, **({"total": incident.total} if incident.total is not None else {})}


class StepStatistics(msgspec.Struct, frozen=True):
    count: int
    median: float
    p99: float


def step_statistics(incidents: Iterable[Incident]) -> Mapping[str, StepStatistics]:
    """Median and p99 of each step and of the total, over the incidents that reached them."""
    times: dict[str, list[float]] = {}
    for incident in incidents:
        for step, took in step_seconds(incident).items():
            times.setdefault(step, []).append(took)
    order = (*STEPS[1:], "total")
    return {
        step: StepStatistics(len(times[step]), percentile(times[step], 50), percentile(times[step], 99))
        for step in order
        if step in times
    }


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that is not exceeded by `share` percent of them; of two in the middle, their mean."""
    ranked = sorted(values)
    if share == 50 and len(ranked) % 2 == 0:
        middle = len(ranked) // 2
        return (ranked[middle - 1] + ranked[middle]) / 2
    return ranked[max(0, math.ceil(len(ranked) * share / 100) - 1)]
