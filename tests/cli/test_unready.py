"""What is made of a cluster that lacks something: it is stopped only where nobody loses anything."""

from typing import Any

import pytest

from tests.embedded.clusters.settings import node, settings
from understudy.cli.unready import Verdict, verdict_on, words_on
from understudy.embedded.clusters.readiness import Readiness
from understudy.objects.resources import NODES
from understudy.ports import Ref


def lacking(**fields: Any) -> Readiness:
    plain: dict[str, Any] = {"failed": set(), "waiting": {}, "kinds": set(), "objects": {}, "answers": True}
    return Readiness(**plain | fields)


@pytest.mark.parametrize(
    ("found", "new", "old"),
    [
        pytest.param(lacking(), Verdict.UP, Verdict.UP, id="nothing lacks"),
        pytest.param(lacking(answers=False), Verdict.STOP, Verdict.ABSENT, id="no answer"),
        pytest.param(lacking(waiting={"a": ""}, ready_nodes=1), Verdict.UP, Verdict.UP, id="a node"),
        pytest.param(lacking(waiting={"a": ""}), Verdict.STOP, Verdict.UP, id="all nodes"),
        pytest.param(lacking(failed={"a"}), Verdict.UP, Verdict.UP, id="a failed node"),
        pytest.param(lacking(kinds={"jobsets"}, ready_nodes=1), Verdict.STOP, Verdict.UP, id="a kind"),
        pytest.param(lacking(answers=False, is_port_lost=True), Verdict.STOP, Verdict.ABSENT, id="its port"),
    ],
)
def test_only_a_new_cluster_that_does_not_work_is_stopped(found: Readiness, new: Verdict, old: Verdict) -> None:
    assert verdict_on(found, may_be_stopped=True) is new
    assert verdict_on(found, may_be_stopped=False) is old


def test_what_lacks_is_told_with_the_remedy() -> None:
    made = settings("default", nodes=tuple(node(name) for name in "abc"))
    found = lacking(failed={"a"}, waiting={"b": "it has not registered"}, objects={Ref(NODES, name="x"): "x"})
    assert list(words_on(found, made)) == [
        "warning: 2 of 3 nodes are not ready",
        "  a: it has failed; `understudy node recover a` brings it back",
        "  b: it has not registered; `understudy node list` shows when it comes",
        "warning: not there yet: x; see the control log in the folder of the cluster",
    ]


def test_of_many_nodes_a_few_are_told() -> None:
    names = [f"n-{number:02}" for number in range(30)]
    told = list(words_on(lacking(failed=set(names)), settings(nodes=tuple(map(node, names)))))
    assert len(told) == 12
    assert told[-1] == "  and 20 more; `understudy node list --cluster test` shows them all"
