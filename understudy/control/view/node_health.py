"""Node verdicts: turns a node object, its lease and the time into healthy, suspect, lost or leaving, and says why.

The worst finding wins. What others write on a node is a row of the table in `node_signals`; a signal that is more than
that is a function here, named in SIGNALS."""

import enum
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from understudy.control.view.node_signals import rules_with
from understudy.control.view.signal_rules import SignalFinding, SignalRule, signals_on
from understudy.kinds.annotations import NOTICE, read_notice, read_time
from understudy.model.nodes import Health, Verdict
from understudy.objects.errors import BadObject
from understudy.objects.meta import seconds
from understudy.objects.nodes import Lease, Node


class CordonPolicy(enum.StrEnum):
    """What a cordon means for the pods that run there."""

    STAY = "stay"
    LEAVE = "leave"


class HealthLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """When a node counts as suspect, lost or leaving. Leases are judged in missed renewals: a node renews four times a
    lease duration."""

    lease_suspect: float = 1.5  # renewals missed: with Kubernetes' leases of 40 s, 15 s after the last one
    lease_lost: float = 2.3  # two renewals missed, and some delay of the network: 23 s after the last one
    # seconds for which a node may report itself as not ready before its seats count as lost
    not_ready_lost: float = 30.0
    maintenance_notice: float = 3600.0  # seconds before announced maintenance from which on a node counts as leaving
    # Seconds beyond their grace period for which pods that were force-deleted may still run on a node that came back.
    # None: nodes report the end of such pods before their resources are given to others.
    return_margin: float | None = 30.0
    signals: tuple[SignalRule, ...] = ()  # they go before the table of defaults
    cordon: CordonPolicy = CordonPolicy.STAY
    spot_labels: dict[str, str] = {}  # node labels that mark spot capacity, beside those of the clouds


DEFAULT_LIMITS = HealthLimits()


class HealthFinding(NamedTuple):
    """The result of one signal: a verdict, and when it could change without any event."""

    health: Health
    changes_at: float | None = None
    problem: BadObject | None = None  # a time on the node that cannot be read, and does not count


class Heartbeat(NamedTuple):
    """What the lease of a node shows about it."""

    renewed: float  # time of the last renewal
    interval: float  # seconds between two renewals
    since: float  # its silence is as long as if it had renewed then and all other nodes had renewed ever since
    missed: float = 0.0  # seconds of that silence before the last pause
    given_up: bool = False  # the lease was given up and not renewed since
    proven: bool = True  # whether the node was certainly alive a moment ago


class NodeCheck(NamedTuple):
    node: Node
    heartbeat: Heartbeat | None
    now: float
    limits: HealthLimits


HEALTHY = Health()
_GRAVITY = {Verdict.HEALTHY: 0, Verdict.SUSPECT: 1, Verdict.LEAVING: 2, Verdict.LOST: 3}

_NOT_READY = "node.kubernetes.io/not-ready"
_CORDONED = "node.kubernetes.io/unschedulable"


def renewal_interval(lease: Lease) -> float:
    """Seconds between two renewals; a node renews four times a lease duration."""
    return lease.spec.lease_duration_seconds / 4


def heartbeat(lease: Lease | None, paused: float = 0.0) -> Heartbeat | None:
    """From a lease alone, where leases are read only once. `paused` are the seconds in which no node renewed."""
    renewed = seconds(lease.spec.renew_time) if lease else None
    if lease is None or renewed is None:
        return None
    return Heartbeat(renewed, renewal_interval(lease), since=renewed + max(0.0, paused))


def examine_node(node: Node, beat: Heartbeat | None, now: float, limits: HealthLimits) -> HealthFinding:
    """The worst finding (of two leavings the earlier), and the first time at which any finding could change by time
    alone."""
    case = NodeCheck(node, beat, now, limits)
    worst, soonest, first_problem = HEALTHY, None, None
    for signal in SIGNALS:
        for health, changes_at, problem in signal(case):
            if is_worse(health, worst):
                worst = health
            if changes_at is not None and (soonest is None or changes_at < soonest):
                soonest = changes_at
            first_problem = first_problem or problem
    return HealthFinding(worst, soonest, first_problem)


def is_silent(node: Node, beat: Heartbeat | None, now: float, limits: HealthLimits) -> bool:
    """Whether the node does not answer, or it is not certain yet that it does: it may not learn of deletions."""
    if any(one.type == "Ready" and one.status == "Unknown" for one in node.status.conditions):
        return True
    if beat is not None and not beat.proven:
        return True
    return any(found.health.verdict is Verdict.LOST for found in lease_age(NodeCheck(node, beat, now, limits)))


def is_worse(one: Health, other: Health) -> bool:
    if _GRAVITY[one.verdict] != _GRAVITY[other.verdict]:
        return _GRAVITY[one.verdict] > _GRAVITY[other.verdict]
    if one.verdict is Verdict.LEAVING and one.deadline is not None:
        return other.deadline is None or one.deadline < other.deadline
    return False


def ready_condition(case: NodeCheck) -> Iterator[HealthFinding]:
    """Unknown means that the control plane has given the node up; False, that its kubelet is alive and reports a
    problem."""
    if is_joining(case.node):
        return
    for condition in case.node.status.conditions:
        if condition.type != "Ready" or condition.status == "True":
            continue
        since = seconds(condition.last_transition_time)
        why = f"not ready: {condition.reason or condition.status}"
        if condition.status == "Unknown":
            yield HealthFinding(Health(Verdict.LOST, why, since))
        else:
            yield _unready(case, why, since)


def not_ready_taint(case: NodeCheck) -> Iterator[HealthFinding]:
    if is_joining(case.node):
        return
    for taint in case.node.spec.taints:
        if taint.key == _NOT_READY:
            yield _unready(case, f"taint {taint.key}", seconds(taint.time_added))


def is_joining(node: Node) -> bool:
    """Whether the node has never been ready. Kubernetes taints a node when it is created, and only that taint has no
    time. The node has no pods that could be lost, and the taint keeps pods away; it is new, not unhealthy."""
    return any(t.key == _NOT_READY and t.effect == "NoSchedule" and t.time_added is None for t in node.spec.taints)


def _unready(case: NodeCheck, why: str, since: float | None) -> HealthFinding:
    """Suspect at first, then lost. Without a recorded time, the change counts as long ago."""
    lost_at = None if since is None else since + case.limits.not_ready_lost
    if lost_at is None or case.now >= lost_at:
        return HealthFinding(Health(Verdict.LOST, why, since))
    return HealthFinding(Health(Verdict.SUSPECT, why, since), lost_at)


def lease_age(case: NodeCheck) -> Iterator[HealthFinding]:
    """Only for nodes with a lease: not every cluster has leases."""
    beat = case.heartbeat
    if beat is None:
        return
    suspect_after = beat.interval * case.limits.lease_suspect
    lost_at = beat.since + beat.interval * case.limits.lease_lost
    if beat.given_up or case.now >= lost_at:
        yield HealthFinding(Health(Verdict.LOST, "its lease has run out", beat.renewed))
    elif not beat.proven:
        yield HealthFinding(Health(Verdict.SUSPECT, "no renewal of its lease was seen yet", beat.renewed), lost_at)
    elif case.now >= beat.since + suspect_after or beat.missed >= suspect_after:
        yield HealthFinding(Health(Verdict.SUSPECT, "its lease was not renewed", beat.renewed), lost_at)
    else:
        yield HealthFinding(HEALTHY, beat.since + suspect_after)


def drain_deadline(case: NodeCheck) -> Iterator[HealthFinding]:
    meta = case.node.metadata
    if meta.annotations and (deadline := read_time(meta.annotations, "drain-deadline", case.node)) is not None:
        yield HealthFinding(Health(Verdict.LEAVING, "it is being drained", None, deadline))


def announced_end(case: NodeCheck) -> Iterator[HealthFinding]:
    """The notice that the machine's own agent, or a person, wrote on the node."""
    meta = case.node.metadata
    if NOTICE in meta.annotations and (notice := read_notice(meta.annotations, case.node)) is not None:
        words = " ".join(part for part in (notice.source, notice.cause) if part)
        yield HealthFinding(
            Health(Verdict.LEAVING, f"notice{f' ({words})' if words else ''}", notice.at, notice.deadline)
        )


def cordon(case: NodeCheck) -> Iterator[HealthFinding]:
    """By policy. What stands in for a node that cannot be read is cordoned and has no conditions: it stays."""
    if case.limits.cordon is CordonPolicy.LEAVE and case.node.spec.unschedulable and case.node.status.conditions:
        added = (taint.time_added for taint in case.node.spec.taints if taint.key == _CORDONED)
        yield HealthFinding(Health(Verdict.LEAVING, "it is cordoned", seconds(next(added, None))))


def table_of_signals(case: NodeCheck) -> Iterator[HealthFinding]:
    for signal in signals_on(case.node, rules_with(case.limits.signals)):
        if signal.rule.verdict is not Verdict.HEALTHY:
            yield _announced(case, signal) if signal.rule.announces else _counted(case, signal)


def _announced(case: NodeCheck, signal: SignalFinding) -> HealthFinding:
    """A time that may be far away. One that cannot be read announces nothing."""
    if signal.deadline is None:
        return HealthFinding(HEALTHY, problem=signal.problem)
    notice_at = signal.deadline - case.limits.maintenance_notice
    if case.now < notice_at:
        return HealthFinding(HEALTHY, notice_at)
    return HealthFinding(Health(signal.rule.verdict, signal.cause, notice_at, signal.deadline))


def _counted(case: NodeCheck, signal: SignalFinding) -> HealthFinding:
    created = seconds(case.node.metadata.creation_timestamp)
    counts_at = float("-inf") if created is None else created + signal.rule.after_creation
    if signal.rule.after_creation and case.now < counts_at:
        return HealthFinding(HEALTHY, counts_at, signal.problem)
    health = Health(signal.rule.verdict, signal.cause, signal.since, signal.deadline)
    return HealthFinding(health, problem=signal.problem)


SIGNALS = (
    ready_condition,
    not_ready_taint,
    lease_age,
    drain_deadline,
    announced_end,
    cordon,
    table_of_signals,
)
