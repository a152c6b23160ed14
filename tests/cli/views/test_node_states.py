"""Kinds of capacity and announced ends, in words."""

import pytest

from understudy.cli.queries.objects import NodeState
from understudy.cli.views.node_states import departure, health_reason, state_columns
from understudy.model.nodes import Capacity, Health, Verdict

NOW = 1_767_268_800.0


def leaving(deadline: float | None) -> Health:
    return Health(Verdict.LEAVING, "notice (azure Preempt)", NOW, deadline)


@pytest.mark.parametrize(
    ("health", "words"),
    [
        (Health(), ""),
        (Health(Verdict.LOST, "its lease has run out"), ""),
        (leaving(NOW + 25), "in 25s"),
        (leaving(NOW + 150), "in 2m 30s"),
        (leaving(NOW - 3), "at any moment, 3s overdue"),
        (leaving(None), "at any moment"),
    ],
)
def test_a_leaving_node_says_when_it_goes(health: Health, words: str) -> None:
    assert departure(health, NOW) == words


def test_the_reason_says_when_it_goes_and_who_said_so() -> None:
    assert health_reason(leaving(NOW + 25), NOW) == "leaves in 25s: notice (azure Preempt)"
    assert health_reason(Health(Verdict.LOST, "its lease has run out"), NOW) == "its lease has run out"


def test_columns_are_there_only_for_what_there_is() -> None:
    spot = NodeState(Capacity.SPOT)
    assert state_columns([NodeState(), None], NOW) == [[], [], []]
    assert state_columns([NodeState(), spot, None], NOW) == [["CAPACITY"], ["on-demand"], ["spot"], ["N/A"]]
    leaves = NodeState(health=leaving(NOW + 25))
    assert state_columns([leaves, NodeState()], NOW) == [["LEAVES"], ["in 25s: notice (azure Preempt)"], ["<none>"]]
