"""What is read off the wire, many at a time, is what is decoded one by one; and what is alike is there once."""

from typing import Any

import msgspec
import pytest

from understudy.kinds.decoding import decode_json
from understudy.objects.bulk_decoding import BULK_DECODERS
from understudy.objects.errors import BadObject
from understudy.objects.meta import ObjectMeta
from understudy.objects.nodes import Lease, Node
from understudy.objects.pods import Pod
from understudy.objects.resources import LEASES, NODES, PODS, Resource

Document = dict[str, Any]
OWNER = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "1", "controller": True}


def pod(name: str, node: str = "n1", **spec: Any) -> Document:
    amounts = {"cpu": "4", "nvidia.com/gpu": 8}
    mounts = [{"name": f"kube-api-access-{name}", "mountPath": "/token"}]
    container = {
        "name": "main",
        "resources": {"requests": amounts},
        "ports": [{"containerPort": 1}],
        "volumeMounts": mounts,
    }
    return {
        "metadata": {
            "name": name,
            "namespace": "team",
            "generateName": "train-",
            "uid": f"uid-{name}",
            "resourceVersion": "7",
            "labels": {"app": "train", "index": name},
            "annotations": {"note": "x"},
            "ownerReferences": [OWNER],
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "deletionTimestamp": "2026-01-02T00:00:00Z",
            "deletionGracePeriodSeconds": 30,
            "managedFields": [{"manager": "kubelet"}],
        },
        "spec": {
            "nodeName": node,
            "containers": [container],
            "tolerations": [{"key": "gpu", "operator": "Exists"}],
            "volumes": [{"name": f"kube-api-access-{name}", "projected": {}}],
            "schedulerName": "understudy",
            "priority": 5,
            **spec,
        },
        "status": {"phase": "Running", "startTime": "2026-01-01T00:00:00Z", "conditions": []},
    }


def node(name: str, cpu: str = "8") -> Document:
    return {
        "metadata": {"name": name, "uid": name, "resourceVersion": "7", "labels": {"zone": "a"}},
        "spec": {"taints": [{"key": "gpu", "effect": "NoSchedule"}]},
        "status": {
            "allocatable": {"cpu": cpu},
            "capacity": {"cpu": "9"},
            "conditions": [
                {"type": "Ready", "status": "True", "reason": "Fine", "lastHeartbeatTime": "2026-01-01T00:00:00Z"}
            ],
        },
    }


def page(resource: Resource, *documents: Document) -> list[Any]:
    text = msgspec.json.encode({"metadata": {"resourceVersion": "9", "continue": "c"}, "items": documents})
    found = BULK_DECODERS[resource].page(text)
    assert (found.revision, found.more) == ("9", "c")
    return list(found.objects)


def one_by_one(resource: Resource, document: Document) -> Any:
    found = decode_json(msgspec.json.encode({"apiVersion": resource.api_version, "kind": resource.kind, **document}))
    return msgspec.structs.replace(found, metadata=msgspec.structs.replace(found.metadata, generate_name=""))


CLAIM = {"name": "data", "persistentVolumeClaim": {"claimName": "mine"}}
SPREAD = {"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
AFFINE = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone"}]}}
INIT = {"name": "first", "restartPolicy": "Always", "resources": {"limits": {"cpu": 1}}}


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"volumes": [CLAIM]},
        {"topologySpreadConstraints": [SPREAD]},
        {"affinity": AFFINE},
        {"initContainers": [INIT]},
        {"nodeSelector": {"zone": "a"}, "hostNetwork": True, "overhead": {"cpu": "1"}},
        {"schedulingGates": [{"name": "wait"}], "preemptionPolicy": "Never", "priorityClassName": "high"},
        {"tolerations": [], "nodeName": ""},
    ],
    ids=str,
)
def test_pods_are_what_they_are_one_by_one(spec: Document) -> None:
    documents = [pod(name, **spec) for name in ("a", "b")] + [pod("c"), pod("d", **spec)]
    assert page(PODS, *documents) == [one_by_one(PODS, document) for document in documents]


def test_nodes_are_what_they_are_one_by_one() -> None:
    documents = [node("a"), node("b"), node("c", "7"), {"metadata": {"name": "bare"}}]
    for document, boot in zip(documents, ("first", "second"), strict=False):
        document["status"]["nodeInfo"] = {"bootID": boot, "kernelVersion": "6.1"}
    found = page(NODES, *documents)
    assert found == [one_by_one(NODES, document) for document in documents]
    assert [one.status.node_info.boot_id for one in found] == ["first", "second", "", ""]
    assert found[0].status.allocatable is found[1].status.allocatable


def test_of_a_lease_only_what_is_read() -> None:
    document = {
        "metadata": {"name": "a", "namespace": "kube-node-lease", "uid": "u", "resourceVersion": "3"},
        "spec": {"leaseDurationSeconds": 40, "renewTime": "2026-01-01T00:00:00.123456Z"},
    }
    assert page(LEASES, document) == [one_by_one(LEASES, document)]


def test_pods_of_one_template_share_what_is_long() -> None:
    first, second = page(PODS, pod("a", "n1"), pod("b", "n2"))
    assert (first.spec.node_name, second.spec.node_name) == ("n1", "n2")
    assert first.spec.containers is second.spec.containers
    assert first.spec.tolerations is second.spec.tolerations
    assert first.metadata.owner_references is second.metadata.owner_references
    assert first.metadata.labels != second.metadata.labels


def test_where_a_daemon_may_sit_is_not_kept_once_it_sits() -> None:
    """Each names its own node: none would be like another."""
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}
    own_node = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    daemon = {**OWNER, "kind": "DaemonSet"}
    for affinity, node_name, kept in (
        ({"nodeAffinity": own_node}, "n1", False),
        ({"nodeAffinity": own_node}, "", True),
        ({"nodeAffinity": own_node, **AFFINE}, "n1", True),
    ):
        document = pod("a", node_name, affinity=affinity)
        document["metadata"]["ownerReferences"] = [daemon]
        [found] = page(PODS, document)
        assert found == one_by_one(PODS, document)
        assert (found.spec.affinity is not None) == kept


@pytest.mark.parametrize(
    "wrong",
    [
        pod("a", containers=[{"name": "x", "resources": {"requests": {"cpu": "many"}}}]),
        pod("a", containers=[]),
        pod("a", tolerations=[{"operator": "Equal"}]),
        pod("a", preemptionPolicy="Sometimes"),
        pod("a", overhead={"cpu": "many"}),
        pod("a", priority="high"),
        pod("", "n1"),
        {"metadata": {"name": "a"}},
    ],
    ids=lambda document: str(document)[-60:],
)
def test_what_is_wrong_is_noticed_beside_many_that_are_right(wrong: Document) -> None:
    page(PODS, pod("first"))
    with pytest.raises((BadObject, msgspec.DecodeError)):
        page(PODS, pod("b"), wrong)


def test_a_wrong_node_is_noticed() -> None:
    page(NODES, node("a"))
    for _ in range(2):
        with pytest.raises(BadObject):
            page(NODES, node("a"), node("b", "much"))


def test_a_line_of_a_watch() -> None:
    event = {"type": "MODIFIED", "object": {"kind": "Pod", "apiVersion": "v1", **pod("a")}}
    happened, found = BULK_DECODERS[PODS].line(msgspec.json.encode(event))
    assert (happened, found) == ("MODIFIED", one_by_one(PODS, pod("a")))


def test_no_field_of_the_metadata_is_left_out() -> None:
    """They are copied one by one: a new field has to be added there."""
    [found] = page(PODS, pod("a"))
    left_empty = {name for name in ObjectMeta.__struct_fields__ if not getattr(found.metadata, name)}
    assert left_empty == {"generate_name"}


def test_kinds() -> None:
    kinds = {
        resource: type(page(resource, document)[0]) for resource, document in ((PODS, pod("a")), (NODES, node("a")))
    }
    assert kinds == {PODS: Pod, NODES: Node}
    assert isinstance(page(LEASES, {"metadata": {"name": "a"}})[0], Lease)
