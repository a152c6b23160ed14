"""Flags into a TFJob: what its roles have of their own."""

from typing import Any

import pytest

from tests.cli.shell import Shell
from tests.cli.submit.making import job

ALL = ("--ps=2", "--chief", "--evaluator", "--workers=3", "--gpus=1")


def spec_of(shell: Shell, role: str, *flags: str) -> dict[str, Any]:
    found: dict[str, Any] = job(shell, "tf", *ALL, *flags)["spec"]["tfReplicaSpecs"][role]
    return found


def test_every_role_is_made_on_request(shell: Shell) -> None:
    found = job(shell, "tf", *ALL)["spec"]["tfReplicaSpecs"]
    counts = {role: spec["replicas"] for role, spec in found.items()}
    assert counts == {"PS": 2, "Worker": 3, "Chief": 1, "Evaluator": 1}


def test_all_roles_count_for_the_gang(shell: Shell) -> None:
    labels = job(shell, "tf", *ALL, "--gang")["metadata"]["labels"]
    assert labels["pod-group.scheduling.sigs.k8s.io/min-available"] == "7"


@pytest.mark.parametrize(
    ("role", "flags", "gpus"),
    [
        ("Worker", (), "1"),
        ("Chief", (), "1"),
        ("PS", (), None),
        ("PS", ("--ps-gpus=2",), "2"),
        ("Evaluator", (), None),
    ],
)
def test_who_has_gpus(shell: Shell, role: str, flags: tuple[str, ...], gpus: str | None) -> None:
    [container] = spec_of(shell, role, *flags)["template"]["spec"]["containers"]
    assert container.get("resources", {}).get("limits", {}).get("nvidia.com/gpu") == gpus
    void = {"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"}
    assert (void in container["env"]) == (gpus is None)


@pytest.mark.parametrize(
    ("flag", "role"), [("worker", "Worker"), ("ps", "PS"), ("chief", "Chief"), ("evaluator", "Evaluator")]
)
def test_what_a_role_has_of_its_own(shell: Shell, flag: str, role: str) -> None:
    own = (f"--{flag}-image=own", f"--{flag}-cpu=2", f"--{flag}-memory=4Gi", f"--{flag}-cpu-limit=3")
    more = (f"--{flag}-port=3333", f"--{flag}-selector=a=own", "--selector=a=shared", "--image=shared")
    pod = spec_of(shell, role, *own, *more)["template"]["spec"]
    [container] = pod["containers"]
    assert container["image"] == "own"
    assert pod["nodeSelector"] == {"a": "own"}
    assert container["ports"] == [{"name": "tfjob-port", "containerPort": 3333}]
    asked, most = container["resources"]["requests"], container["resources"]["limits"]
    assert (asked["cpu"], asked["memory"], most["cpu"], most["memory"]) == ("2", "4Gi", "3", "4Gi")


def test_without_its_own_a_role_has_the_shared_image_and_selector(shell: Shell) -> None:
    pod = spec_of(shell, "PS", "--selector=a=shared", "--image=shared")["template"]["spec"]
    assert (pod["nodeSelector"], pod["containers"][0]["image"]) == ({"a": "shared"}, "shared")


def test_whose_success_counts(shell: Shell) -> None:
    assert "successPolicy" not in job(shell, "tf")["spec"]
    assert job(shell, "tf", "--success-policy=AllWorkers")["spec"]["successPolicy"] == "AllWorkers"


def test_a_job_that_waits_too_long(shell: Shell) -> None:
    assert job(shell, "tf", "--starting-timeout=5m")["spec"]["runPolicy"]["startingDeadlineSeconds"] == 300
