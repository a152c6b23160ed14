"""Nodes and the labels that group them."""

from tests.cli.doctor.cases import gpu_node, gpu_pod, nodes_seen, seen, texts
from tests.objects.documents import node
from understudy.cli.doctor.findings import Level
from understudy.cli.doctor.nodes import check_nodes, check_topology
from understudy.cli.input.settings import Origin
from understudy.model.nodes import Verdict

POOL = "cloud.google.com/gke-nodepool"


def test_accelerators_are_counted_and_only_usable_ones_are_free() -> None:
    nodes = [gpu_node("a"), gpu_node("b"), gpu_node("c", unschedulable=True), node("plain")]
    found = check_nodes(seen(**nodes_seen(nodes, gpu_pod("x", "a"), b=Verdict.LOST)))
    assert texts(found, Level.WELL) == ["3 nodes of 4 can be trusted", "nvidia.com/gpu: 24 on 3 nodes, 4 free"]
    assert texts(found, Level.CARE) == ["1 node lost: b (its lease is old)"]
    assert "cordoned: c" in texts(found, Level.NOTE)


def test_taints_that_say_how_a_node_is_are_not_told() -> None:
    taints = [
        {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"},
        {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"},
        {"key": "soft", "effect": "PreferNoSchedule"},
    ]
    found = check_nodes(seen(**nodes_seen([gpu_node("a", taints=taints), gpu_node("b", taints=taints[:1])])))
    assert "taints that pods have to tolerate: nvidia.com/gpu=present:NoSchedule (2 nodes)" in texts(found)


def test_spares_are_labelled_or_ruled() -> None:
    facts = nodes_seen([gpu_node("a"), gpu_node("s", {"understudy.dev/spare": "true"})])
    rule = (Origin("policy.spares", [{"count": 1}], "understudy.yaml"),)
    [spares] = [text for text in texts(check_nodes(seen(**facts, settings=rule))) if text.startswith("spares")]
    assert spares.startswith("spares: 1 node labelled (s) and 1 rule of the settings")
    [none] = [one for one in check_nodes(seen(**nodes_seen([gpu_node("a")]))) if one.text.startswith("no spares")]
    assert none.level is Level.NOTE
    assert none.fix


def test_no_nodes_and_no_right_to_see_them() -> None:
    assert [one.level for one in check_nodes(seen())] == [Level.CARE]
    assert [one.level for one in check_nodes(seen(nodes=None, node_summaries=None))] == [Level.CARE]
    assert check_topology(seen(nodes=None)) == []


def test_labels_that_group_nodes() -> None:
    slices = [
        gpu_node(f"{pool}{i}", {POOL: pool, "kubernetes.io/hostname": f"{pool}{i}"}) for pool in "ab" for i in range(2)
    ]
    uneven = gpu_node("c", {"topology.kubernetes.io/zone": "z"})
    found = check_topology(seen(**nodes_seen([*slices, uneven, node("cpu", {"labels": {POOL: "cpu"}})])))
    assert texts(found, Level.WELL) == [f"{POOL}: 2 domains of 2 nodes, 1 without"]
    one = check_topology(seen(**nodes_seen([gpu_node("a", {POOL: "a"}), gpu_node("b", {POOL: "b"})])))
    assert [finding.level for finding in one] == [Level.NOTE]
