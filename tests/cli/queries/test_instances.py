"""Pods of a job: which one leads, in which order they stand, where they are said to be."""

import pytest

from tests.cli.queries.documents import RESOURCES, job, pod, spec_of, summary
from understudy.cli.queries.container_states import detail_of
from understudy.cli.queries.objects import PodInfo

ROLE = "training.kubeflow.org/replica-type"
JOB_ROLE = "training.kubeflow.org/job-role"


def names(kind: str, *pods: PodInfo) -> list[str]:
    return [one.name for one in summary(job(kind), *pods).instances]


@pytest.mark.parametrize(
    ("kind", "role"),
    [("PyTorchJob", "master"), ("TFJob", "chief"), ("MPIJob", "launcher"), ("XGBoostJob", "master")],
)
def test_the_role_that_leads_comes_first(kind: str, role: str) -> None:
    pods = [pod(f"train-{one}-0", labels={ROLE: one}) for one in ("evaluator", "worker", role)]
    assert names(kind, *pods)[0] == f"train-{role}-0"


def test_a_worker_whom_its_operator_calls_master_leads() -> None:
    pods = [pod(f"train-worker-{i}", labels={ROLE: "worker"}) for i in (1, 2)]
    assert (
        names("TFJob", *pods, pod("train-worker-3", labels={ROLE: "worker", JOB_ROLE: "master"}))[0] == "train-worker-3"
    )


def test_numbers_are_compared_as_numbers() -> None:
    assert names("JAXJob", *(pod(f"train-worker-{i}") for i in (10, 9, 1))) == [
        "train-worker-1",
        "train-worker-9",
        "train-worker-10",
    ]


def test_roles_of_a_jobset_stand_as_it_writes_them() -> None:
    spec = {"replicatedJobs": [{"name": "leader", "template": {}}, {"name": "also", "template": {}}]}
    labels = "jobset.sigs.k8s.io/replicatedjob-name"
    pods = [pod(f"train-{role}-0-0-abcde", labels={labels: role}) for role in ("also", "leader")]
    found = summary(job("JobSet", spec=spec), *pods)
    assert [one.role for one in found.instances] == ["leader", "also"]


def test_the_coordinator_a_jobset_names_leads() -> None:
    labels = {"jobset.sigs.k8s.io/coordinator": "train-w-1-0.train"}
    pods = [pod(f"train-w-{i}-0-abcde", generate_name=f"train-w-{i}-0-", labels=labels) for i in (0, 1)]
    assert names("JobSet", *pods) == ["train-w-1-0-abcde", "train-w-0-0-abcde"]


def test_of_two_attempts_at_one_place_the_newest_comes_first() -> None:
    old = pod("train-0-aaaaa", "Failed", generate_name="train-0-", age=60)
    new = pod("train-0-zzzzz", generate_name="train-0-", age=10)
    other = pod("train-1-bbbbb", generate_name="train-1-", age=60)
    assert names("Job", old, other, new) == ["train-0-zzzzz", "train-0-aaaaa", "train-1-bbbbb"]


@pytest.mark.parametrize(
    ("node", "address", "shown"),
    [
        ("192.168.0.23", "192.168.0.23", "192.168.0.23"),
        ("cn-huhehaote.172.16.0.208", "172.16.0.208", "172.16.0.208"),
        ("slice-0-1", "127.0.0.1", "slice-0-1"),
        ("gke-pool-a1", "10.128.0.5", "gke-pool-a1"),
        ("node-a", "", "node-a"),
        ("", "", "N/A"),
    ],
)
def test_a_node_goes_by_its_address_where_it_is_named_after_it(node: str, address: str, shown: str) -> None:
    [one] = summary(job("Job"), pod("a", node=node, address=address)).instances
    assert one.shown_node == shown


@pytest.mark.parametrize(
    ("found", "word"),
    [
        (pod("a"), "Running"),
        (pod("a", leaving=True), "Terminating"),
        (pod("a", "Pending", waiting="ContainerCreating"), "ContainerCreating"),
        (pod("a", "Succeeded"), "Completed"),
        (pod("a", "Failed", exit_code=2), "Error"),
    ],
)
def test_what_a_pod_is_up_to_in_one_word(found: PodInfo, word: str) -> None:
    assert detail_of(found) == word


@pytest.mark.parametrize("kind", sorted(RESOURCES))
def test_every_kind_has_a_first_instance(kind: str) -> None:
    found = summary(job(kind, spec=spec_of(kind)), pod("train-b"), pod("train-a"))
    assert found.chief is not None
    assert found.chief.name == "train-a"
