"""How many replicas each ReplicaSet of a Deployment should have now."""

from collections.abc import Sequence

from understudy.kinds.children.deployment.spec import Rollout
from understudy.kinds.children.partial_objects import PartialReplicaSet

Wanted = dict[str, int]  # by the name of a ReplicaSet; '' is the one that the template still lacks


def replicas_wanted(rollout: Rollout) -> Wanted:
    if rollout.deployment.spec.paused:
        return _in_proportion(rollout)
    if rollout.deployment.spec.strategy.type == "Recreate":
        return _recreated(rollout)
    return _rolled(rollout)


def _name(one: PartialReplicaSet | None) -> str:
    return one.metadata.name if one else ""


def _recreated(rollout: Rollout) -> Wanted:
    wanted = {one.metadata.name: 0 for one in rollout.old}
    return {**wanted, _name(rollout.current): rollout.deployment.spec.replicas}


def _rolled(rollout: Rollout) -> Wanted:
    """New pods as far as the surge allows, then old ones away as far as enough pods are available without them."""
    replicas, current = rollout.deployment.spec.replicas, rollout.current
    total = sum(one.spec.replicas for one in rollout.all)
    room = replicas + rollout.deployment.max_surge - total
    mine = current.spec.replicas if current else 0
    grown = min(replicas, mine + max(0, room))
    wanted = {_name(current): grown}
    for one in rollout.old:
        wanted[one.metadata.name] = one.spec.replicas
    if current is not None:
        _shrink_old(rollout, total, wanted)
    return wanted


def _shrink_old(rollout: Rollout, total: int, wanted: Wanted) -> None:
    """Pods that are not available go first: they do not count."""
    current = rollout.current
    least = rollout.deployment.spec.replicas - rollout.deployment.max_unavailable
    starting = current.spec.replicas - current.available if current else 0
    may_go = total - least - starting
    for one in rollout.old:
        broken = min(one.spec.replicas - one.available, max(0, may_go))
        wanted[one.metadata.name] -= broken
        may_go -= broken
    spare = min(may_go, sum(one.available for one in rollout.all) - least)
    for one in rollout.old:
        gone = min(wanted[one.metadata.name], max(0, spare))
        wanted[one.metadata.name] -= gone
        spare -= gone


def _in_proportion(rollout: Rollout) -> Wanted:
    """While the rollout is paused, more or fewer replicas are shared out as they are now."""
    wanted = {one.metadata.name: one.spec.replicas for one in rollout.all}
    active = [one for one in rollout.all if one.spec.replicas] or rollout.all[-1:]
    if not active:
        return {"": 0}
    replicas = rollout.deployment.spec.replicas
    total = sum(wanted.values())
    allowed = replicas + rollout.deployment.max_surge if len(active) > 1 else replicas
    if len(active) == 1 or total > allowed or total < replicas:
        wanted |= _shared(active, allowed)
    return wanted


def _shared(active: Sequence[PartialReplicaSet], count: int) -> Wanted:
    """Whole numbers that add up: the newest gets what rounding leaves."""
    total = sum(one.spec.replicas for one in active) or 1
    shares = {one.metadata.name: one.spec.replicas * count // total for one in active}
    shares[active[-1].metadata.name] += count - sum(shares.values())
    return shares
