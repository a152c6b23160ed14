"""Guards keep repairs and preemptions from making things worse. Each turns the past into a reason to wait, or None."""

import msgspec

from understudy.decide.policy import Policy
from understudy.model.gangs import Gang
from understudy.model.nodes import Node, Verdict
from understudy.model.snapshot import Snapshot

HOUR = 3600.0
PREEMPTION_BUDGET = "preemption budget"
PREEMPTION_SECONDS = 60.0  # so long a preemption counts as in progress after it was recorded


class ActiveGuard(msgspec.Struct, frozen=True):
    guard: str
    detail: str
    until: float | None = None


def backing_off(gang: Gang, policy: Policy, now: float) -> ActiveGuard | None:
    """A gang that keeps failing on healthy nodes gets no seats for a while. Nor does a gang whose controller did not
    create all of its pods."""
    if stalls := [at for at in gang.stalls if now - at < policy.backoff_window]:
        until = max(stalls) + min(policy.backoff * 2.0 ** min(len(stalls) - 1, 64), policy.backoff_limit)
        if until > now:
            return ActiveGuard(
                "back-off", f"its controller did not make all of its pods, {len(stalls)} x lately", until
            )
    recent = [at for at in gang.failures if now - at < policy.backoff_window]
    if len(recent) < 2:
        return None
    until = max(recent) + min(policy.backoff * 2.0 ** min(len(recent) - 1, 64), policy.backoff_limit)
    if until <= now:
        return None
    return ActiveGuard("back-off", f"it failed {len(recent)} times on healthy nodes lately", until)


def over_budget(gang: Gang, policy: Policy, now: float) -> ActiveGuard | None:
    """One gang must not cause preemptions again and again. One occasion counts once, however many victims it had."""
    recent = sorted(at for at in gang.preempted_for_it if now - at < HOUR)
    if is_preempting_now(gang, now):
        recent.pop()  # the occasion in progress may continue
    if len(recent) < policy.preemptions_per_hour:
        return None
    until = recent[len(recent) - policy.preemptions_per_hour] + HOUR
    return ActiveGuard(PREEMPTION_BUDGET, f"others were preempted for it {len(recent)} times within the hour", until)


def is_preempting_now(gang: Gang, now: float) -> bool:
    """Whether a preemption for it is in progress. It is recorded before it begins, so this survives a restart. A gang
    with neither seats nor holds still waits for that preemption."""
    return bool(gang.holds or not gang.seated()) and any(
        0.0 <= now - at < PREEMPTION_SECONDS for at in gang.preempted_for_it
    )


def lemon(node: Node, policy: Policy, now: float) -> ActiveGuard | None:
    """A node that keeps failing gets no seats until enough of its failures are long ago."""
    recent = sorted(at for at in node.failures if now - at < policy.lemon_window)
    if len(recent) < policy.lemon_failures:
        return None
    until = recent[len(recent) - policy.lemon_failures] + policy.lemon_window
    return ActiveGuard("lemon node", f"failed {len(recent)} times lately", until)


def failed_lately(node: Node, policy: Policy, now: float) -> bool:
    return bool(node.failures) and now - node.failures[-1] < policy.node_cooldown


def mass_failure(snapshot: Snapshot, policy: Policy, now: float) -> dict[str, ActiveGuard]:
    """Pools in which so many nodes turned bad at once that the nodes are not the cause; pool -> guard."""
    turned_bad: dict[str, list[float]] = {}
    for name in snapshot.unhealthy:
        node = snapshot.nodes[name].node
        since = now if node.health.since is None else node.health.since
        if node.health.verdict is not Verdict.LEAVING and now - since <= policy.mass_failure_window:
            turned_bad.setdefault(pool_of(node, policy), []).append(since)
    pools: dict[str, ActiveGuard] = {}
    for pool, times in turned_bad.items():
        if len(times) >= policy.mass_failure_nodes:
            size = _size(snapshot, policy, pool)
            if len(times) > policy.mass_failure_share * size:
                detail = f"{len(times)} of {size} nodes{f' of {pool}' if pool else ''} turned bad at once"
                pools[pool] = ActiveGuard("mass failure", detail, max(times) + policy.mass_failure_window)
    return pools


def pool_of(node: Node, policy: Policy) -> str:
    return node.labels.get(policy.pool_label, "")


def _size(snapshot: Snapshot, policy: Policy, pool: str) -> int:
    indexed = snapshot.domains.get(policy.pool_label)
    if indexed is not None and pool:
        return len(indexed.get(pool, ()))
    return sum(1 for info in snapshot.nodes.values() if pool_of(info.node, policy) == pool)
