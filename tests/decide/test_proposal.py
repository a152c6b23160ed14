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
        proposal = Proposal(snapshot, cluster.policy, cluster.now)
        look_at_everything(proposal)
        give_turns(proposal)
        grow_elastic_gangs(proposal, snapshot)
        assert look_at_everything(proposal) == look_at_everything(
            Proposal(proposal.snapshot, cluster.policy, cluster.now)
        )


def look_at_everything(proposal: Proposal) -> object:
    places = [(key, value) for key in proposal.keys for value in sorted(proposal.snapshot.domains[key])]
    owners = {place: (proposal.owner(*place), proposal.residents(*place)) for place in places}
    held = {node: [(seat.gang.key, seat.member.name) for seat in seats] for node, seats in proposal.held.items()}
    domains = {place: sorted((held.gang.key, held.reserved) for held in proposal.held_for(*place)) for place in places}
    shapes = {id(m.shape): m.shape for gang in proposal.snapshot.gangs.values() for m in gang.members()}
    offered = [sorted(proposal.candidates(shape, frozenset())) for shape in shapes.values()]
    return owners, held, domains, proposal.kept.has_inter_pod_rules, sorted(map(tuple, offered))
