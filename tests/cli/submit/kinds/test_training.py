"""Flags into the kinds of the training operator: roles, restarts and run policy."""

from typing import Any

import pytest

from tests.cli.shell import Shell
from tests.cli.submit.making import job

FIELDS = {
    "pytorch": "pytorchReplicaSpecs",
    "tf": "tfReplicaSpecs",
    "xgboost": "xgbReplicaSpecs",
    "paddle": "paddleReplicaSpecs",
    "jax": "jaxReplicaSpecs",
}


def roles(shell: Shell, kind: str, *flags: str) -> dict[str, Any]:
    found: dict[str, Any] = job(shell, kind, *flags)["spec"][FIELDS[kind]]
    return found


@pytest.mark.parametrize(
    ("kind", "counts", "container"),
    [
        ("pytorch", {"Master": 1, "Worker": 2}, "pytorch"),
        ("xgboost", {"Master": 1, "Worker": 2}, "xgboost"),
        ("tf", {"Worker": 3}, "tensorflow"),
        ("paddle", {"Worker": 3}, "paddle"),
        ("jax", {"Worker": 3}, "jax"),
    ],
)
def test_three_workers(shell: Shell, kind: str, counts: dict[str, int], container: str) -> None:
    found = roles(shell, kind, "--workers=3")
    assert {role: spec["replicas"] for role, spec in found.items()} == counts
    assert {one["name"] for spec in found.values() for one in spec["template"]["spec"]["containers"]} == {container}


@pytest.mark.parametrize("kind", ["pytorch", "xgboost"])
def test_one_worker_is_the_master(shell: Shell, kind: str) -> None:
    assert list(roles(shell, kind)) == ["Master"]


@pytest.mark.parametrize("kind", FIELDS)
def test_retry_works_for_every_kind(shell: Shell, kind: str) -> None:
    """A limit of 3 would be reached by the third time a pod is started again, and end the job then."""
    document = job(shell, kind, "--workers=2", "--retry=3")
    assert document["spec"]["runPolicy"]["backoffLimit"] == 4
    assert {spec["restartPolicy"] for spec in document["spec"][FIELDS[kind]].values()} == {"OnFailure"}


@pytest.mark.parametrize("kind", FIELDS)
def test_without_retry_a_failure_is_final(shell: Shell, kind: str) -> None:
    document = job(shell, kind)
    assert document["spec"]["runPolicy"] == {"cleanPodPolicy": "Running", "backoffLimit": 0}
    assert {spec["restartPolicy"] for spec in document["spec"][FIELDS[kind]].values()} == {"Never"}


def test_workers_of_a_pytorchjob_are_as_arena_makes_them(shell: Shell) -> None:
    found = roles(shell, "pytorch", "--workers=2")
    assert {role: spec["restartPolicy"] for role, spec in found.items()} == {"Master": "Never", "Worker": "OnFailure"}


def test_processes_of_a_pytorchjob(shell: Shell) -> None:
    assert job(shell, "pytorch", "--nproc-per-node=2")["spec"]["nprocPerNode"] == "2"
    assert "nprocPerNode" not in job(shell, "pytorch")["spec"]


@pytest.mark.parametrize("kind", FIELDS)
def test_timeouts(shell: Shell, kind: str) -> None:
    policy = job(shell, kind, "--running-timeout=90s", "--ttl-after-finished=1h", "--clean-task-policy=All")["spec"]
    expected = {"cleanPodPolicy": "All", "activeDeadlineSeconds": 90, "ttlSecondsAfterFinished": 3600}
    assert policy["runPolicy"] == {**expected, "backoffLimit": 0}
