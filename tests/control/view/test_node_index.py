"""Node objects and leases into model nodes, and the clock that looks again."""

import pytest

from tests.objects.documents import MADE, MADE_AT, Document, lease, node
from understudy.control.view.cluster_view import ClusterView
from understudy.control.view.invalid_objects import InvalidObjects
from understudy.control.view.node_health import CordonPolicy, HealthLimits
from understudy.control.view.node_index import NodeIndex
from understudy.control.view.signal_rules import SignalRule
from understudy.kinds.decoding import decode
from understudy.model.nodes import Health, Node, SpareRole, Taint, Verdict
from understudy.objects.errors import BadObject
from understudy.objects.nodes import Lease
from understudy.objects.nodes import Node as NodeObject


def made(document: Document) -> Node:
    view = ClusterView()
    view.put(decode(document))
    return view.snapshot(MADE_AT).nodes[document["metadata"]["name"]].node


def test_a_node() -> None:
    meta = {"labels": {"zone": "a"}, "annotations": {"understudy.dev/failed-at": f"2026-01-01T00:00:05Z,{MADE}"}}
    taints = [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]
    found = made(node("n", meta, taints=taints, unschedulable=True, allocatable={"cpu": "1500m", "memory": "1Gi"}))
    assert found == Node(
        "n",
        {"zone": "a"},
        {"cpu": 1500, "memory": 2**30, "pods": 110},
        (Taint("gpu", "NoSchedule", "yes"),),
        unschedulable=True,
        failures=(MADE_AT, MADE_AT + 5),
    )


def test_capacity_stands_in_for_allocatable() -> None:
    document = node("n")
    document["status"] = {"capacity": {"cpu": "2"}}
    assert made(document).allocatable == {"cpu": 2000, "pods": 110}


@pytest.mark.parametrize(("value", "role"), [("true", SpareRole.LENDABLE), ("keep", SpareRole.KEPT)])
def test_spares(value: str, role: SpareRole) -> None:
    assert made(node("n", {"labels": {"understudy.dev/spare": value}})).spare is role


def test_a_spare_of_no_known_role() -> None:
    with pytest.raises(BadObject) as caught:
        made(node("n", {"labels": {"understudy.dev/spare": "yes"}}))
    assert str(caught.value) == 'Node n: metadata.labels[understudy.dev/spare]: \'yes\' is neither "true" nor "keep"'


class IndexHarness:
    """A NodeIndex whose changes are read after every event."""

    def __init__(self) -> None:
        self.index = NodeIndex(HealthLimits())

    def put(self, document: Document) -> None:
        obj = decode(document)
        if isinstance(obj, Lease):
            self.index.put_lease(obj)
        elif isinstance(obj, NodeObject):
            self.index.put(obj)

    def health(self, after: float) -> dict[str, Verdict]:
        """The verdicts that changed, `after` seconds past MADE."""
        fresh, gone = self.index.changes(MADE_AT + after)
        self.index.settle(fresh, gone)
        return {name: found.health.verdict for name, found in fresh.items()}


def renewed(seconds: int) -> Document:
    return lease("n", f"2026-01-01T00:{seconds // 60:02}:{seconds % 60:02}Z")


def test_silence_is_noticed_by_the_clock_alone() -> None:
    nodes = IndexHarness()
    for document in (node("n"), renewed(0)):
        nodes.put(document)
    assert nodes.health(0) == {"n": Verdict.HEALTHY}
    assert nodes.health(14) == {}
    assert nodes.health(15) == {"n": Verdict.SUSPECT}
    assert nodes.health(20) == {}
    assert nodes.health(26) == {"n": Verdict.LOST}
    nodes.put(renewed(30))
    assert nodes.health(30) == {"n": Verdict.HEALTHY}
    assert nodes.health(60) == {"n": Verdict.LOST}


def test_renewals_change_nothing_and_only_put_off_the_doubt() -> None:
    nodes = IndexHarness()
    nodes.put(node("n"))
    for now in range(0, 600, 10):
        nodes.put(renewed(now))
        assert nodes.health(now) == ({"n": Verdict.HEALTHY} if now == 0 else {})
        assert len(nodes.index._clock) <= 2
    assert nodes.health(590 + 15) == {"n": Verdict.SUSPECT}


def test_a_lease_that_goes_back_in_time_is_believed() -> None:
    nodes = IndexHarness()
    for document in (node("n"), renewed(60)):
        nodes.put(document)
    assert nodes.health(60) == {"n": Verdict.HEALTHY}
    nodes.put(renewed(0))
    assert nodes.health(61) == {"n": Verdict.LOST}


def test_a_clock_that_is_set_back() -> None:
    nodes = IndexHarness()
    for document in (node("n"), renewed(0)):
        nodes.put(document)
    assert nodes.health(100) == {"n": Verdict.LOST}
    assert nodes.health(5) == {"n": Verdict.HEALTHY}
    assert nodes.health(16) == {"n": Verdict.SUSPECT}


def test_a_lease_may_go() -> None:
    nodes = IndexHarness()
    for document in (node("n"), renewed(0)):
        nodes.put(document)
    assert nodes.health(100) == {"n": Verdict.LOST}
    obj = decode(renewed(0))
    assert isinstance(obj, Lease)
    nodes.index.remove_lease(obj)
    assert nodes.health(101) == {"n": Verdict.HEALTHY}
    assert nodes.health(1000) == {}


def test_leases_of_other_namespaces_are_not_of_nodes() -> None:
    nodes = IndexHarness()
    nodes.put(node("n"))
    document = renewed(0)
    document["metadata"]["namespace"] = "kube-system"
    nodes.put(document)
    assert nodes.health(1000) == {"n": Verdict.HEALTHY}


def test_nodes_that_are_gone_are_lost() -> None:
    view = ClusterView()
    view.put(decode(node("n")))
    assert "n" in view.snapshot(0.0).nodes
    view.remove(decode(node("n")))
    assert "n" not in view.snapshot(0.0).nodes
    assert made(node("m")).health == Health()


def test_a_time_of_others_that_cannot_be_read_is_reported_once_and_closes_no_node() -> None:
    invalid = InvalidObjects()
    index = NodeIndex(HealthLimits(), invalid)
    meta = {"labels": {"cloud.google.com/scheduled-maintenance-time": "soon"}}
    for taints in ([], [{"key": "other", "effect": "NoSchedule"}]):
        obj = decode(node("n", meta, taints=taints))
        assert isinstance(obj, NodeObject)
        index.put(obj)
        fresh, gone = index.changes(MADE_AT)
        index.settle(fresh, gone)
        assert (fresh["n"].usable, fresh["n"].unschedulable) == (True, False)
    [(about, words)] = invalid.news()
    assert about == "Node n"
    assert words.startswith(
        "Node n: metadata.labels[cloud.google.com/scheduled-maintenance-time]: 'soon' is not a time"
    )
    corrected = decode(node("n"))
    assert isinstance(corrected, NodeObject)
    index.put(corrected)
    index.changes(MADE_AT)
    assert not invalid.known


def test_a_node_with_invalid_words_of_ours_is_closed_but_no_cordon_that_makes_it_leave() -> None:
    index = NodeIndex(HealthLimits(cordon=CordonPolicy.LEAVE), InvalidObjects())
    ready = [{"type": "Ready", "status": "True"}]
    obj = decode(node("n", {"annotations": {"understudy.dev/notice": "soon"}}, conditions=ready))
    assert isinstance(obj, NodeObject)
    index.put(obj)
    fresh, _ = index.changes(MADE_AT)
    assert (fresh["n"].health.verdict, fresh["n"].unschedulable) == (Verdict.HEALTHY, True)


def test_the_words_of_others_count_on_a_node_with_invalid_ones_of_ours() -> None:
    goes_at = SignalRule(Verdict.LEAVING, annotation="mine/goes")
    index = NodeIndex(HealthLimits(signals=(goes_at,)), InvalidObjects())
    obj = decode(node("n", {"annotations": {"understudy.dev/notice": "soon", "mine/goes": "yes"}}))
    assert isinstance(obj, NodeObject)
    index.put(obj)
    fresh, _ = index.changes(MADE_AT)
    assert fresh["n"].health.verdict is Verdict.LEAVING
