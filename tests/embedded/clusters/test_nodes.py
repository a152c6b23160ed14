"""Pools and machines as Node documents, the ones the planner understands."""

import json
from typing import Any

import msgspec
import pytest

from understudy.control.view.node_capacity import capacity_of
from understudy.embedded.clusters.machine import Gpu, Machine
from understudy.embedded.clusters.nodes import machine_node, pool_nodes
from understudy.embedded.clusters.pools import BadPool, Pool
from understudy.kinds.decoding import decode
from understudy.model.nodes import Capacity

MACHINE = Machine(name="host", address="10.0.0.1", cpu="16", memory="64Gi")


def nodes(*pools: dict[str, Any]) -> list[dict[str, Any]]:
    made = pool_nodes([msgspec.convert(pool, Pool) for pool in pools], MACHINE)
    for document in made:
        decode(document)  # what the planner reads
    return made


def names(*pools: dict[str, Any]) -> list[str]:
    return [document["metadata"]["name"] for document in nodes(*pools)]


def labels(**pool: Any) -> dict[str, str]:
    found: dict[str, str] = nodes({"name": "p", **pool})[0]["metadata"]["labels"]
    return found


def test_nodes_are_named_for_their_pool() -> None:
    assert names({"name": "gpu", "count": 3}, {"name": "cpu"}) == ["gpu-0", "gpu-1", "gpu-2", "cpu-0"]


def test_nodes_say_whose_notices_are_followed_for_them() -> None:
    azure = {"name": "a", "count": 2, "notices": {"source": "azure", "endpoint": "http://127.0.0.1:8000"}}
    found = [one["metadata"].get("annotations") for one in nodes(azure, {"name": "b", "notices": {"source": "gcp"}})]
    from_azure = {"understudy.dev/notices-from": "azure http://127.0.0.1:8000"}
    assert found == [from_azure, from_azure, {"understudy.dev/notices-from": "gcp"}]


def test_nodes_of_domains_are_named_for_their_domain() -> None:
    pool = {"name": "slice", "count": 4, "topology": {"key": "np", "size": 2}}
    assert names(pool) == ["slice-0-0", "slice-0-1", "slice-1-0", "slice-1-1"]
    assert [node["metadata"]["labels"]["np"] for node in nodes(pool)] == ["slice-0", "slice-0", "slice-1", "slice-1"]


def test_domains_may_have_names_of_their_own() -> None:
    pool = {"name": "slice", "count": 4, "topology": {"key": "np", "size": 2, "names": ["red", "blue"]}}
    assert names(pool) == ["red-0", "red-1", "blue-0", "blue-1"]


def test_a_pool_that_is_one_domain_keeps_its_name() -> None:
    pool = {"name": "rack", "count": 2, "topology": {"key": "r", "size": 2}}
    assert names(pool) == ["rack-0", "rack-1"]


def test_names_and_addresses_as_given() -> None:
    [first, second] = nodes({"name": "p", "names": ["192.168.0.23", "b.172.16.0.9"]})
    assert first["status"]["addresses"][0] == {"type": "InternalIP", "address": "192.168.0.23"}
    assert second["status"]["addresses"][0] == {"type": "InternalIP", "address": "10.0.0.1"}
    [third] = nodes({"name": "p", "names": ["b.172.16.0.9"], "addresses": ["172.16.0.9"]})
    assert third["status"]["addresses"][0]["address"] == "172.16.0.9"


def test_two_pools_may_not_make_nodes_of_one_name() -> None:
    with pytest.raises(BadPool, match=r"pools\[1\]: its node a-0 has the name of another node"):
        names({"name": "a"}, {"name": "b", "names": ["a-0"]})


def test_what_a_node_offers() -> None:
    [node] = nodes({"name": "p", "cpu": 7.5, "memory": "32Gi", "pods": 8, "accelerators": {"nvidia.com/gpu": 4}})
    offered = {"cpu": "7.5", "memory": "32Gi", "pods": "8", "nvidia.com/gpu": "4"}
    assert node["status"]["capacity"] == node["status"]["allocatable"] == offered


def test_without_a_word_about_size_it_is_that_of_this_machine() -> None:
    [node] = nodes({"name": "p"})
    assert node["status"]["capacity"] == {"cpu": "16", "memory": "64Gi", "pods": "110"}


def test_labels_of_every_node() -> None:
    found = labels(instanceType="n2-standard-64", role="master", labels={"team": "a"})
    assert found["kubernetes.io/hostname"] == "p-0"
    assert found["kubernetes.io/os"] == "linux"
    assert found["node.kubernetes.io/instance-type"] == "n2-standard-64"
    assert found["node-role.kubernetes.io/master"] == ""
    assert found["team"] == "a"
    assert found["understudy.dev/pool"] == "p"


OWN = {"understudy.dev/spot": "true"}
AKS = {"kubernetes.azure.com/scalesetpriority": "spot"}
GKE = {"cloud.google.com/gke-spot": "true", "cloud.google.com/gke-provisioning": "spot"}
EKS = {"eks.amazonaws.com/capacityType": "SPOT"}
KARPENTER = {"karpenter.sh/capacity-type": "spot"}


@pytest.mark.parametrize(
    ("spot", "marks", "taint"),
    [
        pytest.param(True, {}, "", id="no cloud"),
        pytest.param("azure", AKS, "kubernetes.azure.com/scalesetpriority=spot", id="AKS taints its spot nodes"),
        pytest.param("gke", GKE, "", id="GKE taints none unless it is asked to"),
        pytest.param({"cloud": "gke", "taint": True}, GKE, "cloud.google.com/gke-spot=true", id="GKE, asked to taint"),
        pytest.param("aws", EKS, "", id="EKS taints none"),
        pytest.param({"cloud": "aws"}, EKS, "", id="the long form alone adds no taint"),
        pytest.param({"cloud": "aws", "taint": True}, EKS, "eks.amazonaws.com/capacityType=SPOT", id="EKS, tainted"),
        pytest.param("karpenter", KARPENTER, "", id="Karpenter taints none"),
        pytest.param(
            {"cloud": "karpenter", "taint": True}, KARPENTER, "karpenter.sh/capacity-type=spot", id="Karpenter, tainted"
        ),
        pytest.param({"cloud": "azure", "taint": False}, AKS, "", id="AKS, its taint taken away"),
    ],
)
def test_spot_nodes_look_as_their_cloud_makes_them(spot: Any, marks: dict[str, str], taint: str) -> None:
    [node] = nodes({"name": "p", "spot": spot, "taints": ["x:NoExecute"]})
    found = node["metadata"]["labels"]
    assert found.items() >= {**OWN, **marks}.items()
    assert capacity_of({key: found[key] for key in marks or OWN}, {}) is Capacity.SPOT
    key, _, value = taint.partition("=")
    spot_taint = [{"key": key, "value": value, "effect": "NoSchedule"}] if taint else []
    assert node["spec"]["taints"] == [*spot_taint, {"key": "x", "effect": "NoExecute"}]


def test_spares_are_marked_for_the_planner() -> None:
    assert labels(spare=True)["understudy.dev/spare"] == "true"
    assert labels(spare="keep")["understudy.dev/spare"] == "keep"
    assert "understudy.dev/spare" not in labels()


def test_this_machine_as_a_node() -> None:
    gpus = (Gpu("GPU-1", "NVIDIA-H100", 81559), Gpu("GPU-2", "NVIDIA-H100", 81559))
    node = machine_node(msgspec.structs.replace(MACHINE, gpus=gpus))
    decode(node)
    assert node["metadata"]["name"] == "host"
    assert node["status"]["capacity"] == {"cpu": "16", "memory": "64Gi", "pods": "110", "nvidia.com/gpu": "2"}
    assert node["metadata"]["labels"]["nvidia.com/gpu.product"] == "NVIDIA-H100"
    assert json.loads(node["metadata"]["annotations"]["understudy.dev/devices"]) == {
        "nvidia.com/gpu": ["GPU-1", "GPU-2"]
    }


def test_a_machine_without_gpus_offers_none() -> None:
    node = machine_node(MACHINE)
    assert "nvidia.com/gpu" not in node["status"]["capacity"]
    assert "annotations" not in node["metadata"]
