"""What a plan remembers of the cluster while it changes it is what somebody who looks for the first time would see."""

import pytest

from tests.decide.random_clusters import Knobs, seeded
from understudy.decide.cycle import give_turns, grow_elastic_gangs
from understudy.decide.proposal import Proposal

KNOBS = (Knobs(), Knobs(sick=40, topology=80, holds=40))


@pytest.mark.parametrize("knobs", KNOBS)
def test_what_is_remembered_stays_true(knobs: Knobs) -> None:
    for seed in range(60):
        cluster = seeded(seed, knobs)
        snapshot = cluster.snapshot()
        floor = Proposal(snapshot, cluster.policy, cluster.now)
        look_at_everything(floor)
        give_turns(floor)
        grow_elastic_gangs(floor, snapshot)
        assert look_at_everything(floor) == look_at_everything(Proposal(floor.snapshot, cluster.policy, cluster.now))


def look_at_everything(floor: Proposal) -> object:
    places = [(key, value) for key in floor.keys for value in sorted(floor.snapshot.domains[key])]
    owners = {place: (floor.owner(*place), floor.residents(*place)) for place in places}
    held = {node: [(seat.gang.key, seat.member.name) for seat in seats] for node, seats in floor.held.items()}
    domains = {place: sorted((held.gang.key, held.reserved) for held in floor.held_for(*place)) for place in places}
    shapes = {id(m.shape): m.shape for gang in floor.snapshot.gangs.values() for m in gang.members()}
    offered = [sorted(floor.candidates(shape, frozenset())) for shape in shapes.values()]
    return owners, held, domains, floor.kept.minds_neighbours, sorted(map(tuple, offered))
