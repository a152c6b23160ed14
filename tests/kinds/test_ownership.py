"""Which gang a pod belongs to."""

from typing import Any

import pytest

from tests.objects.documents import Document, owner, pod
from understudy.kinds.decoding import decode
from understudy.kinds.gang_ref import GangRef
from understudy.kinds.ownership import owner_of
from understudy.objects.pods import Pod


def ref(labels: Document | None = None, owned_by: Document | None = None, **fields: Any) -> GangRef:
    meta: Document = {"labels": labels or {}, "ownerReferences": owned_by or [], **fields.pop("meta", {})}
    found = decode(pod("x-1-abcde", meta=meta, **fields))
    assert isinstance(found, Pod)
    return owner_of(found)


JOBSET = {"jobset.sigs.k8s.io/jobset-name": "js", "batch.kubernetes.io/job-name": "js-w-3"}
PLACED = {**JOBSET, "jobset.sigs.k8s.io/replicatedjob-name": "w", "jobset.sigs.k8s.io/job-index": "3"}
INDEX = {"batch.kubernetes.io/job-completion-index": "2"}


def training(operator: str, **labels: str) -> Document:
    found = {"training.kubeflow.org/operator-name": operator, "training.kubeflow.org/job-name": "t"}
    return found | {f"training.kubeflow.org/{name.replace('_', '-')}": value for name, value in labels.items()}


@pytest.mark.parametrize(
    ("labels", "owned_by", "key", "island", "slot"),
    [
        ({}, [], "Pod/default/x-1-abcde", "", ""),
        ({"app": "x"}, owner("ReplicaSet", "rs"), "Pod/default/x-1-abcde", "", ""),
        ({"batch.kubernetes.io/job-name": "j"}, [], "Job/default/j", "j", ""),
        ({"job-name": "j"}, [], "Job/default/j", "j", ""),
        ({}, owner("Job", "j"), "Job/default/j", "j", ""),
        ({"job-name": "j", **INDEX}, [], "Job/default/j", "j", "j-2"),
        ({**PLACED, **INDEX}, owner("Job", "js-w-3"), "JobSet/default/js", "js-w-3", "js-w-3-2"),
        (JOBSET, owner("Job", "js-w-3"), "JobSet/default/js", "js-w-3", ""),
        ({"jobset.sigs.k8s.io/jobset-name": "js", "jobset.sigs.k8s.io/job-key": "k"}, [], "JobSet/default/js", "k", ""),
        (training("pytorchjob-controller", replica_type="worker"), [], "PyTorchJob/default/t", "t", "x-1-abcde"),
        (training("tfjob-controller"), [], "TFJob/default/t", "t", "x-1-abcde"),
        (training("unknown"), owner("ElasticJob", "t"), "ElasticJob/default/t", "t", "x-1-abcde"),
        (training("mpijob-controller", replica_type="launcher"), [], "MPIJob/default/t", "t", "t-launcher"),
        (
            {**training("mpi-operator", job_role="launcher"), "job-name": "t-launcher"},
            [],
            "MPIJob/default/t",
            "t",
            "t-launcher",
        ),
        (training("mpi-operator", job_role="worker"), [], "MPIJob/default/t", "t", "x-1-abcde"),
        (
            {"mpi_job_name": "m", "mpi_role_type": "launcher"},
            owner("Job", "m-launcher"),
            "MPIJob/default/m",
            "m",
            "m-launcher",
        ),
    ],
)
def test_owners(labels: Document, owned_by: Document, key: str, island: str, slot: str) -> None:
    found = ref(labels, owned_by)
    assert (found.key, found.island, found.slot, found.infrastructure) == (key, island, slot, False)


@pytest.mark.parametrize(
    ("labels", "owned_by", "spec"),
    [
        ({}, owner("DaemonSet", "logs"), {}),
        ({}, owner("Node", "n1"), {}),
        ({"app": "dns"}, owner("ReplicaSet", "dns"), {"priority": 2_000_000_000}),
        ({}, [], {"priority": 2_000_001_000}),
        ({}, [], {"priorityClassName": "system-node-critical"}),
        ({"job-name": "j"}, owner("Job", "j"), {"priority": 2_000_000_000}),
    ],
)
def test_infrastructure(labels: Document, owned_by: Document, spec: Document) -> None:
    found = ref(labels, owned_by, **spec)
    assert found.infrastructure
    assert found.key == "Pod/default/x-1-abcde"


def test_the_completion_index_may_be_an_annotation() -> None:
    assert ref({"job-name": "j"}, meta={"annotations": INDEX}).slot == "j-2"


def test_an_understudy_belongs_to_a_job_and_is_no_member_of_it() -> None:
    notes = {"understudy.dev/warm-for": "Job/default/j"}
    found = ref({}, None, meta={"annotations": notes, "ownerReferences": owner("Job", "j")})
    assert (found.key, found.infrastructure) == ("Pod/default/x-1-abcde", False)
