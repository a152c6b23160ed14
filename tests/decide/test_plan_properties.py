"""What holds of every plan, on random clusters: nothing forbidden happens, and reasons are true."""

import random
from collections.abc import Iterator

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.decide import exhaustive_search, reference_rules
from tests.decide.random_clusters import Cluster, ClusterOptions, clusters, seeded
from tests.examples import seeds
from understudy.decide.cycle import plan
from understudy.decide.fit import refusal
from understudy.decide.projection import apply_actions, snapshot_after, without_leaving_pods
from understudy.model.gangs import Gang
from understudy.model.nodes import Verdict
from understudy.model.plans import Action, Grow, Hold, Plan, Preempt, Requeue, Shrink, Start, Swap, Wait
from understudy.model.snapshot import Snapshot

ANY = clusters()
CROWDED = ClusterOptions(domains=3, nodes_in_domain=2, running=5, waiting=3, sick=20, holds=25)
FULL = ClusterOptions(
    domains=3, nodes_in_domain=2, running=5, waiting=2, sick=12, full=True, islands=(1, 2, 3), members=(1, 2)
)


def lived(cluster: Cluster, steps: int) -> Cluster:
    """The cluster after some steps of its own plans: carried out, and at every second step settled."""
    snapshot = cluster.snapshot()
    for step in range(steps):
        soon = snapshot_after(snapshot, plan(snapshot, cluster.policy, cluster.now))
        snapshot = without_leaving_pods(soon) if step % 2 else soon
    return msgspec.structs.replace(cluster, gangs=tuple(snapshot.gangs[key] for key in sorted(snapshot.gangs)))


SPOT = msgspec.structs.replace(CROWDED, spot=50)
BUSY = st.builds(lived, clusters(CROWDED) | clusters(FULL) | clusters(SPOT), st.integers(0, 3))


def decided(cluster: Cluster) -> tuple[Snapshot, Plan]:
    snapshot = cluster.snapshot()
    return snapshot, plan(snapshot, cluster.policy, cluster.now)


def moments(snapshot: Snapshot, decision: Plan) -> tuple[Snapshot, Snapshot]:
    """Right after the plan, while victims are on their way out, and once they have left."""
    soon = snapshot_after(snapshot, decision)
    return soon, without_leaving_pods(soon)


def new_seats(action: Action) -> dict[str, str]:
    match action:
        case Start() | Grow():
            return dict(action.seats)
        case Swap():
            return {move.member: move.to_node for move in action.moves}
        case _:
            return {}


def states(snapshot: Snapshot, decision: Plan) -> Iterator[tuple[Snapshot, Action]]:
    """Every action with the state it was decided in: before the first action for its own gang."""
    before: dict[str, Snapshot] = {}
    for index, action in enumerate(decision.actions):
        whom = action.by if isinstance(action, Preempt) else action.gang
        if whom not in before:
            before[whom] = apply_actions(snapshot, decision.actions[:index])
        yield before[whom], action


def is_lost(snapshot: Snapshot, node: str) -> bool:
    return snapshot.nodes[node].node.health.verdict is Verdict.LOST


# Placing


@given(ANY)
def test_the_clusters_themselves_are_in_order(cluster: Cluster) -> None:
    snapshot = cluster.snapshot()
    board = reference_rules.board_of(snapshot)
    assert reference_rules.overfull(board) == []
    assert reference_rules.conflicts(board) == []
    for gang in snapshot.gangs.values():
        assert reference_rules.scattered(gang, board.nodes) == []
        assert not gang.seated() or len(gang.seated()) >= gang.minimum


@given(BUSY)
def test_no_node_is_over_committed(cluster: Cluster) -> None:
    snapshot, decision = decided(cluster)
    for moment in moments(snapshot, decision):
        assert reference_rules.overfull(reference_rules.board_of(moment, origin=snapshot)) == []


@given(BUSY)
def test_seats_promised_after_a_preemption_are_there_once_the_victims_have_left(cluster: Cluster) -> None:
    snapshot, decision = decided(cluster)
    promised = {a.gang for a in decision.actions if isinstance(a, Start | Swap) and a.waits_for}
    _, later = moments(snapshot, decision)
    board = reference_rules.board_of(later, holders=[later.gangs[key] for key in sorted(promised)])
    assert reference_rules.overfull(board) == []
    assert reference_rules.conflicts(board) == []


@given(BUSY)
def test_exclusive_domains_are_never_shared_not_even_for_a_moment(cluster: Cluster) -> None:
    snapshot, decision = decided(cluster)
    for moment in moments(snapshot, decision):
        assert reference_rules.conflicts(reference_rules.board_of(moment, origin=snapshot)) == []


@given(BUSY)
def test_no_gang_is_partly_placed(cluster: Cluster) -> None:
    snapshot, decision = decided(cluster)
    soon = snapshot_after(snapshot, decision)
    nodes = reference_rules.real_nodes(soon)
    for action in decision.actions:
        gang = soon.gangs[action.gang]
        assert reference_rules.scattered(gang, nodes) == []
        if isinstance(action, Start | Swap) and not action.waits_for:
            assert set(exhaustive_search.essential(gang)) <= {m.name for m in gang.seated()}
        elif isinstance(action, Start):
            assert set(exhaustive_search.essential(gang)) <= set(dict(action.seats))
        elif isinstance(action, Requeue):
            assert gang.seated() == []
        elif isinstance(action, Shrink):
            promised = {name for name, _ in gang.holds}  # where the rest of it waits for victims to leave
            assert len({m.name for m in gang.seated()} | promised) >= gang.minimum


def begun(cluster: Cluster) -> Cluster:
    """Every second gang that sits whole has begun in part: its last member's seat is held for a pod that will come."""
    gangs = []
    for number, gang in enumerate(cluster.gangs):
        seated = gang.seated()
        alone = gang.infrastructure or not gang.managed or gang.unseated() or gang.holds or gang.leaving
        if number % 2 or len(seated) < 2 or alone:
            gangs.append(gang)
        else:
            last = seated[-1]
            gangs.append(msgspec.structs.replace(gang.reseated({last.name: ""}), holds=((last.name, last.node),)))
    return msgspec.structs.replace(cluster, gangs=tuple(gangs))


@pytest.mark.law
@pytest.mark.parametrize("options", [CROWDED, FULL])
def test_a_seat_reserved_for_a_gang_that_has_begun_is_its_own_until_it_is_preempted(
    options: ClusterOptions,
) -> None:
    for seed in seeds(200):
        snapshot, decision = decided(begun(seeded(seed, msgspec.structs.replace(options, sick=0))))
        soon = snapshot_after(snapshot, decision)
        whole = {action.gang for action in decision.actions if isinstance(action, Preempt) and action.whole}
        for key in sorted(set(snapshot.gangs) - whole):
            gang, then = snapshot.gangs[key], soon.gangs[key]
            if not gang.elastic:
                kept = {*then.holds, *((m.name, m.node) for m in then.seated())}
                lost = [(m, node) for m, node in gang.reserved() if (m.name, node) not in kept]
                assert not [node for m, node in lost if refusal(m.shape, snapshot.nodes[node].node) is None], seed


@given(BUSY)
def test_every_seat_is_one_the_node_allows(cluster: Cluster) -> None:
    snapshot, decision = decided(cluster)
    for action in decision.actions:
        gang = snapshot.gangs[action.gang]
        members = {m.name: m for m in gang.members()}
        for name, node in new_seats(action).items():
            info = snapshot.nodes[node]
            repair = isinstance(action, Swap) or (name, node) in gang.holds  # a repair may have to wait for its spare
            assert reference_rules.may_ever_sit(gang, members[name], info.node, cluster.policy, cluster.now, repair)


@given(st.builds(lived, clusters(SPOT), st.integers(0, 3)))
def test_no_new_seat_breaks_what_its_gang_says_about_spot_capacity(cluster: Cluster) -> None:
    snapshot, decision = decided(cluster)
    nodes = reference_rules.real_nodes(snapshot)
    for state, action in states(snapshot, decision):
        new = new_seats(action)
        staying = [m.node for m in state.gangs[action.gang].seated() if m.name not in new]
        assert not new or reference_rules.keeps_capacity_rules(state.gangs[action.gang], nodes, staying, new.values())


# Preempting


@given(BUSY)
def test_victims_are_less_important_and_their_preemptor_may_preempt(cluster: Cluster) -> None:
    snapshot, decision = decided(cluster)
    for action in decision.actions:
        if isinstance(action, Preempt):
            victim, by = snapshot.gangs[action.gang], snapshot.gangs[action.by]
            assert exhaustive_search.may_be_victim(victim, by)
            assert by.preempts
            seats = {(m.name, m.node) for m in victim.seated()}
            assert seats >= set(zip(action.members, action.nodes, strict=True))


@given(BUSY)
def test_a_victim_goes_whole_or_gives_only_its_surplus(cluster: Cluster) -> None:
    snapshot, decision = decided(cluster)
    soon = snapshot_after(snapshot, decision)
    for state, action in states(snapshot, decision):
        if isinstance(action, Preempt):
            seats = {m.name for m in state.gangs[action.gang].seated()}
            left = seats - set(action.members)
            assert not left if action.whole else len(left) >= state.gangs[action.gang].minimum
            assert not action.whole or not soon.gangs[action.gang].seated()


@given(BUSY)
def test_a_preemptor_gets_the_seats_of_its_victims(cluster: Cluster) -> None:
    snapshot, decision = decided(cluster)
    taken = {a.gang: set(a.waits_for) for a in decision.actions if isinstance(a, Start | Swap) and a.waits_for}
    victims: dict[str, set[str]] = {}
    for action in decision.actions:
        if isinstance(action, Preempt):
            victims.setdefault(action.by, set()).add(action.gang)
    for by, gangs in victims.items():
        assert gangs <= taken[by]
        held = dict(snapshot_after(snapshot, decision).gangs[by].holds)
        assert held


@given(BUSY)
def test_every_victim_is_necessary(cluster: Cluster) -> None:
    snapshot, decision = decided(cluster)
    for by, (state, losses) in preemptions(snapshot, decision).items():
        gang = state.gangs[by]
        seats = {name for a in decision.actions if a.gang == by for name in new_seats(a)}
        aim = seats & set(exhaustive_search.displaced(state, gang)) if gang.seated() else seats
        setting = exhaustive_search.Setting(state, cluster.policy, cluster.now)
        feasible = exhaustive_search.makes_room(setting, gang, sorted(aim))
        board = exhaustive_search.board_for(gang, setting)
        assert feasible(exhaustive_search.without(board, losses))
        for fewer in exhaustive_search.with_one_put_back(losses):
            assert not feasible(exhaustive_search.without(board, fewer)), f"{by} could do with {fewer}"


def preemptions(snapshot: Snapshot, decision: Plan) -> dict[str, tuple[Snapshot, list[exhaustive_search.Loss]]]:
    """For each preemptor the state in which it chose, and its victims."""
    found: dict[str, tuple[Snapshot, list[exhaustive_search.Loss]]] = {}
    for state, action in states(snapshot, decision):
        if isinstance(action, Preempt):
            victim = state.gangs[action.gang]
            members = tuple(m for m in victim.seated() if m.name in action.members)
            found.setdefault(action.by, (state, []))[1].append(exhaustive_search.Loss(victim, members, action.whole))
    return found


# One answer


@given(BUSY, st.integers(0, 2**16))
def test_the_order_of_arrival_does_not_matter(cluster: Cluster, seed: int) -> None:
    shuffled = random.Random(seed)
    nodes, gangs, budgets = list(cluster.nodes), list(cluster.gangs), list(cluster.budgets)
    for things in (nodes, gangs, budgets):
        shuffled.shuffle(things)
    expected = plan(cluster.snapshot(), cluster.policy, cluster.now)
    assert plan(Snapshot.of(nodes, gangs, budgets), cluster.policy, cluster.now) == expected
    grown = Snapshot.of(budgets=budgets)
    for gang in gangs:
        grown = grown.updated(gangs=[gang])
    for node in nodes:
        grown = grown.updated(nodes=[node])
    assert plan(grown, cluster.policy, cluster.now) == expected


@given(BUSY)
def test_planning_again_changes_nothing(cluster: Cluster) -> None:
    snapshot, decision = decided(cluster)
    again = plan(snapshot_after(snapshot, decision), cluster.policy, cluster.now)
    assert [a for a in again.actions if not isinstance(a, Wait)] == []


@given(BUSY)
def test_plans_come_to_rest(cluster: Cluster) -> None:
    snapshot, seen = cluster.snapshot(), []
    for _ in range(4 + 2 * len(cluster.gangs)):
        decision = plan(snapshot, cluster.policy, cluster.now)
        if all(isinstance(a, Wait) for a in decision.actions) and not any(g.leaving for g in snapshot.gangs.values()):
            return
        seen.append([a for a in decision.actions if not isinstance(a, Wait)])
        snapshot = without_leaving_pods(snapshot_after(snapshot, decision))
    raise AssertionError(f"still not at rest: {seen}")


# Repair


@given(BUSY)
def test_healthy_members_keep_their_seats_unless_their_island_moves_whole(cluster: Cluster) -> None:
    snapshot, decision = decided(cluster)
    for action in decision.actions:
        if not isinstance(action, Swap):
            continue
        moved = {move.member: move.from_node for move in action.moves}
        for island in snapshot.gangs[action.gang].islands:
            bound = island.topology is not None and island.topology.binding
            whole = {m.name for m in island.members} <= set(moved)
            for member in island.members:
                healthy = member.node and snapshot.nodes[member.node].node.health.verdict is Verdict.HEALTHY
                assert not (healthy and member.name in moved) or (bound and whole)


@given(BUSY)
def test_an_exclusive_island_with_a_lost_node_moves_whole_or_not_at_all(cluster: Cluster) -> None:
    snapshot, decision = decided(cluster)
    for action in decision.actions:
        if isinstance(action, Swap):
            moved = {move.member for move in action.moves}
            for island in snapshot.gangs[action.gang].islands:
                if reference_rules.is_exclusive(island):
                    names = {m.name for m in island.members}
                    assert names & moved in (set(), names)


@given(BUSY)
def test_after_a_plan_only_waiting_gangs_count_on_a_lost_node(cluster: Cluster) -> None:
    snapshot, decision = decided(cluster)
    soon = snapshot_after(snapshot, decision)
    waiting = {a.gang for a in decision.actions if isinstance(a, Wait)}
    for key, gang in soon.gangs.items():
        if gang.managed and not gang.infrastructure and any(is_lost(soon, m.node) for m in gang.seated()):
            assert key in waiting


# Holds


@given(BUSY)
def test_no_less_important_gang_takes_held_seats(cluster: Cluster) -> None:
    snapshot, decision = decided(cluster)
    given_up = {a.gang for a in decision.actions if isinstance(a, Hold | Start | Swap | Requeue)}
    for state, action in states(snapshot, decision):
        gang = snapshot.gangs[action.gang]
        holders = [g for k, g in snapshot.gangs.items() if g.holds and k not in given_up and outranks(g, gang)]
        seats = new_seats(action)
        if not seats or not holders:
            continue
        board = reference_rules.board_of(without_leaving_pods(apply_actions(state, [action])), holders=holders)
        assert reference_rules.overfull(board) + reference_rules.conflicts(board) == []


def outranks(one: Gang, other: Gang) -> bool:
    return (-one.priority, one.queued_at, one.key) < (-other.priority, other.queued_at, other.key)
