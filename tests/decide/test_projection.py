"""What a cluster becomes when actions are carried out."""

from msgspec.structs import replace

from tests.decide.builders import cluster, node, running
from understudy.decide.projection import apply_actions
from understudy.model.plans import Move, SeatSource, Shrink, Swap


def test_a_gang_that_shrinks_keeps_the_seats_promised_to_the_others() -> None:
    gang = replace(running("g", on="a b", gpus=8, priority=1), min_members=1)
    first, second = (member.name for member in gang.members())
    state = cluster(node("a"), node("b"), node("c"), gang)
    swap = Swap(gang.key, (Move(first, "a", "c", SeatSource.VICTIM),), "a is leaving", waits_for=("Job/default/v",))
    shrunk = apply_actions(state, [swap, Shrink(gang.key, (second,), "b is lost")]).gangs[gang.key]
    assert shrunk.holds == ((first, "c"),)
    assert [member.name for member in shrunk.seated()] == [first]


def test_a_gang_that_shrinks_gives_up_what_was_held_for_those_it_drops() -> None:
    gang = replace(running("g", on="a b", gpus=8, priority=1), min_members=1)
    first, second = (member.name for member in gang.members())
    holding = replace(gang, holds=((second, "c"),))
    shrunk = apply_actions(cluster(node("a"), node("b"), node("c"), holding), [Shrink(gang.key, (second,), "lost")])
    assert shrunk.gangs[gang.key].holds == ()
    assert [member.name for member in shrunk.gangs[gang.key].seated()] == [first]
