"""Reasons are true: what a reason says of room, holders and guards is what a complete search finds."""

import itertools

import msgspec
from hypothesis import given

from tests.decide import exhaustive_search, reference_rules
from tests.decide.random_clusters import Cluster
from tests.decide.test_plan_properties import BUSY, decided
from understudy.decide.policy import Policy
from understudy.decide.projection import snapshot_after
from understudy.model.gangs import Gang, Suspension
from understudy.model.nodes import Verdict
from understudy.model.plans import Plan, Wait, WaitCode, WaitReason
from understudy.model.snapshot import Snapshot

FOR_ROOM = (WaitCode.NO_ROOM, WaitCode.BLOCKED_DOMAINS, WaitCode.GUARDED)


def waits(cluster: Cluster) -> list[tuple[Snapshot, Gang, WaitReason]]:
    """Every wait with the state after the plan: reasons describe what is left after all turns."""
    snapshot, decision = decided(cluster)
    later = snapshot_after(snapshot, decision)
    return [(later, later.gangs[a.gang], a.reason) for a in decision.actions if isinstance(a, Wait)]


@given(BUSY)
def test_every_gang_without_seats_gets_seats_or_a_reason(cluster: Cluster) -> None:
    snapshot, decision = decided(cluster)
    later = snapshot_after(snapshot, decision)
    for key, gang in later.gangs.items():
        if gang.managed and not gang.infrastructure and gang.size and not gang.seated():
            assert key in spoken_to(decision)


def spoken_to(decision: Plan) -> set[str]:
    return {action.gang for action in decision.actions}


@given(BUSY)
def test_the_code_fits_the_gang(cluster: Cluster) -> None:
    for later, gang, reason in waits(cluster):
        match reason.code:
            case WaitCode.SUSPENDED:
                assert gang.suspension is Suspension.BY_OWNER
            case WaitCode.GATED:
                assert gang.gates
            case WaitCode.UNSUPPORTED:
                assert any(m.shape.unsupported for m in gang.members())
            case WaitCode.STILL_LEAVING:
                assert gang.leaving
            case WaitCode.VICTIMS_LEAVING:
                assert gang.holds
                assert any(other.leaving for other in later.gangs.values())
            case WaitCode.NO_REPLACEMENT:
                verdicts = {later.nodes[m.node].node.health.verdict for m in gang.seated()}
                assert Verdict.LEAVING in verdicts
                assert Verdict.LOST not in verdicts
            case WaitCode.CHECKPOINTING:
                verdicts = {later.nodes[m.node].node.health.verdict for m in gang.seated()}
                assert Verdict.LEAVING in verdicts
                assert gang.checkpoint_at is not None
                assert gang.holds
            case WaitCode.GUARDED:
                assert reason.guard
                assert any(guards(gang, cluster.policy, cluster.now))
            case WaitCode.NO_ROOM | WaitCode.BLOCKED_DOMAINS:
                assert gang.unseated()
        assert reason.until is None or reason.until > cluster.now


def guards(gang: Gang, policy: Policy, now: float) -> tuple[bool, bool]:
    """Whether back-off and whether the preemption budget keep the gang waiting."""
    failed = [at for at in gang.failures if now - at < policy.backoff_window]
    wait = min(policy.backoff * 2 ** (len(failed) - 1), policy.backoff_limit) if len(failed) > 1 else 0.0
    preempted = sum(now - at < 3600.0 for at in gang.preempted_for_it)
    return bool(failed) and max(failed) + wait > now and len(failed) > 1, preempted >= policy.preemptions_per_hour


@given(BUSY)
def test_who_waits_for_room_can_have_none_now(cluster: Cluster) -> None:
    for later, gang, reason in waits(cluster):
        if reason.code not in FOR_ROOM or gang.seated() or guards(gang, cluster.policy, cluster.now)[0]:
            continue
        setting = exhaustive_search.Setting(later, cluster.policy, cluster.now)
        feasible = exhaustive_search.makes_room(setting, gang, exhaustive_search.essential(gang))
        board = exhaustive_search.board_for(gang, setting)
        assert not feasible(board)
        if gang.preempts and reason.code is not WaitCode.GUARDED:
            assert exhaustive_search.cheapest(setting, gang, board, feasible) is None


@given(BUSY)
def test_the_room_a_reason_speaks_of_is_there_and_no_more(cluster: Cluster) -> None:
    for later, gang, reason in waits(cluster):
        if reason.code not in FOR_ROOM or gang.seated() or guards(gang, cluster.policy, cluster.now)[0]:
            continue
        assert 0 <= reason.free < reason.wanted
        assert reason.free <= most_that_fit(without_holds(later), gang, cluster)
        if alike(gang):  # seats held for others take room now, unless that room will come from those who are leaving
            assert most_that_fit(later, gang, cluster) <= reason.free


def alike(gang: Gang) -> bool:
    return len({m.shape for m in gang.members()}) == 1


def without_holds(snapshot: Snapshot) -> Snapshot:
    holding = [snapshot.gangs[key] for key in snapshot.holding]
    return snapshot.updated(gangs=[msgspec.structs.replace(gang, holds=()) for gang in holding])


def most_that_fit(later: Snapshot, gang: Gang, cluster: Cluster) -> int:
    """How many of the members (islands, where they need domains) it cannot do without could be seated at once now."""
    setting = exhaustive_search.Setting(later, cluster.policy, cluster.now)
    board = exhaustive_search.board_for(gang, setting, with_leaving=True)
    bound = any(i.topology is not None and i.topology.binding for i in gang.islands)
    needed = set(exhaustive_search.essential(gang))
    units = [[m.name for m in i.members] for i in gang.islands] if bound else [[m.name] for m in gang.members()]
    units = [unit for unit in units if needed.issuperset(unit)]
    for count in range(len(units), 0, -1):
        for chosen in itertools.combinations(units, count):
            names = [name for unit in chosen for name in unit]
            may = lambda m, n: reference_rules.may_ever_sit(gang, m, n, cluster.policy, cluster.now)  # noqa: E731
            if reference_rules.placement(board, gang, names, may) is not None:
                return count
            if not bound and alike(gang):
                break  # members are alike: who of them is tried makes no difference
    return 0


@given(BUSY)
def test_holders_sit_there_and_keep_their_seats_for_the_reason_given(cluster: Cluster) -> None:
    for later, gang, reason in waits(cluster):
        for holder in reason.holders:
            other = later.gangs[holder.gang]
            assert holder.gang != gang.key
            assert holder.priority == other.priority
            assert 0 < holder.seats <= len(other.seated()) + len(other.leaving)
            if reason.code in (WaitCode.NO_ROOM, WaitCode.BLOCKED_DOMAINS):
                assert holder.keeps == keeps(gang, other)
            elif reason.code is WaitCode.VICTIMS_LEAVING:
                assert other.leaving


def keeps(gang: Gang, other: Gang) -> str:
    if not other.managed:
        return "is seated by another scheduler"
    if not other.seated():
        return "is leaving"
    if other.priority >= gang.priority:
        return f"has {'the same' if other.priority == gang.priority else 'a higher'} priority ({other.priority})"
    if not gang.preempts:
        return "is less important, but this gang may not preempt"
    return "is less important, but its seats are not enough"


@given(BUSY)
def test_a_gang_that_awaits_victims_names_them(cluster: Cluster) -> None:
    for _, _, reason in waits(cluster):
        assert reason.code is not WaitCode.VICTIMS_LEAVING or reason.holders
