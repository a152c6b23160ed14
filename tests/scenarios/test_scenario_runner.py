"""The runner notices every unmet expectation, and checks the rules."""

from typing import Any

import msgspec
import pytest

from tests.scenarios.scenario_file import Scenario
from tests.scenarios.scenario_runner import play
from tests.scenarios.snapshot_world import SnapshotWorld
from understudy.model.gangs import Gang
from understudy.model.plans import Plan, Preempt


def scenario(*steps: dict[str, Any]) -> Scenario:
    """Two nodes, a job on the first, and another job that waits to be submitted."""
    pods = {"parallelism": 1, "template": {"spec": {"containers": [{"resources": {"limits": {"example.com/gpu": 1}}}]}}}
    job = {"apiVersion": "batch/v1", "kind": "Job", "spec": pods}
    return msgspec.convert(
        {
            "story": "a job on one of two nodes",
            "cluster": [
                {"name": "n", "count": 2, "resources": {"example.com/gpu": 1}, "topology": {"key": "k", "per": 1}}
            ],
            "jobs": [{**job, "metadata": {"name": name}} for name in ("one", "two", "three")],
            "steps": [{"submit": ["one"], "expect": {}}, *steps],
        },
        Scenario,
    )


@pytest.mark.parametrize(
    "expect",
    [
        {"running": ["two"]},
        {"waiting": {"one": ""}},
        {"waiting": {"one": "NoRoom"}},
        {"says": {"one": ["word"]}},
        {"ended": ["one"]},
        {"seats": {"one": ["n-b-0"]}},
        {"seats": {"one": []}},
        {"domains": {"one": ["n-b"]}},
        {"avoids": {"one": ["n-a-0"]}},
        {"members": {"one": 2}},
        {"moved": {"one": ["one-0"]}},
        {"victims": {"one": "two"}},
        {"swaps": {"one": ["spare"]}},
        {"holds": {"one": ["n-a-0"]}},
        {"plans": 1},
    ],
    ids=lambda expect: str(expect),
)
def test_what_is_not_so_is_told(expect: dict[str, Any]) -> None:
    told = scenario({"expect": expect})
    [problem] = play(told, SnapshotWorld(told))
    assert problem.startswith("step 2: ")


def test_what_is_so_is_not() -> None:
    right: dict[str, Any] = {
        "running": ["one"],
        "seats": {"one": ["n-a-0"]},
        "domains": {"one": ["n-a"]},
        "avoids": {"one": ["n-b-0"]},
    }
    told = scenario(
        {"expect": {**right, "kept": ["one"], "members": {"one": 1}, "victims": {}, "swaps": {}, "plans": 0}}
    )
    assert play(told, SnapshotWorld(told)) == []


def test_a_move_is_no_kept_seat() -> None:
    told = scenario({"fail": ["n-a-0"], "expect": {"kept": ["one"]}})
    assert play(told, SnapshotWorld(told)) == ["step 2: moved of one ['one-0'], not []"]


def test_unknown_words_are_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match="unknown field `runing`"):
        scenario({"expect": {"runing": ["one"]}})


def test_an_over_committed_node_is_noticed() -> None:
    world = running(scenario())
    one = world.snapshot.gangs["Job/default/one"]
    world._become(named(one, "two").reseated({"two-0": "n-a-0"}))
    with pytest.raises(AssertionError, match="over-committed"):
        world.settle()


def test_a_victim_that_is_not_less_important_is_noticed() -> None:
    world = running(scenario({"submit": ["two"]}))
    preempt = Preempt("Job/default/one", "Job/default/two", ("one-0",), ("n-a-0",), whole=True, why="")
    with pytest.raises(AssertionError, match="its priority is not lower"):
        world._remember(Plan((preempt,)))


def running(told: Scenario) -> SnapshotWorld:
    world = SnapshotWorld(told)
    assert play(told, world) == []
    return world


def named(gang: Gang, name: str) -> Gang:
    [island] = gang.islands
    [member] = island.members
    twin = msgspec.structs.replace(member, name=f"{name}-0", node="")
    islands = (msgspec.structs.replace(island, members=(twin,)),)
    return msgspec.structs.replace(gang, key=f"Job/default/{name}", name=name, islands=islands)
