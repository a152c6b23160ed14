"""Flags into MPIJobs of three versions."""

import pytest

from tests.cli.shell import Shell
from tests.cli.submit.making import job

GPUS = {"nvidia.com/gpu": "2"}


@pytest.mark.parametrize("version", ["v2beta1", "v1"])
def test_the_launcher_runs_the_command_and_the_workers_have_the_gpus(shell: Shell, version: str) -> None:
    flags = ("--gpus=2", "--workers=3", "--priority=p", f"--mpi-version={version}")
    document = job(shell, "mpi", *flags, command="mpirun train")
    assert document["apiVersion"] == f"kubeflow.org/{version}"
    assert document["spec"]["slotsPerWorker"] == 2
    launcher, worker = (document["spec"]["mpiReplicaSpecs"][role] for role in ("Launcher", "Worker"))
    assert (launcher["replicas"], worker["replicas"]) == (1, 3)
    [first], [other] = (one["template"]["spec"]["containers"] for one in (launcher, worker))
    assert first["command"] == ["sh", "-c", "exec mpirun train"]
    assert "command" not in other
    assert "resources" not in first
    assert other["resources"]["limits"] == GPUS
    assert {one["template"]["spec"]["priorityClassName"] for one in (launcher, worker)} == {"p"}


def test_the_launcher_waits_for_the_workers_as_it_always_did(shell: Shell) -> None:
    assert job(shell, "mpi")["spec"]["launcherCreationPolicy"] == "WaitForWorkersReady"
    assert "launcherCreationPolicy" not in job(shell, "mpi", "--mpi-version=v1")["spec"]


def test_how_it_ends(shell: Shell) -> None:
    flags = ("--retry=2", "--running-timeout=1h", "--ttl-after-finished=60")
    policy = job(shell, "mpi", *flags)["spec"]["runPolicy"]
    assert policy == {
        "cleanPodPolicy": "All",
        "backoffLimit": 2,
        "activeDeadlineSeconds": 3600,
        "ttlSecondsAfterFinished": 60,
    }


def test_a_launcher_of_the_training_operator_is_started_again_in_its_place(shell: Shell) -> None:
    spec = job(shell, "mpi", "--mpi-version=v1", "--retry=2")["spec"]
    assert spec["mpiReplicaSpecs"]["Launcher"]["restartPolicy"] == "OnFailure"
    assert spec["runPolicy"]["backoffLimit"] == 3


def test_the_first_version_has_one_template(shell: Shell) -> None:
    flags = ("--mpi-version=v1alpha1", "--gpus=2", "--workers=3", "--running-timeout=60", "--clean-task-policy=None")
    spec = job(shell, "mpi", *flags, command="mpirun x")["spec"]
    [container] = spec.pop("template")["spec"]["containers"]
    assert container["command"] == ["sh", "-c", "exec mpirun x"]
    assert container["resources"]["limits"] == GPUS
    expected = {"replicas": 3, "slotsPerWorker": 2, "backoffLimit": 0, "cleanPodPolicy": "None"}
    assert spec == {**expected, "activeDeadlineSeconds": 60}


def test_the_first_version_cannot_be_told_when_to_go(shell: Shell) -> None:
    flags = ("--mpi-version=v1alpha1", "--ttl-after-finished=60", "--dry-run")
    assert "--ttl-after-finished: MPIJob v1alpha1" in shell.refuses("submit", "mpi", "--name=j", *flags, "true")


@pytest.mark.parametrize(("flags", "slots"), [([], 1), (["--gpus=4"], 4), (["--gpus=4", "--nproc-per-node=2"], 2)])
def test_slots(shell: Shell, flags: list[str], slots: int) -> None:
    assert job(shell, "mpi", *flags)["spec"]["slotsPerWorker"] == slots
