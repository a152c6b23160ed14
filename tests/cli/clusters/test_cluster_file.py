"""Cluster files: the examples are good, and what is wrong in others is said in one line with the field and the fix."""

from pathlib import Path

import pytest

from understudy.cli.clusters import cluster_file
from understudy.cli.errors import BadInput
from understudy.control.view.node_capacity import capacity_of
from understudy.embedded.clusters.machine import Machine
from understudy.embedded.clusters.nodes import pool_nodes
from understudy.model.nodes import Capacity

EXAMPLES = Path(__file__).parents[3] / "examples" / "clusters"
MACHINE = Machine(name="host", address="10.0.0.1", cpu="16", memory="64Gi")


def refused(tmp_path: Path, text: str) -> str:
    path = tmp_path / "cluster.yaml"
    path.write_text(text)
    with pytest.raises(BadInput) as caught:
        cluster_file.read(str(path))
    return str(caught.value).removeprefix(f"{path}: ")


@pytest.mark.parametrize(
    ("name", "count", "offers"),
    [
        ("slices", 10, "google.com/tpu"),
        ("one-gpu", 4, "nvidia.com/gpu"),
        ("azure-spot", 4, "nvidia.com/gpu"),
        ("gke-spot", 5, "nvidia.com/gpu"),
        ("eks-spot", 5, "nvidia.com/gpu"),
        ("three-by-four", 6, "nvidia.com/gpu"),
        ("spares", 4, "nvidia.com/gpu"),
    ],
)
def test_the_examples_are_clusters(name: str, count: int, offers: str) -> None:
    file = cluster_file.read(str(EXAMPLES / f"{name}.yaml"))
    nodes = pool_nodes(file.pools, MACHINE)
    assert file.name == name
    assert len(nodes) == count
    assert offers in nodes[-1]["status"]["capacity"]


def test_there_is_no_other_example() -> None:
    spot = {"azure-spot", "gke-spot", "eks-spot"}
    assert {path.stem for path in EXAMPLES.iterdir()} == {"slices", "one-gpu", "three-by-four", "spares", *spot}


@pytest.mark.parametrize(
    ("name", "selector", "taints"),
    [
        ("azure-spot", "kubernetes.azure.com/scalesetpriority=spot", ["kubernetes.azure.com/scalesetpriority"]),
        ("gke-spot", "cloud.google.com/gke-spot=true", ["cloud.google.com/gke-spot"]),
        ("eks-spot", "eks.amazonaws.com/capacityType=SPOT", []),
    ],
)
def test_the_spot_nodes_of_an_example_are_marked_as_on_its_cloud(name: str, selector: str, taints: list[str]) -> None:
    nodes = pool_nodes(cluster_file.read(str(EXAMPLES / f"{name}.yaml")).pools, MACHINE)
    key, _, value = selector.partition("=")
    spot = [node for node in nodes if node["metadata"]["labels"].get(key) == value]
    assert 0 < len(spot) < len(nodes)
    for node in nodes:
        kept_off = [taint["key"] for taint in node.get("spec", {}).get("taints", [])]
        assert kept_off == (taints if node in spot else [])
        kind = Capacity.SPOT if node in spot else Capacity.ON_DEMAND
        assert capacity_of(node["metadata"]["labels"], {}) is kind


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "0 documents; a cluster file is one"),
        ("pools: []\n---\npools: []\n", "2 documents; a cluster file is one"),
        ("name: a\n", "pools: missing; give at least one"),
        ("apiVersion: v1\nkind: Node\n", "these are Kubernetes objects"),
        ("pool: []\n", "pool: no such field; did you mean pools?"),
        ("pools: [{name: a, cout: 3}]", "pools[0].cout: no such field; did you mean count?"),
        ("pools: [{name: a, acelerators: {x: 1}}]", "pools[0].acelerators: no such field; did you mean accelerators?"),
        ("pools: [{name: a, topology: {keys: b}}]", "pools[0].topology.keys: no such field; did you mean key?"),
        ("pools: [{name: a, taints: [{efect: b}]}]", "pools[0].taints.efect: no such field; did you mean effect?"),
        ("pools: [{name: a, notices: {sorce: b}}]", "pools[0].notices.sorce: no such field; did you mean source?"),
        ("pools: [{name: a, notices: azure}]", "pools[0].notices: expected a mapping, got text"),
        ("pools: [{name: a, notices: {}}]", "pools[0].notices.source: missing"),
        ("pools: [{name: a, zzz: 1}]", "pools[0].zzz: no such field; there are: "),
        ("pools: [a]", "pools[0]: expected a mapping with a name"),
        ("pools: {a: b}", "pools: expected a list, got a mapping"),
        ("pools: [{count: 3}]", "pools[0].name: missing; every one needs it"),
        ("pools: [{name: a, count: many}]", "pools[0].count: expected a whole number, got text"),
        ("pools: [{name: a, labels: {b: true}}]", "pools[0].labels.b: expected text; write it in quotes, got true"),
        ("pools: [{name: a, cpu: [1]}]", "pools[0].cpu: expected a whole number or a number or text, got a list"),
        ("pools: [{name: a, accelerators: {a/b: '1'}}]", 'pools[0].accelerators.a/b: expected a whole number, got "1"'),
        (
            "pools: [{name: a, spot: maybe}]",
            "pools[0].spot: 'maybe' is none of true, false, azure, gke, aws",
        ),
        ("pools: [{name: a, spot: {cloud: gcp}}]", "pools[0].spot.cloud: 'gcp' is none of azure, gke, aws, karpenter"),
        ("pools: [{name: a, spot: {cluod: gke}}]", "pools[0].spot.cluod: no such field; did you mean cloud?"),
        ("pools: [{name: a, spot: {taint: true}}]", "pools[0].spot.cloud: missing; it is one of azure, gke, aws"),
        ("pools: [{name: a, spot: {cloud: gke, taint: yess}}]", "pools[0].spot.taint: expected true or false"),
        ("runtime: runc\npools: [{name: a}]", "runtime: the runtimes are: docker, podman, process"),
        ("podAccess: root\npools: [{name: a}]", "podAccess: it is one of: admin, service-account"),
        ("runtime: dokcer\npools: [{name: a}]", "runtime: did you mean docker?"),
    ],
)
def test_a_wrong_file_is_refused(tmp_path: Path, text: str, complaint: str) -> None:
    assert refused(tmp_path, text).startswith(complaint)
