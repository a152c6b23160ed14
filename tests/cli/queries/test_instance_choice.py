"""The instance and the container that a verb means, and errors on the way to the kubelet."""

import pytest

from tests.cli.queries.documents import job, pod, summary
from understudy.cli.errors import BadInput
from understudy.cli.queries.instance_choice import choose_container, choose_instance, kubelet_errors, previous_attempt
from understudy.cli.queries.instances import Instance
from understudy.ports import Refused

ROLE = "training.kubeflow.org/replica-type"
MPI = summary(
    job("MPIJob", "medium"),
    pod("medium-launcher-sz5xj", generate_name="medium-launcher-", labels={ROLE: "launcher"}),
    pod("medium-worker-0", labels={ROLE: "worker"}),
    pod("medium-worker-1", labels={ROLE: "worker"}),
)


@pytest.mark.parametrize(
    ("wanted", "name"),
    [
        (None, "medium-launcher-sz5xj"),
        ("medium-worker-1", "medium-worker-1"),
        ("worker-1", "medium-worker-1"),
        ("launcher", "medium-launcher-sz5xj"),
        ("Worker", "medium-worker-0"),
    ],
)
def test_an_instance_is_found_by_its_name_or_the_end_of_it(wanted: str | None, name: str) -> None:
    found = choose_instance(MPI, wanted)
    assert found is not None
    assert found.name == name


def test_an_unknown_instance_is_answered_with_those_there_are() -> None:
    with pytest.raises(
        BadInput, match="--instance medium-worker-7: no such instance of medium; did you mean medium-worker-"
    ):
        choose_instance(MPI, "medium-worker-7")
    with pytest.raises(BadInput, match="medium has: medium-launcher-sz5xj, medium-worker-0, medium-worker-1"):
        choose_instance(MPI, "xyz")


def test_a_job_without_instances_has_none_to_choose_from() -> None:
    assert choose_instance(summary(job("Job")), None) is None
    assert choose_instance(summary(job("Job")), "a") is None


def test_the_attempt_before_is_the_pod_whose_place_was_taken() -> None:
    old = pod("train-0-aaaaa", "Failed", generate_name="train-0-", age=60)
    new = pod("train-0-zzzzz", generate_name="train-0-", age=10)
    found = summary(job("Job"), old, new)
    before = previous_attempt(found, found.instances[0])
    assert before is not None
    assert before.name == "train-0-aaaaa"
    assert previous_attempt(MPI, MPI.instances[0]) is None


def test_a_container_is_the_first_or_the_one_named() -> None:
    assert choose_container(MPI.instances[0], None) == "main"
    assert choose_container(MPI.instances[0], "main") == "main"
    with pytest.raises(BadInput, match="--container mian: medium-launcher-sz5xj has no such container; it has main"):
        choose_container(MPI.instances[0], "mian")


INSTANCE = Instance(name="j-0", status="RUNNING", node="n7")


def test_a_kubelet_that_cannot_be_reached_is_named() -> None:
    with pytest.raises(Refused) as found, kubelet_errors(INSTANCE):
        raise Refused(502, "BadGateway", "dial tcp: no route to host")
    assert found.value.code == 502
    assert found.value.message == ("j-0: the cluster cannot reach the kubelet of node n7: dial tcp: no route to host")


def test_a_refusal_of_the_server_stays_as_it_is() -> None:
    with pytest.raises(Refused, match=r"^no rights$"), kubelet_errors(INSTANCE):
        raise Refused(403, "Forbidden", "no rights")
