"""The kinds of the training operator into gangs: PyTorchJob, TFJob, XGBoostJob, PaddleJob, JAXJob."""

from typing import Any

import pytest

from tests.kinds.gangs import gang, layout, made, names
from tests.objects.documents import Document, owner, pod, training_job
from understudy.model.gangs import Suspension, Topology, TopologyMode

KINDS = {
    "PyTorchJob": "pytorchReplicaSpecs",
    "TFJob": "tfReplicaSpecs",
    "XGBoostJob": "xgbReplicaSpecs",
    "PaddleJob": "paddleReplicaSpecs",
    "JAXJob": "jaxReplicaSpecs",
}


def pytorch(workers: int = 2, meta: Document | None = None, **spec: Any) -> Document:
    return training_job("PyTorchJob", "pytorchReplicaSpecs", {"Worker": workers, "Master": 1}, meta, **spec)


def train_pod(kind: str, role: str, index: int, node: str = "") -> Document:
    labels = {
        "training.kubeflow.org/operator-name": f"{kind.lower()}-controller",
        "training.kubeflow.org/job-name": "train",
        "training.kubeflow.org/replica-type": role,
        "training.kubeflow.org/replica-index": str(index),
    }
    return pod(f"train-{role}-{index}", node, {"labels": labels, "ownerReferences": owner(kind, "train")})


@pytest.mark.parametrize(("kind", "field"), KINDS.items())
def test_all_replicas_are_one_island(kind: str, field: str) -> None:
    found = gang(training_job(kind, field, {"Worker": 2}))
    assert found.key == f"{kind}/default/train"
    assert layout(found) == {"train": ["train-worker-0", "train-worker-1"]}
    labels = [member.labels for member in found.members()]
    assert labels[1] == train_pod(kind, "worker", 1)["metadata"]["labels"]


@pytest.mark.parametrize(
    ("kind", "roles", "expected"),
    [
        ("PyTorchJob", {"worker": 1, "MASTER": 1}, ["train-master-0", "train-worker-0"]),
        (
            "TFJob",
            {"Evaluator": 1, "Worker": 1, "PS": 2, "Chief": 1},
            ["train-chief-0", "train-ps-0", "train-ps-1", "train-worker-0", "train-evaluator-0"],
        ),
        ("XGBoostJob", {"Worker": 1, "Master": 1}, ["train-master-0", "train-worker-0"]),
    ],
)
def test_members_are_ordered_by_role(kind: str, roles: dict[str, int], expected: list[str]) -> None:
    assert names(gang(training_job(kind, KINDS[kind], roles))) == expected


@pytest.mark.parametrize(
    ("spec", "meta", "expected"),
    [
        ({}, {}, None),
        ({"elasticPolicy": {"minReplicas": 1, "maxReplicas": 4}}, {}, 2),  # and the master
        ({"runPolicy": {"schedulingPolicy": {"minAvailable": 3}}}, {}, 3),
        ({"elasticPolicy": {}}, {}, None),
        ({"elasticPolicy": {"minReplicas": 1}}, {"annotations": {"understudy.dev/min-members": "3"}}, 3),
    ],
)
def test_minimums(spec: Document, meta: Document, expected: int | None) -> None:
    assert gang(pytorch(4, meta, **spec)).min_members == expected


def test_topology() -> None:
    found = gang(pytorch(meta={"annotations": {"understudy.dev/exclusive-topology": "rack"}}))
    assert found.islands[0].topology == Topology("rack", TopologyMode.EXCLUSIVE)


def test_pods_take_their_places() -> None:
    found = gang(pytorch(2), [train_pod("PyTorchJob", "worker", 1, "n1"), train_pod("PyTorchJob", "master", 0)])
    assert [(m.name, m.node, m.exists) for m in found.members()] == [
        ("train-master-0", "", True),
        ("train-worker-0", "", False),
        ("train-worker-1", "n1", True),
    ]


@pytest.mark.parametrize("condition", ["Succeeded", "Failed"])
def test_finished_jobs_are_no_gang(condition: str) -> None:
    assert made({**pytorch(), "status": {"conditions": [{"type": condition, "status": "True"}]}}) is None
    assert made({**pytorch(), "status": {"conditions": [{"type": condition, "status": "False"}]}}) is not None


def test_suspended_jobs() -> None:
    assert gang(pytorch(runPolicy={"suspend": True})).suspension is Suspension.BY_OWNER
