"""A proposal: its caches agree with a fresh one, and no decision reads a snapshot that is out of date."""

from unittest.mock import patch

import pytest

from tests.decide.random_clusters import ClusterOptions, seeded
from understudy.decide import cycle
from understudy.decide.cycle import give_turns, grow_elastic_gangs, plan
from understudy.decide.policy import Policy
from understudy.decide.proposal import Proposal
from understudy.model.snapshot import Snapshot

KNOBS = (ClusterOptions(), ClusterOptions(sick=40, topology=80, holds=40))


@pytest.mark.parametrize("options", KNOBS)
def test_caches_stay_true_while_actions_are_applied(options: ClusterOptions) -> None:
    for seed in range(60):
        cluster = seeded(seed, options)
        snapshot = cluster.snapshot()
        proposal = Proposal(snapshot, cluster.policy, cluster.now)
        cached_answers(proposal)
        give_turns(proposal)
        grow_elastic_gangs(proposal, snapshot)
        proposal.apply()
        assert cached_answers(proposal) == cached_answers(Proposal(proposal.snapshot, cluster.policy, cluster.now))


class StrictProposal(Proposal):
    """Refuses to hand out a snapshot while recorded actions are not applied."""

    def __init__(self, snapshot: Snapshot, policy: Policy, now: float) -> None:
        self._applied = snapshot
        super().__init__(snapshot, policy, now)

    def __getattribute__(self, name: str) -> object:
        if name == "snapshot" and self.__dict__.get("_pending"):
            raise AssertionError(f"a decision reads the snapshot before {self._pending} is applied")
        return super().__getattribute__(name)


@pytest.mark.parametrize("options", KNOBS)
def test_every_decision_applies_recorded_actions_before_it_reads_the_snapshot(options: ClusterOptions) -> None:
    with patch.object(cycle, "Proposal", StrictProposal):
        for seed in range(120):
            cluster = seeded(seed, options)
            plan(cluster.snapshot(), cluster.policy, cluster.now)


def cached_answers(proposal: Proposal) -> object:
    places = [(key, value) for key in proposal.keys for value in sorted(proposal.snapshot.domains[key])]
    owners = {place: (proposal.owner(*place), proposal.gangs_in(*place)) for place in places}
    held = {node: [(seat.gang.key, seat.member.name) for seat in seats] for node, seats in proposal.held.items()}
    domains = {place: sorted((held.gang.key, held.reserved) for held in proposal.held_for(*place)) for place in places}
    shapes = {id(m.shape): m.shape for gang in proposal.snapshot.gangs.values() for m in gang.members()}
    offered = [sorted(proposal.candidates(shape, frozenset())) for shape in shapes.values()]
    return owners, held, domains, proposal.hold_index.has_anti_affinity, sorted(map(tuple, offered))
