"""Tells the story of one gang: what it needs, where it sits, every place looked at and why not, and what happens."""

from collections.abc import Iterator

from understudy.cli.moments import span
from understudy.cli.prose import Scene, seat_lines, sections, wrapped
from understudy.decide.gang_report import GangReport, PlaceReport
from understudy.model.plans import Cost


def tell_story(story: GangReport, scene: Scene) -> str:
    lines = [scene.paint(scene.title(story.gang), "bold"), f"  needs: {story.needs}", f"  turn: {_turn(story)}"]
    gang = scene.gangs[story.gang]
    if seats := [(member.name, member.node) for member in gang.members() if member.node]:
        lines += ["", scene.paint("Sits on", "cyan"), *_laid_out(seat_lines(seats), scene)]
    for heading, looks in _grouped(story):
        lines += ["", scene.paint(heading, "cyan"), *_laid_out(_looked(looks, scene), scene)]
    told = sections(story.actions, scene)
    lines += told or ["", "Nothing happens to it in this plan."]
    return "\n".join(lines) + "\n"


def _turn(story: GangReport) -> str:
    if not story.turn:
        return "none; it wants nothing"
    return f"{story.turn} of {story.turns} that want something"


def _laid_out(lines: list[str], scene: Scene) -> Iterator[str]:
    for line in lines:
        yield from wrapped(line, scene.width)


def _grouped(story: GangReport) -> Iterator[tuple[str, list[PlaceReport]]]:
    """The looks of each island under a heading. Islands that are alike were looked at once."""
    by_island: dict[str, list[PlaceReport]] = {}
    for look in story.looks:
        by_island.setdefault(look.island, []).append(look)
    for island, looks in by_island.items():
        unit, label = ("domain", f" of {looks[0].key}") if looks[0].key else ("node", "")
        yield f"Looked at for {island}: {len(looks)} {unit}{'s' * (len(looks) != 1)}{label}", looks


def _looked(looks: list[PlaceReport], scene: Scene) -> list[str]:
    """A line for each answer, with all the places that gave it."""
    answers: dict[str, list[str]] = {}
    for look in looks:
        answers.setdefault(_answer(look, scene), []).append(look.place)
    return [f"{', '.join(places)}: {answer}" for answer, places in answers.items()]


def _answer(look: PlaceReport, scene: Scene) -> str:
    parts = [look.refused or "would do"]
    if look.occupants:
        parts.append(f"occupied by {', '.join(scene.title(key) for key in look.occupants)}")
    if look.cost is not None:
        parts.append(f"could be cleared: {_price(look.cost)}")
    return "; ".join(parts)


def _price(cost: Cost) -> str:
    """What clearing it would cost, in the order in which costs are compared."""
    gangs = "1 gang goes" if cost.gangs == 1 else f"{cost.gangs} gangs go"
    young = [f"{cost.young} of them has not had its minimum run time"] if cost.young else []
    budgets = [f"{cost.budget_violations} disruption budgets violated"] if cost.budget_violations else []
    surplus = [f"{cost.surplus} surplus seats go"] if cost.surplus else []
    lost = f"{span(cost.work_lost)} of accelerator time lost" if cost.work_lost else "no work lost"
    return ", ".join([*([gangs] if cost.gangs else []), *surplus, *young, *budgets, lost])
