"""Draws the domains of a snapshot, a line each: which gang sits on which node, what is free and what is dead.

A member on its way in has `>` before it, one on its way out behind it.
"""

from collections.abc import Container

from understudy.model.node_info import NodeInfo, Seat
from understudy.model.nodes import Verdict
from understudy.model.snapshot import Snapshot

_NARROWEST = len("DEAD")
Cell = tuple[str, str, str]  # what stands before the occupant, the occupant, and what stands behind it


def draw_domains(snapshot: Snapshot, topology: str, starting: Container[str] = ()) -> list[str]:
    """`starting` are names of members that have their seats, and do not run yet."""
    domains: dict[str, list[NodeInfo]] = {}
    for room in sorted(snapshot.nodes.values(), key=lambda room: room.node.name):
        if (domain := room.node.labels.get(topology)) is not None:
            domains.setdefault(domain, []).append(room)
    cells = {domain: [_cell(snapshot, room, starting) for room in rooms] for domain, rooms in domains.items()}
    width = max([_NARROWEST, *(len(occupant) for row in cells.values() for _, occupant, _ in row)])
    name = max((len(domain) for domain in cells), default=0)
    rows = {domain: "|".join(_filled(cell, width) for cell in row) for domain, row in cells.items()}
    return [f"{domain:<{name}}  |{rows[domain]}|" for domain in sorted(rows)]


def _filled(cell: Cell, width: int) -> str:
    before, occupant, behind = cell
    return f"{before}{occupant.center(width)}{behind}"


def _cell(snapshot: Snapshot, room: NodeInfo, starting: Container[str]) -> Cell:
    if room.node.health.verdict is Verdict.LOST:
        return " ", "DEAD", " "
    coming = any(_comes(seat, starting) for seat in room.seats)
    going = any(seat.leaving for seat in room.seats)
    occupants = ", ".join(sorted({snapshot.gangs[seat.gang].name for seat in room.seats}))
    return ">" if coming else " ", occupants, ">" if going else " "


def _comes(seat: Seat, starting: Container[str]) -> bool:
    return not seat.leaving and seat.member.name in starting
