"""`understudy top node`, to the letter."""

import pytest

from tests.cli.queries.documents import node, pod
from understudy.cli.errors import BadInput
from understudy.cli.queries.nodes import NodeUsage, node_usages, select_nodes
from understudy.cli.queries.objects import NodeInfo, NodeState
from understudy.cli.views.nodes import node_detail_lines, node_lines, usage_figures
from understudy.model.nodes import Capacity, Health, Verdict

MASTER = {"node-role.kubernetes.io/master": ""}
RULE = "-----------------------------------------------------------------------------------------"


def three_by_four() -> list[NodeInfo]:
    masters = [node(f"cn-huhehaote.172.16.0.{n}", f"172.16.0.{n}", labels=MASTER) for n in (205, 206, 207)]
    return masters + [node(f"cn-huhehaote.172.16.0.{n}", f"172.16.0.{n}", gpus=4) for n in (210, 208, 209)]


def one_gpu() -> list[NodeUsage]:
    name = "cn-hangzhou.192.168.0.23"
    nodes = [node(f"192.168.0.{n}", f"192.168.0.{n}", labels=MASTER) for n in (20, 21)]
    pods = [pod("medium-worker-0", node=name, gpus=1), pod("medium-launcher-sz5xj", node=name)]
    return select_nodes(node_usages([*nodes, node(name, "192.168.0.23", gpus=1)], pods), ())


def test_every_node_and_the_total() -> None:
    assert node_lines(select_nodes(node_usages(three_by_four(), []), ())) == [
        "NAME                       IPADDRESS     ROLE    STATUS  GPU(Total)  GPU(Allocated)",
        "cn-huhehaote.172.16.0.205  172.16.0.205  master  ready   0           0",
        "cn-huhehaote.172.16.0.206  172.16.0.206  master  ready   0           0",
        "cn-huhehaote.172.16.0.207  172.16.0.207  master  ready   0           0",
        "cn-huhehaote.172.16.0.208  172.16.0.208  <none>  ready   4           0",
        "cn-huhehaote.172.16.0.209  172.16.0.209  <none>  ready   4           0",
        "cn-huhehaote.172.16.0.210  172.16.0.210  <none>  ready   4           0",
        RULE,
        "Allocated/Total GPUs In Cluster:",
        "0/12 (0%)",
    ]


def test_what_runs_is_counted_and_what_has_ended_is_not() -> None:
    name = "cn-huhehaote.172.16.0.208"
    pods = [pod("a", node=name, gpus=4), pod("b", "Succeeded", node=name, gpus=4), pod("c", "Pending", node="", gpus=4)]
    shown = node_lines(select_nodes(node_usages(three_by_four(), pods), ()))
    assert shown[4].split() == [name, "172.16.0.208", "<none>", "ready", "4", "4"]
    assert shown[-1] == "4/12 (33%)"


def test_the_details_of_the_nodes_that_have_any() -> None:
    assert node_detail_lines(one_gpu()) == [
        "",
        "NAME:       cn-hangzhou.192.168.0.23",
        "IPADDRESS:  192.168.0.23",
        "ROLE:       <none>",
        "",
        "NAMESPACE  NAME             GPU REQUESTS  GPU LIMITS",
        "default    medium-worker-0  1             1",
        "",
        "Total GPUs In Node cn-hangzhou.192.168.0.23:      1",
        "Allocated GPUs In Node cn-hangzhou.192.168.0.23:  1 (100%)",
        RULE,
        "",
        "Allocated/Total GPUs In Cluster:  1/1 (100%)",
    ]


def test_a_node_asked_for_by_name_is_detailed_even_without_any() -> None:
    usages = [usage for usage in one_gpu() if usage.name == "192.168.0.20"]
    assert "Allocated GPUs In Node 192.168.0.20:  0 (0%)" in node_detail_lines(usages, named=True)


def test_a_node_that_is_not_ready_is_told_apart() -> None:
    nodes = [node("a", "10.0.0.1", gpus=4), node("b", "10.0.0.2", gpus=4, ready=False)]
    shown = node_lines(node_usages(nodes, [pod("p", node="a", gpus=2)]))
    assert shown[2].split()[3] == "notReady"
    assert shown[-4:] == [
        "Allocated/Total GPUs In Cluster:",
        "2/8 (25%)",
        "Allocated/Total GPUs(Active) In Cluster:",
        "2/4 (50%)",
    ]


def test_accelerators_of_every_maker_count_and_the_wide_form_names_them() -> None:
    nodes = [node("a", "10.0.0.1", gpus=8, resource="google.com/tpu", labels={"understudy.dev/spare": "true"})]
    shown = node_lines(node_usages(nodes, []), wide=True)
    assert " ".join(shown[1].split()) == "a 10.0.0.1 <none> ready 8 0 32 0 128Gi 0 0 enabled,spare 8 google.com/tpu"


def test_nodes_are_shown_in_the_order_of_their_numbers_or_as_asked_for() -> None:
    nodes = node_usages([node(name, "10.0.0.1") for name in ("n-10", "n-9", "n-1")], [])
    assert [one.name for one in select_nodes(nodes, ())] == ["n-1", "n-9", "n-10"]
    assert [one.name for one in select_nodes(nodes, ["n-9", "n-1", "n-9"])] == ["n-9", "n-1"]
    with pytest.raises(BadInput, match="no node 'n-11'; did you mean n-1 or"):
        select_nodes(nodes, ["n-11"])


def test_programs_read_the_same_figures() -> None:
    [figures] = [usage_figures(usage, NodeState()) for usage in one_gpu() if usage.total]
    assert (figures["totalGPUs"], figures["allocatedGPUs"]) == (1, 1)
    assert [one["name"] for one in figures["instances"]] == ["medium-launcher-sz5xj", "medium-worker-0"]
    assert figures["requests"] == {"nvidia.com/gpu": "1"}
    assert (figures["capacity"], figures["health"], figures["deadline"]) == ("on-demand", "healthy", None)


NOW = 1_767_268_800.0  # 2026-01-01T12:00:00Z
STATES = {
    "a": NodeState(),
    "b": NodeState(Capacity.SPOT),
    "c": NodeState(Capacity.SPOT, Health(Verdict.LEAVING, "notice (azure Preempt)", NOW, NOW + 25)),
}


def spot_nodes() -> list[NodeUsage]:
    return node_usages([node(name, f"10.0.0.{i}", gpus=1) for i, name in enumerate("abc")], [])


def test_spot_nodes_and_those_that_leave_are_told_apart_where_there_are_any() -> None:
    shown = node_lines(spot_nodes(), STATES, NOW)
    assert shown[:4] == [
        "NAME  IPADDRESS  ROLE    STATUS  GPU(Total)  GPU(Allocated)  CAPACITY   LEAVES",
        "a     10.0.0.0   <none>  ready   1           0               on-demand  <none>",
        "b     10.0.0.1   <none>  ready   1           0               spot       <none>",
        "c     10.0.0.2   <none>  ready   1           0               spot       in 25s: notice (azure Preempt)",
    ]
    assert node_lines(spot_nodes()[:1], STATES, NOW)[0].endswith("GPU(Allocated)")


def test_the_details_of_a_spot_node_that_leaves() -> None:
    details = node_detail_lines(spot_nodes(), STATES, NOW)
    assert details.count("CAPACITY:   spot") == 2
    assert details.count("LEAVES:     in 25s: notice (azure Preempt)") == 1


def test_programs_read_the_deadline() -> None:
    figures = usage_figures(spot_nodes()[2], STATES["c"])
    assert (figures["capacity"], figures["health"]) == ("spot", "leaving")
    assert (figures["deadline"], figures["reason"]) == ("2026-01-01T12:00:25Z", "notice (azure Preempt)")
