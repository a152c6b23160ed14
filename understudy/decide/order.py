"""The orders of the decision, as sort keys that read as policy. Every one ends in a unique key."""

from understudy.model.gangs import Gang, Member, Shape


def importance(gang: Gang) -> tuple[int, float, str]:
    """The most important gang first, then the one that waits longest."""
    return (-gang.priority, gang.queued_at, gang.key)


def turn_order(gang: Gang, broken: bool) -> tuple[int, bool, float, str]:
    """The order of turns in a cycle: by importance, and at equal priority impaired gangs before waiting ones."""
    return (-gang.priority, not broken, gang.queued_at, gang.key)


def equivalence_class(gang: Gang) -> object | None:
    """Equal for gangs of which one fits if and only if the other does; None where the gang is in a class of its own.

    In a long queue most gangs have an equal one, which need not be tried again.
    """
    if gang.holds or gang.leaving or gang.preempted_for_it:
        return None
    if any(shape.has_inter_pod_rules for shape in gang.shapes()):
        return None
    islands = tuple((i.topology, _runs(i.members)) for i in gang.islands)
    spot = (gang.max_spot_members, gang.one_capacity_kind)
    return (gang.priority, gang.preempts, gang.min_members, gang.infrastructure, spot, islands)


def _runs(members: tuple[Member, ...]) -> tuple[tuple[int, str, int], ...]:
    """Members in a row that share a shape and a node, as one entry: the class of a huge gang is hashed often."""
    if not members:
        return ()
    runs = []
    start, first = 0, members[0]
    for position, member in enumerate(members):
        if member.shape is not first.shape or member.node != first.node:
            runs.append((id(first.shape), first.node, position - start))
            start, first = position, member
    return (*runs, (id(first.shape), first.node, len(members) - start))


def hardest_first(shape: Shape) -> tuple[int, int, tuple[tuple[str, int], ...]]:
    """Large pods come before small ones, which fit into what is left."""
    amounts = dict(shape.requests)
    return (-shape.accelerators, -amounts.get("cpu", 0), shape.requests)


def surplus_of(gang: Gang) -> tuple[tuple[Member, ...], ...]:
    """What an elastic gang can do without, the last members first, in the pieces in which it can be taken away.

    Members go one by one. Islands bound to a domain go whole.
    """
    if not gang.elastic or gang.whole:
        return ()
    spare = len(gang.seated()) - gang.minimum
    pieces: list[tuple[Member, ...]] = []
    for island in reversed(gang.islands):
        seated = [m for m in reversed(island.members) if m.node]
        bound = island.topology is not None and island.topology.binding
        for piece in [tuple(seated)] if bound and seated else [(m,) for m in seated]:
            if len(piece) > spare:
                return tuple(pieces)
            pieces.append(piece)
            spare -= len(piece)
    return tuple(pieces)
