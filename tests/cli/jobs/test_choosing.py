"""Which instance and which container somebody means."""

import pytest

from tests.cli.jobs.documents import job, pod, summary
from understudy.cli.complaint import BadInput
from understudy.cli.jobs.choosing import attempt_before, chosen, container_of

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
    found = chosen(MPI, wanted)
    assert found is not None
    assert found.name == name


def test_an_unknown_instance_is_answered_with_those_there_are() -> None:
    with pytest.raises(
        BadInput, match="--instance medium-worker-7: no such instance of medium; did you mean medium-worker-"
    ):
        chosen(MPI, "medium-worker-7")
    with pytest.raises(BadInput, match="medium has: medium-launcher-sz5xj, medium-worker-0, medium-worker-1"):
        chosen(MPI, "xyz")


def test_a_job_without_instances_has_none_to_choose_from() -> None:
    assert chosen(summary(job("Job")), None) is None
    assert chosen(summary(job("Job")), "a") is None


def test_the_attempt_before_is_the_pod_whose_place_was_taken() -> None:
    old = pod("train-0-aaaaa", "Failed", generate_name="train-0-", age=60)
    new = pod("train-0-zzzzz", generate_name="train-0-", age=10)
    found = summary(job("Job"), old, new)
    before = attempt_before(found, found.instances[0])
    assert before is not None
    assert before.name == "train-0-aaaaa"
    assert attempt_before(MPI, MPI.instances[0]) is None


def test_a_container_is_the_first_or_the_one_named() -> None:
    assert container_of(MPI.instances[0], None) == "main"
    assert container_of(MPI.instances[0], "main") == "main"
    with pytest.raises(BadInput, match="--container mian: medium-launcher-sz5xj has no such container; it has main"):
        container_of(MPI.instances[0], "mian")
