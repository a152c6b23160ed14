"""Plans, and the story of one gang, as text: a summary line, then a section for each kind of action."""

import shutil
import textwrap
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import assert_never

import msgspec

from understudy.cli.input.times import long_duration, rfc3339
from understudy.cli.output.terminal import Painter
from understudy.decide.describe import reason_summary, refusal_clause, time_text
from understudy.decide.gang_report import GangReport, PlaceReport
from understudy.decide.prices import SeatsPrice
from understudy.model.gangs import Gang
from understudy.model.plans import (
    Action,
    Cost,
    Dismiss,
    Grow,
    Hold,
    Plan,
    Preempt,
    Refusal,
    RequestCheckpoint,
    Requeue,
    Shrink,
    Start,
    Swap,
    Wait,
    WaitCode,
    WaitReason,
)

INDENT = "    "
_ABOUT_ROOM = (WaitCode.NO_ROOM, WaitCode.BLOCKED_DOMAINS, WaitCode.GUARDED)


class ActionKind(msgspec.Struct, frozen=True):
    """How one kind of action is counted and headed."""

    action: type[Action]
    heading: str
    one: str
    many: str
    colour: str


ACTION_KINDS = (
    ActionKind(Swap, "Swaps", "swap", "swaps", "cyan"),
    ActionKind(Preempt, "Preemptions", "preemption", "preemptions", "red"),
    ActionKind(Start, "Starts", "start", "starts", "green"),
    ActionKind(Grow, "Growth", "grows", "grow", "green"),
    ActionKind(Hold, "Holds", "hold", "holds", "yellow"),
    ActionKind(Shrink, "Shrinks", "shrinks", "shrink", "yellow"),
    ActionKind(Requeue, "Requeues", "requeue", "requeues", "red"),
    ActionKind(Dismiss, "Understudies", "understudy", "understudies", "cyan"),
    ActionKind(RequestCheckpoint, "Checkpoints", "checkpoint request", "checkpoint requests", "yellow"),
    ActionKind(Wait, "Waiting", "waits", "wait", "yellow"),
)


class PlanContext(msgspec.Struct, frozen=True):
    """What the text of a plan needs besides the plan: its gangs, its time, and how words are coloured."""

    gangs: Mapping[str, Gang]
    now: float
    paint: Painter = Painter()
    width: int = 100
    price_of: Callable[[Action], SeatsPrice | None] = lambda _action: None

    def name(self, key: str) -> str:
        gang = self.gangs.get(key)
        return gang.title if gang else key

    def title(self, key: str) -> str:
        gang = self.gangs.get(key)
        return f"{gang.title} (priority {gang.priority})" if gang else key


def screen_width() -> int:
    return max(60, shutil.get_terminal_size((100, 24)).columns)


def plan_text(plan: Plan, context: PlanContext) -> str:
    lines = [context.paint(f"plan: {action_counts(plan)}", "bold"), *action_sections(plan.actions, context)]
    if plan.recheck_at is not None:
        lines += ["", f"Stands until {_when(plan.recheck_at, context.now)}, unless the cluster changes."]
    return "\n".join(lines) + "\n"


def action_sections(actions: Iterable[Action], context: PlanContext) -> list[str]:
    """The lines of a section for each kind of action there is, each after an empty line."""
    lines: list[str] = []
    for kind in ACTION_KINDS:
        of_kind = [action for action in actions if isinstance(action, kind.action)]
        if of_kind:
            lines += ["", context.paint(kind.heading, kind.colour)]
            lines += [line for action in of_kind for line in _action_lines(action, context)]
    return lines


def action_counts(plan: Plan) -> str:
    """The number of actions of each kind: `2 starts, 1 preemption, 1 waits`."""
    counts = [(kind, sum(isinstance(action, kind.action) for action in plan.actions)) for kind in ACTION_KINDS]
    return ", ".join(f"{n} {kind.one if n == 1 else kind.many}" for kind, n in counts if n) or "Nothing to do."


def _action_lines(action: Action, context: PlanContext) -> Iterator[str]:
    headline = context.title(action.gang) + _manner(action, context)
    yield from textwrap.wrap(headline, context.width, initial_indent="  ", subsequent_indent=INDENT)
    for line in _details(action, context):
        yield from wrap_line(line, context.width)


def _manner(action: Action, context: PlanContext) -> str:
    """The part of the headline after the name of the gang."""
    match action:
        case Start(waits_for=others) | Swap(waits_for=others) if others:
            left = "has" if len(others) == 1 else "have"
            return f", once {', '.join(context.name(key) for key in others)} {left} left"
        case Start() | Swap() | Wait():
            return ""
        case Grow():
            return f": {_pods(len(action.seats))} more"
        case Preempt():
            which = "all its seats" if action.whole else f"{len(action.members)} of its seats"
            return f" gives up {which} for {context.title(action.by)}"
        case Dismiss(member=member) if member:
            return f" steps in as {member} of {context.name(action.by)} on {action.node}"
        case Dismiss():
            return f" gives up its seat on {action.node}: {action.why}"
        case Hold(seats=()):
            return f" gives up the seats held for it: {action.why}"
        case RequestCheckpoint(by=by) if by is not None:
            return f" is asked to save a checkpoint by {time_text(by)}: {action.why}"
        case RequestCheckpoint():
            return f" is no longer asked to save a checkpoint: {action.why}"
        case Hold() | Shrink() | Requeue():
            return f": {action.why}"
        case _:
            assert_never(action)


def _pods(count: int) -> str:
    return "1 pod" if count == 1 else f"{count} pods"


def _details(action: Action, context: PlanContext) -> Iterable[str]:
    match action:
        case Start() | Grow():
            return [*_volumes(action, context), *_seats_price(action, context), *seat_lines(action.seats)]
        case Hold():
            return seat_lines(action.seats)
        case Preempt():
            return _loss(action, context)
        case Swap():
            return [f"why: {action.why}", *_seats_price(action, context), *_moves(action)]
        case Shrink() | Requeue():
            return [f"pods: {', '.join(action.members)}"] if action.members else []
        case Dismiss() | RequestCheckpoint():
            return []
        case Wait():
            return _reason(action.reason, context)
        case _:
            assert_never(action)


def _volumes(action: Start | Grow, context: PlanContext) -> list[str]:
    """The line about volumes that are made before the pods get their seats."""
    gang, seated = context.gangs.get(action.gang), {member for member, _ in action.seats}
    members = [member for member in gang.members() if member.name in seated] if gang else []
    claims = dict.fromkeys(claim for member in members for claim, _ in member.shape.unmade)
    return [f"after: the volumes of {', '.join(claims)} are made"] if claims else []


def _seats_price(action: Action, context: PlanContext) -> list[str]:
    price = context.price_of(action)
    if price is None:
        return []
    unknown = f"; {_pods(price.unknown)} on nodes without a price" if price.unknown else ""
    return [f"price: {price.per_hour:.2f} an hour{unknown}"]


def seat_lines(seats: Iterable[tuple[str, str]]) -> list[str]:
    """One line for each node, with all pods that are seated on it."""
    by_node: dict[str, list[str]] = defaultdict(list)
    for member, node in seats:
        by_node[node].append(member)
    widest = max((len(node) for node in by_node), default=0)
    return [f"{node:<{widest}}  {', '.join(by_node[node])}" for node in sorted(by_node)]


def _moves(swap: Swap) -> list[str]:
    return [f"{m.member}: {m.from_node or '(its seat is gone)'} -> {m.to_node} ({m.source})" for m in swap.moves]


def _loss(action: Preempt, context: PlanContext) -> Iterator[str]:
    yield f"why: {action.why}"
    yield f"cost: {_cost(action, context.gangs.get(action.gang))}"
    yield from seat_lines(zip(action.members, action.nodes, strict=True))


def _cost(action: Preempt, gang: Gang | None) -> str:
    since = "since its last checkpoint" if gang and gang.checkpoint_at is not None else "since its start"
    lost = f"{long_duration(action.work_lost)} of accelerator time {since}" if action.work_lost else "no work"
    violations = action.budget_violations
    budgets = f"; {violations} more than its disruption budgets allow" if violations else ""
    return f"{lost} lost{budgets}"


def _reason(reason: WaitReason, context: PlanContext) -> Iterator[str]:
    if not reason.refusals:
        yield f"why: {reason_summary(reason)}"
    yield f"needs: {reason.needs}"
    if reason.code in _ABOUT_ROOM and reason.wanted:
        units = "islands" if reason.code is WaitCode.BLOCKED_DOMAINS else "pods"
        yield f"room now: for {reason.free} of {reason.wanted} {units}"
    for refusal in reason.refusals:
        yield f"why not: {_refused(reason, refusal)}"
    if reason.infeasible:
        yield f"cannot start on these nodes: {reason.infeasible}"
    for holder in reason.holders:
        seats = "1 seat" if holder.seats == 1 else f"{holder.seats} seats"
        yield f"held by: {context.name(holder.gang)} (priority {holder.priority}), {seats}: it {holder.keeps}"
    if reason.guard:
        yield f"guard: {reason.guard}"
    if reason.until is not None:
        yield f"until: {_when(reason.until, context.now)}"


def _refused(reason: WaitReason, refusal: Refusal) -> str:
    if reason.code not in _ABOUT_ROOM:
        return refusal.why
    return refusal_clause(refusal, "domain" if reason.code is WaitCode.BLOCKED_DOMAINS else "node")


def _when(moment: float, now: float) -> str:
    ahead = moment - now
    return (
        f"{rfc3339(moment)} (in {long_duration(ahead)})"
        if ahead >= 0
        else f"{rfc3339(moment)} ({long_duration(-ahead)} ago)"
    )


def wrap_line(line: str, width: int) -> list[str]:
    """Continuation lines stand further in, so that the first word of a line is a node or a keyword."""
    return textwrap.wrap(
        line,
        width,
        initial_indent=INDENT,
        subsequent_indent=INDENT + "  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def story_text(story: GangReport, context: PlanContext) -> str:
    lines = [context.paint(context.title(story.gang), "bold"), f"  needs: {story.needs}", f"  turn: {_turn(story)}"]
    gang = context.gangs[story.gang]
    if seats := [(member.name, member.node) for member in gang.members() if member.node]:
        lines += ["", context.paint("Sits on", "cyan"), *_laid_out(seat_lines(seats), context)]
    for heading, looks in _grouped(story):
        lines += ["", context.paint(heading, "cyan"), *_laid_out(_looked(looks, context), context)]
    sections = action_sections(story.actions, context)
    lines += sections or ["", "Nothing happens to it in this plan."]
    return "\n".join(lines) + "\n"


def _turn(story: GangReport) -> str:
    if not story.turn:
        return "none; it wants nothing"
    return f"{story.turn} of {story.turns} that want something"


def _laid_out(lines: list[str], context: PlanContext) -> Iterator[str]:
    for line in lines:
        yield from wrap_line(line, context.width)


def _grouped(story: GangReport) -> Iterator[tuple[str, list[PlaceReport]]]:
    """The looks of each island under a heading. Islands that are alike were looked at once."""
    by_island: dict[str, list[PlaceReport]] = {}
    for look in story.places:
        by_island.setdefault(look.island, []).append(look)
    for island, looks in by_island.items():
        unit, label = ("domain", f" of {looks[0].key}") if looks[0].key else ("node", "")
        yield f"Looked at for {island}: {len(looks)} {unit}{'s' * (len(looks) != 1)}{label}", looks


def _looked(looks: list[PlaceReport], context: PlanContext) -> list[str]:
    """A line for each answer, with all the places that gave it."""
    answers: dict[str, list[str]] = {}
    for look in looks:
        answers.setdefault(_answer(look, context), []).append(look.place)
    return [f"{', '.join(places)}: {answer}" for answer, places in answers.items()]


def _answer(look: PlaceReport, context: PlanContext) -> str:
    parts = [look.refused or "would do"]
    if look.occupants:
        parts.append(f"occupied by {', '.join(context.title(key) for key in look.occupants)}")
    if look.cost is not None:
        parts.append(f"could be cleared: {_price(look.cost)}")
    return "; ".join(parts)


def _price(cost: Cost) -> str:
    """The cost of clearing a place, in the order in which costs are compared."""
    gangs = "1 gang goes" if cost.gangs == 1 else f"{cost.gangs} gangs go"
    young = [f"{cost.young} of them has not had its minimum run time"] if cost.young else []
    budgets = [f"{cost.budget_violations} disruption budgets violated"] if cost.budget_violations else []
    surplus = [f"{cost.surplus} surplus seats go"] if cost.surplus else []
    lost = f"{long_duration(cost.work_lost)} of accelerator time lost" if cost.work_lost else "no work lost"
    return ", ".join([*([gangs] if cost.gangs else []), *surplus, *young, *budgets, lost])
