"""What `understudy up` prints: how to reach the cluster, and what it still lacks."""

from pathlib import Path
from typing import Any

import pytest

from tests.embedded.clusters.settings import node, settings
from understudy.cli.clusters.messages import StartVerdict, access_lines, judge_start, start_warnings
from understudy.embedded.cluster_folder import ClusterFolder
from understudy.embedded.clusters.readiness import Readiness
from understudy.objects.resources import NODES
from understudy.ports import Ref


def lacking(**fields: Any) -> Readiness:
    plain: dict[str, Any] = {"failed": set(), "waiting": {}, "kinds": set(), "objects": {}, "answers": True}
    return Readiness(**plain | fields)


@pytest.mark.parametrize(
    ("found", "new", "old"),
    [
        pytest.param(lacking(), StartVerdict.UP, StartVerdict.UP, id="nothing lacks"),
        pytest.param(lacking(answers=False), StartVerdict.STOP, StartVerdict.ABSENT, id="no answer"),
        pytest.param(lacking(waiting={"a": ""}, ready_nodes=1), StartVerdict.UP, StartVerdict.UP, id="a node"),
        pytest.param(lacking(waiting={"a": ""}), StartVerdict.STOP, StartVerdict.UP, id="all nodes"),
        pytest.param(lacking(failed={"a"}), StartVerdict.UP, StartVerdict.UP, id="a failed node"),
        pytest.param(lacking(kinds={"jobsets"}, ready_nodes=1), StartVerdict.STOP, StartVerdict.UP, id="a kind"),
        pytest.param(lacking(answers=False, is_port_lost=True), StartVerdict.STOP, StartVerdict.ABSENT, id="its port"),
    ],
)
def test_only_a_new_cluster_that_does_not_work_is_stopped(
    found: Readiness, new: StartVerdict, old: StartVerdict
) -> None:
    assert judge_start(found, may_be_stopped=True) is new
    assert judge_start(found, may_be_stopped=False) is old


def test_what_lacks_is_told_with_the_remedy() -> None:
    made = settings("default", nodes=tuple(node(name) for name in "abc"))
    found = lacking(failed={"a"}, waiting={"b": "it has not registered"}, objects={Ref(NODES, name="x"): "x"})
    assert list(start_warnings(found, made)) == [
        "warning: 2 of 3 nodes are not ready",
        "  a: it has failed; `understudy node recover a` brings it back",
        "  b: it has not registered; `understudy node list` shows when it comes",
        "warning: not there yet: x; see the control log in the folder of the cluster",
    ]


def test_of_many_nodes_a_few_are_told() -> None:
    names = [f"n-{number:02}" for number in range(30)]
    told = list(start_warnings(lacking(failed=set(names)), settings(nodes=tuple(map(node, names)))))
    assert len(told) == 12
    assert told[-1] == "  and 20 more; `understudy node list --cluster test` shows them all"


def test_pods_with_all_rights_are_warned_of(tmp_path: Path) -> None:
    folder = ClusterFolder(tmp_path)
    assert not any(line.startswith("warning") for line in access_lines(folder, settings()))
    warned = [line for line in access_lines(folder, settings(pod_access="admin")) if line.startswith("warning")]
    assert len(warned) == 1
    assert "--pod-access service-account" in warned[0]
