"""Draws the domains of a snapshot, a line each: which gang sits on which node, what is free and what is dead."""

from understudy.model.nodes import Verdict
from understudy.model.snapshot import Room, Snapshot

_NARROWEST = len("DEAD")


def drawn(snapshot: Snapshot, topology: str) -> list[str]:
    domains: dict[str, list[Room]] = {}
    for room in sorted(snapshot.rooms.values(), key=lambda room: room.node.name):
        if (domain := room.node.labels.get(topology)) is not None:
            domains.setdefault(domain, []).append(room)
    cells = {domain: [_occupant(snapshot, room) for room in rooms] for domain, rooms in domains.items()}
    cell = max([_NARROWEST, *(len(text) for row in cells.values() for text in row)])
    name = max((len(domain) for domain in cells), default=0)
    return [f"{domain:<{name}}  | {' | '.join(t.center(cell) for t in cells[domain])} |" for domain in sorted(cells)]


def _occupant(snapshot: Snapshot, room: Room) -> str:
    if room.node.health.verdict is Verdict.LOST:
        return "DEAD"
    return ", ".join(sorted({snapshot.gangs[seat.gang].name for seat in room.seats}))
