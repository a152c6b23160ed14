"""Documents into structs, and every way a document can be wrong into a line that names object and field."""

import msgspec
import pytest

from tests.objects.documents import (
    Document,
    container,
    job,
    jobset,
    node,
    pod,
    pod_spec,
    replicated_job,
    template,
    training_job,
)
from understudy.kinds.decoding import KINDS, decode, decode_json
from understudy.objects.cluster_objects import PriorityClass
from understudy.objects.errors import BadObject
from understudy.objects.jobs import Job
from understudy.objects.nodes import Node
from understudy.objects.pods import Pod

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def complaint(document: Document) -> str:
    with pytest.raises(BadObject) as caught:
        decode(document)
    with pytest.raises(BadObject) as again:
        decode_json(msgspec.json.encode(document))
    assert str(again.value) == str(caught.value)
    return str(caught.value)


def test_json_and_documents_give_the_same() -> None:
    for document in (pod("a", "n"), node("n"), job("j"), jobset("s", replicated_job("w", 2, 3))):
        assert decode(document) == decode_json(msgspec.json.encode(document))


def test_null_is_absent() -> None:
    document = pod("a", nodeSelector=None, tolerations=None)
    document["metadata"] |= {"labels": None, "deletionTimestamp": None}
    document["spec"]["containers"][0]["resources"] = None
    found = decode(document)
    assert isinstance(found, Pod)
    assert found.spec.node_selector == {}
    assert decode_json(msgspec.json.encode(document)) == found


def test_unknown_fields_are_passed_over() -> None:
    assert decode(pod("a", dnsPolicy="Default")) == decode(pod("a"))


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_priority_classes_of_both_versions(version: str) -> None:
    document = {
        "apiVersion": f"scheduling.k8s.io/{version}",
        "kind": "PriorityClass",
        "metadata": {"name": "high"},
        "value": 7,
    }
    found = decode(document)
    assert isinstance(found, PriorityClass)
    assert found.value == 7


def test_generate_name_names_a_job() -> None:
    document = job("x")
    document["metadata"] = {"generateName": "train-"}
    found = decode(document)
    assert isinstance(found, Job)
    assert found.metadata.name == "train"


@pytest.mark.parametrize("kind", ["Node", "PriorityClass"])
def test_generate_name_names_no_node(kind: str) -> None:
    document = {**node("x"), "kind": kind, "metadata": {"generateName": "n-"}, "value": 1}
    document["apiVersion"] = {"Node": "v1", "PriorityClass": "scheduling.k8s.io/v1"}[kind]
    assert complaint(document).startswith(f"{kind} without a name: metadata.name: is missing; generateName")


def test_no_namespace_is_the_default_one() -> None:
    assert decode(pod("x", meta={"namespace": ""})).metadata.namespace == "default"


def test_kinds_that_are_not_understood() -> None:
    known = ", ".join(sorted(KINDS))
    unknown = {"apiVersion": "v1", "kind": "Pood", "metadata": {"name": "x"}}
    assert complaint(unknown) == f"Pood default/x: kind: 'Pood' is not understood; understood are {known}"
    assert "kind: is missing" in complaint({"apiVersion": "v1", "metadata": {"name": "x"}})
    assert "Pod default/x: apiVersion: is missing" in complaint({"kind": "Pod", "metadata": {"name": "x"}})
    wrong = {**pod("x"), "apiVersion": "batch/v1"}
    assert complaint(wrong) == "Pod default/x: apiVersion: 'batch/v1' is not understood; Pod is of the group core (v1)"
    with pytest.raises(BadObject, match="expected an object"):
        decode_json(b"[]")
    with pytest.raises(BadObject, match="not JSON"):
        decode_json(b"{")


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        (
            pod("x", nodeSelector={"a": "b", "gpu": True}),
            "spec.nodeSelector.gpu: must be text, not true or false; put it",
        ),
        (pod("x", nodeSelector={"a.b/c": 1}), "spec.nodeSelector[a.b/c]: must be text, not a whole number"),
        (pod("x", nodeSelector=["a"]), "spec.nodeSelector: must be a mapping, not a list"),
        (pod("x", hostNetwork="yes"), "spec.hostNetwork: must be true or false, not text"),
        (pod("x", meta={"creationTimestamp": "yesterday"}), "metadata.creationTimestamp: is not a time"),
        (pod("x", meta={"creationTimestamp": "2026-01-01T00:00:00"}), "metadata.creationTimestamp: is not a time"),
        (pod("x", containers=[]), "spec.containers: is empty"),
        ({**pod("x"), "spec": {}}, "spec.containers: is missing"),
        ({**job("x"), "spec": {}}, "spec.template: is missing"),
        ({**pod("x"), "metadata": {}}, "Pod without a name: metadata.name: is missing; give it a name"),
        (
            jobset("x", replicated_job("w", 1, 1), {"name": "v", "template": {"spec": {"template": {"spec": {}}}}}),
            "spec.replicatedJobs[1].template.spec.template.spec.containers: is missing",
        ),
        (
            {
                "apiVersion": "kubeflow.org/v1",
                "kind": "TFJob",
                "metadata": {"name": "x"},
                "spec": {"tfReplicaSpecs": {"PS": {"template": template()}, "Worker": {"spec": {}}}},
            },
            "TFJob default/x: spec.tfReplicaSpecs.Worker.template: is missing",
        ),
        (
            {
                "apiVersion": "kubeflow.org/v1",
                "kind": "TFJob",
                "metadata": {"name": "x"},
                "spec": {"tfReplicaSpecs": {"Worker": {"template": template(nodeSelector={"a": 1})}}},
            },
            "spec.tfReplicaSpecs.Worker.template.spec.nodeSelector.a: must be text",
        ),
    ],
)
def test_wrong_types(document: Document, problem: str) -> None:
    assert problem in complaint(document)


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        (
            {"containers": [container({"cpu": "4 cores"})]},
            "spec.containers[0].resources.requests.cpu: '4 cores' is not a",
        ),
        (
            {"containers": [container(resources={"limits": {"nvidia.com/gpu": "-1"}})]},
            "spec.containers[0].resources.limits[nvidia.com/gpu]: '-1' is negative",
        ),
        ({"initContainers": [container({"memory": "1gb"})]}, "spec.initContainers[0].resources.requests.memory: '1gb'"),
        ({"overhead": {"cpu": "x"}}, "spec.overhead.cpu: 'x' is not a quantity"),
        ({"resources": {"limits": {"cpu": "x"}}}, "spec.resources.limits.cpu: 'x' is not a quantity"),
        ({"tolerations": [{"operator": "Equals", "key": "a"}]}, "spec.tolerations[0].operator: 'Equals' is neither"),
        (
            {"tolerations": [{"key": "a", "effect": "Never"}]},
            "spec.tolerations[0].effect: 'Never' is none of NoSchedule",
        ),
        (
            {"tolerations": [{"key": "a", "operator": "Exists", "value": "b"}]},
            "spec.tolerations[0].value: must be empty",
        ),
        ({"tolerations": [{"value": "b"}]}, "spec.tolerations[0].key: is missing"),
        ({"preemptionPolicy": "Sometimes"}, "spec.preemptionPolicy: 'Sometimes' is neither"),
        (
            {"topologySpreadConstraints": [{"topologyKey": "a", "maxSkew": 0, "whenUnsatisfiable": "DoNotSchedule"}]},
            "spec.topologySpreadConstraints[0].maxSkew: 0 must be 1 or more",
        ),
        (
            {"topologySpreadConstraints": [{"topologyKey": "a", "maxSkew": 1, "whenUnsatisfiable": "Panic"}]},
            "spec.topologySpreadConstraints[0].whenUnsatisfiable: 'Panic' is neither",
        ),
    ],
)
def test_impossible_pod_specs(spec: Document, problem: str) -> None:
    assert problem in complaint(pod("x", **spec))
    in_job = complaint(job("x", template={"spec": {**pod_spec(), **spec}}))
    assert problem.replace("spec.", "spec.template.spec.", 1) in in_job


@pytest.mark.parametrize(
    ("operator", "values", "problem"),
    [
        ("Within", ["a"], "operator: 'Within' is none of In, NotIn, Exists, DoesNotExist, Gt, Lt"),
        ("In", [], "values: is empty; In needs at least one value"),
        ("NotIn", [], "values: is empty; NotIn needs at least one value"),
        ("Exists", ["a"], "values: must be empty where the operator is Exists"),
        ("DoesNotExist", ["a"], "values: must be empty where the operator is DoesNotExist"),
        ("Gt", ["many"], "values: Gt needs exactly one whole number"),
        ("Lt", ["1", "2"], "values: Lt needs exactly one whole number"),
        ("Gt", [], "values: Gt needs exactly one whole number"),
    ],
)
def test_selectors_with_bad_operators(operator: str, values: list[str], problem: str) -> None:
    expression = {"key": "zone", "operator": operator, "values": values}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    where = f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[0].matchExpressions[0]."
    assert complaint(pod("x", affinity={"nodeAffinity": {REQUIRED: terms}})) == f"Pod default/x: {where}{problem}"


def test_labels_are_not_compared_by_size() -> None:
    term = {
        "topologyKey": "a",
        "labelSelector": {"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1"]}]},
    }
    said = complaint(pod("x", affinity={"podAffinity": {REQUIRED: [term]}}))
    assert f"spec.affinity.podAffinity.{REQUIRED}[0].labelSelector.matchExpressions[0].operator: 'Gt' is none" in said


@pytest.mark.parametrize(
    ("affinity", "problem"),
    [
        ({"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": []}}}, "nodeSelectorTerms: is empty"),
        (
            {
                "nodeAffinity": {
                    REQUIRED: {
                        "nodeSelectorTerms": [{"matchFields": [{"key": "x", "operator": "In", "values": ["a"]}]}]
                    }
                }
            },
            "matchFields[0].key: 'x' is not a field of nodes",
        ),
        ({"nodeAffinity": {PREFERRED: [{"weight": 0, "preference": {}}]}}, f"{PREFERRED}[0].weight: 0 is not between"),
        (
            {"podAntiAffinity": {REQUIRED: [{"topologyKey": ""}]}},
            f"podAntiAffinity.{REQUIRED}[0].topologyKey: is empty",
        ),
    ],
)
def test_impossible_affinities(affinity: Document, problem: str) -> None:
    assert problem in complaint(pod("x", affinity=affinity))


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        (
            node("x", taints=[{"key": "a", "effect": "Never"}]),
            "Node x: spec.taints[0].effect: 'Never' is none of NoSchedule",
        ),
        (node("x", allocatable={"memory": "much"}), "Node x: status.allocatable.memory: 'much' is not a quantity"),
        (job("x", parallelism=-1), "Job default/x: spec.parallelism: -1 is negative"),
        (job("x", completions=-1), "spec.completions: -1 is negative"),
        (job("x", completionMode="Odd"), "spec.completionMode: 'Odd' is neither"),
        (jobset("x", replicated_job("w", -1, 1)), "JobSet default/x: spec.replicatedJobs[0].replicas: -1 is negative"),
        (
            jobset("x", replicated_job("w", 1, 1), replicated_job("w", 1, 1)),
            "spec.replicatedJobs[1].name: 'w' is there",
        ),
        (
            {
                "apiVersion": "kubeflow.org/v1",
                "kind": "PyTorchJob",
                "metadata": {"name": "x"},
                "spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": -2, "template": template()}}},
            },
            "PyTorchJob default/x: spec.pytorchReplicaSpecs.Worker.replicas: -2 is negative",
        ),
        (
            training_job("TFJob", "tfReplicaSpecs", {"Worker": 1, "worker": 1}),
            "TFJob default/train: spec.tfReplicaSpecs.Worker: is there twice",
        ),
        (
            training_job("MPIJob", "mpiReplicaSpecs", {"Launcher": 2}),
            "MPIJob default/train: spec.mpiReplicaSpecs.Launcher.replicas: 2 must be 1",
        ),
        (
            {
                "apiVersion": "kubeflow.org/v1alpha1",
                "kind": "MPIJob",
                "metadata": {"name": "x"},
                "spec": {"replicas": 1},
            },
            "MPIJob default/x: spec.template: is missing",
        ),
        (
            {
                "apiVersion": "kubeflow.org/v1alpha1",
                "kind": "MPIJob",
                "metadata": {"name": "x"},
                "spec": {"template": template(), "gpus": 12, "gpusPerNode": 8},
            },
            "MPIJob default/x: spec.gpus: 12 does not divide into nodes of 8",
        ),
        (
            {
                "apiVersion": "policy/v1",
                "kind": "PodDisruptionBudget",
                "metadata": {"name": "x"},
                "spec": {"minAvailable": "all"},
            },
            "PodDisruptionBudget default/x: spec.minAvailable: 'all' is neither a number of pods nor a percentage",
        ),
    ],
)
def test_impossible_objects(document: Document, problem: str) -> None:
    assert problem in complaint(document)


def test_nodes_are_decoded_with_their_taints() -> None:
    found = decode(node("n", taints=[{"key": "a", "value": "b", "effect": "NoSchedule"}], unschedulable=True))
    assert isinstance(found, Node)
    assert found.spec.unschedulable
    assert found.spec.taints[0].key == "a"
    assert found.title == "Node n"


def test_pods_of_one_template_share_their_memory() -> None:
    one, other = (decode(pod(name, node, nodeSelector={"a": name})) for name, node in (("a", "m"), ("b", "n")))
    assert isinstance(one, Pod)
    assert isinstance(other, Pod)
    assert one.spec.containers is other.spec.containers
    assert (one.spec.node_selector, other.spec.node_selector) == ({"a": "a"}, {"a": "b"})
