"""Every choice of victims for one gang, in the order of cost: what the planner's own choice is measured against."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from tests.decide import reference_rules
from understudy.decide.policy import Policy
from understudy.model.gangs import Gang, Member
from understudy.model.nodes import Node, Verdict
from understudy.model.plans import Cost
from understudy.model.snapshot import Budget, Snapshot


class Loss(NamedTuple):
    """What one gang gives up: everything, or the surplus it can do without."""

    gang: Gang
    members: tuple[Member, ...]
    whole: bool


class Setting(NamedTuple):
    snapshot: Snapshot
    policy: Policy
    now: float


Feasible = Callable[[reference_rules.Placement], bool]


def essential(gang: Gang) -> list[str]:
    """The members without which the gang does not run: in order, and islands bound to a domain as a whole."""
    names: list[str] = []
    for island in gang.islands:
        bound = island.topology is not None and island.topology.binding
        for member in island.members:
            if len(names) >= gang.minimum and not (bound and names[-1:] and member is not island.members[0]):
                return names
            names.append(member.name)
    return names


def pieces(gang: Gang) -> list[tuple[Member, ...]]:
    """What an elastic gang can give up and go on, last in line first: members one by one, bound islands whole."""
    found: list[tuple[Member, ...]] = []
    left = len(gang.seated())
    for island in reversed(gang.islands):
        sitting = tuple(m for m in reversed(island.members) if m.node)
        bound = island.topology is not None and island.topology.binding
        for piece in ([sitting] if sitting else []) if bound else [(m,) for m in sitting]:
            if left - len(piece) < gang.minimum:
                return found
            left -= len(piece)
            found.append(piece)
    return found


def losses(gang: Gang) -> list[Loss]:
    """The ways in which this gang can be a victim: any part of its surplus, and last everything."""
    surplus = pieces(gang) if gang.elastic else []
    some = (chosen for n in range(1, len(surplus) + 1) for chosen in itertools.combinations(surplus, n))
    partial = [Loss(gang, tuple(itertools.chain(*chosen)), False) for chosen in some]
    return [*partial, Loss(gang, tuple(gang.seated()), True)]


def may_be_victim(gang: Gang, by: Gang) -> bool:
    return gang.managed and not gang.infrastructure and gang.priority < by.priority and bool(gang.seated())


def cost_of(chosen: Iterable[Loss], setting: Setting) -> Cost:
    """The cost, but for the names that only make the order total."""
    chosen = list(chosen)
    whole = [loss.gang for loss in chosen if loss.whole]
    now, policy = setting.now, setting.policy
    return Cost(
        young=sum(g.started_at is None or now - g.started_at < policy.min_runtime for g in whole),
        budget_violations=violations(chosen, setting.snapshot.budgets),
        highest_priority=max((g.priority for g in whole), default=-(2**31)),
        work_lost=sum(work_lost(g, now) for g in whole),
        gangs=len(whole),
        surplus=sum(len(loss.members) for loss in chosen if not loss.whole),
    )


def work_lost(gang: Gang, now: float) -> float:
    since = max((t for t in (gang.checkpoint_at, gang.started_at) if t is not None), default=now)
    return sum(m.shape.accelerators for m in gang.seated()) * (now - since)


def violations(chosen: Sequence[Loss], budgets: Iterable[Budget]) -> int:
    total = 0
    for budget in budgets:
        disturbed = sum(budget.covers(loss.gang, m) for loss in chosen for m in loss.members)
        total += max(0, disturbed - budget.allowed)
    return total


def choices(setting: Setting, by: Gang) -> Iterator[tuple[Loss, ...]]:
    """Every set of victims, each gang losing nothing, some of its surplus, or everything."""
    gangs = [g for _, g in sorted(setting.snapshot.gangs.items()) if g.key != by.key and may_be_victim(g, by)]
    for combination in itertools.product(*([None, *losses(g)] for g in gangs)):
        yield tuple(loss for loss in combination if loss is not None)


def board_for(gang: Gang, setting: Setting, with_leaving: bool = False) -> reference_rules.Placement:
    """What the gang finds: the others, and the seats held from it; without `with_leaving`, once they have left."""
    snapshot, policy, now = setting
    holders = [g for g in snapshot.gangs.values() if g.holds and reference_rules.respects_hold(gang, g, policy, now)]
    return reference_rules.board_of(snapshot, with_leaving, holders)


def with_one_put_back(chosen: Sequence[Loss]) -> Iterator[list[Loss]]:
    """The same losses but for one gang, or for one piece of an elastic gang's surplus."""
    for index, loss in enumerate(chosen):
        others = [*chosen[:index], *chosen[index + 1 :]]
        if loss.whole:
            yield others
            continue
        for piece in pieces(loss.gang):
            if all(member in loss.members for member in piece):
                yield [*others, loss._replace(members=tuple(m for m in loss.members if m not in piece))]


def without(board: reference_rules.Placement, chosen: Iterable[Loss]) -> reference_rules.Placement:
    gone = {(loss.gang.key, m.name, m.node) for loss in chosen for m in loss.members}
    staying = (s for s in board.sitters() if (s.gang.key, s.member.name, s.node) not in gone)
    return reference_rules.Placement(board.nodes, staying)


def cheapest(setting: Setting, by: Gang, board: reference_rules.Placement, feasible: Feasible) -> Cost | None:
    """The least cost for which `feasible` holds; None where no preemption is enough."""
    everything = list(choices(setting, by))
    if not feasible(without(board, everything[-1])):
        return None
    priced = sorted(((cost_of(chosen, setting), chosen) for chosen in everything), key=lambda pair: pair[0])
    return next(cost for cost, chosen in priced if feasible(without(board, chosen)))


# What a gang needs


def displaced(snapshot: Snapshot, gang: Gang) -> list[str]:
    """Members of a running gang that need a seat: theirs is lost, or will be, or the gang cannot do without them."""
    verdicts = {m.name: snapshot.nodes[m.node].node.health.verdict for m in gang.seated()}
    bad = {name for name, verdict in verdicts.items() if verdict in (Verdict.LOST, Verdict.LEAVING)}
    staying = len(verdicts) - sum(verdict is Verdict.LOST for verdict in verdicts.values())
    needed = {m.name for m in gang.members()} if not gang.elastic else set(essential(gang))
    if gang.elastic and staying >= gang.minimum:
        needed = set()
    return [m.name for m in gang.members() if m.name in bad or (m.name in needed and not m.node)]


def makes_room(setting: Setting, gang: Gang, wanted: Sequence[str]) -> Feasible:
    """Whether the wanted members get seats on a board: of a running gang, beside those who keep theirs."""
    repair = bool(gang.seated())

    def allowed(member: Member, node: Node) -> bool:
        return reference_rules.may_ever_sit(gang, member, node, setting.policy, setting.now, repair)

    def feasible(board: reference_rules.Placement) -> bool:
        for names in on_the_move(setting.snapshot, gang, wanted) if repair else [list(wanted)]:
            if reference_rules.placement(moved_out(board, gang, names), gang, names, allowed) is not None:
                return True
        return False

    return feasible


def on_the_move(snapshot: Snapshot, gang: Gang, wanted: Sequence[str]) -> list[list[str]]:
    """Who changes seats in a repair: only who has to, with exclusive islands whole; or every bound island whole."""
    few: list[str] = []
    many: list[str] = []
    for island in gang.islands:
        everyone = [m.name for m in island.members]
        asked = [name for name in everyone if name in wanted]
        sick = any(m.node in snapshot.unhealthy for m in island.members)
        bound = island.topology is not None and island.topology.binding
        few += everyone if asked and sick and reference_rules.is_exclusive(island) else asked
        many += everyone if asked and bound else asked
    return [few] if few == many else [few, many]


def moved_out(board: reference_rules.Placement, gang: Gang, names: Sequence[str]) -> reference_rules.Placement:
    """The board on which these members of the gang still fill their old seats, but belong to no island any more."""
    kept = reference_rules.Placement(board.nodes)
    for sitter in board.sitters():
        if sitter.gang.key != gang.key or sitter.member.name not in names:
            kept.add(sitter)
        elif board.nodes[sitter.node].health.verdict is not Verdict.LOST:
            kept.add(
                sitter._replace(island=msgspec.structs.replace(sitter.island, name=sitter.island.name + " before"))
            )
    return kept
