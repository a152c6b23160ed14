"""How long new capacity is worth waiting for: turns a gang that would preempt into the time from which it may."""

from collections.abc import Iterable

from msgspec.structs import replace

from understudy.decide.guards import ActiveGuard
from understudy.decide.proposal import Proposal
from understudy.model.gangs import Gang, Member
from understudy.model.plans import WaitCode, WaitReason

PREEMPTION_DELAY = "preemption delay"


def start_delayed(proposal: Proposal, gang: Gang) -> ActiveGuard | None:
    """Of a gang that waits to start. Its own delay goes before that of the policy."""
    delay = proposal.policy.preemption_delay if gang.preemption_delay is None else gang.preemption_delay
    return _guard(gang.unseated_since + delay, proposal.now) if delay else None


def repair_delayed(proposal: Proposal, gang: Gang, displaced: Iterable[Member]) -> ActiveGuard | None:
    """Of a running gang, since its last loss. It holds seats while it waits, so that only its own delay counts."""
    if not gang.preemption_delay:
        return None
    nodes = (proposal.snapshot.nodes.get(member.node) for member in displaced)
    losses = [info.node.health.since for info in nodes if info is not None and info.node.health.since is not None]
    lost_at = max([*losses, gang.unseated_since])
    return _guard((lost_at or proposal.now) + gang.preemption_delay, proposal.now)


def with_preemption_delay(proposal: Proposal, gang: Gang, reason: WaitReason) -> WaitReason:
    """The reason of a gang that could preempt, and waits for new machines first."""
    if reason.guard or not gang.preempts or all(priority >= gang.priority for priority in proposal.snapshot.running):
        return reason
    guard = start_delayed(proposal, gang)
    if guard is None:
        return reason
    return replace(reason, code=WaitCode.GUARDED, guard=f"{guard.guard}: {guard.detail}", until=guard.until)


def _guard(until: float, now: float) -> ActiveGuard | None:
    if until <= now:
        return None
    return ActiveGuard(PREEMPTION_DELAY, "it waits for new machines before it preempts", until)
