"""States of the nodes that a job sits on: asked for one by one or in a list, and left out where they cannot be seen."""

import asyncio
from typing import Any

import msgspec
import pytest

from understudy.cli.queries.node_states import ONE_BY_ONE, node_states
from understudy.client.config import Config
from understudy.model.nodes import Capacity, Verdict
from understudy.ports import Ref, Refused

SPOT = {"karpenter.sh/capacity-type": "spot"}


def node(name: str, labels: dict[str, str] | None = None, **notes: str) -> dict[str, Any]:
    annotations = {f"understudy.dev/{key.replace('_', '-')}": value for key, value in notes.items()}
    return {"metadata": {"name": name, "labels": labels or {}, "annotations": annotations}}


class Api:
    """Serves these nodes, or refuses with this code."""

    config = Config(server="https://cluster.example")

    def __init__(self, *nodes: dict[str, Any], refuses: int = 0) -> None:
        self._nodes = {one["metadata"]["name"]: one for one in nodes}
        self._refuses = refuses
        self.settings = ""  # of the Understudy that is installed
        self.asked: list[str] = []

    async def get(self, ref: Ref) -> bytes:
        self.asked.append(ref.name)
        if self._refuses or (ref.name and ref.name not in self._nodes):
            raise Refused(self._refuses or 404, "", "refused")
        return msgspec.json.encode(self._nodes[ref.name] if ref.name else {"items": list(self._nodes.values())})

    async def request(self, _method: str, path: str) -> bytes:
        assert path.startswith("/api/v1/configmaps?")
        maps = [{"metadata": {"name": "understudy"}, "data": {"understudy.yaml": self.settings}}]
        return msgspec.json.encode({"items": maps if self.settings else []})


def states(api: Any, *names: str) -> dict[str, tuple[str, str]]:
    found = asyncio.run(node_states(api, names))
    return {name: (state.capacity.value, state.health.verdict.value) for name, state in found.items()}


def test_few_nodes_are_asked_for_one_by_one_and_those_that_are_gone_are_left_out() -> None:
    api = Api(node("a"), node("b", SPOT, notice="deadline=2027-01-15T08:00:00Z"), node("c"))
    assert states(api, "a", "b", "gone") == {
        "a": (Capacity.ON_DEMAND, Verdict.HEALTHY),
        "b": (Capacity.SPOT, Verdict.LEAVING),
    }
    assert sorted(api.asked) == ["a", "b", "gone"]


def test_many_nodes_are_read_in_one_list() -> None:
    names = [f"n{number}" for number in range(ONE_BY_ONE + 1)]
    api = Api(*(node(name, SPOT) for name in names), node("other"))
    assert set(states(api, *names)) == set(names)
    assert api.asked == [""]


@pytest.mark.parametrize("count", [1, ONE_BY_ONE + 1])
def test_a_user_who_may_not_see_nodes_still_sees_the_job(count: int) -> None:
    assert states(Api(refuses=403), *(f"n{number}" for number in range(count))) == {}


def test_the_label_that_the_operator_of_the_cluster_has_named_counts() -> None:
    api = Api(node("a", {"pool": "cheap"}))
    assert states(api, "a")["a"][0] == Capacity.ON_DEMAND
    api.settings = "health: {spotLabels: {pool: cheap}}"
    assert states(api, "a")["a"][0] == Capacity.SPOT


def test_any_other_refusal_is_an_error() -> None:
    with pytest.raises(Refused):
        states(Api(refuses=500), "a")
