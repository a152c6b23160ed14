"""The flags that all kinds share into a pod template."""

import os
import signal
import subprocess
from typing import Any

import pytest

from tests.cli.shell import Shell
from tests.cli.submit.making import container, job, pods
from understudy.cli.submit.pod_template import exec_command


def names(env: list[dict[str, str]]) -> dict[str, str]:
    return {entry["name"]: entry["value"] for entry in env}


@pytest.mark.parametrize(
    ("flags", "field", "value"),
    [
        (["--priority=high"], "priorityClassName", "high"),
        (["-p", "high"], "priorityClassName", "high"),
        (["--selector=a=b", "--selector=c=d"], "nodeSelector", {"a": "b", "c": "d"}),
        (["--toleration=all"], "tolerations", [{"operator": "Exists"}]),
        (["--scheduler=mine"], "schedulerName", "mine"),
        (["--hostNetwork"], "hostNetwork", True),
        (["--hostNetwork"], "dnsPolicy", "ClusterFirstWithHostNet"),
        (["--hostIPC"], "hostIPC", True),
        (["--host-pid"], "hostPID", True),
        (["--image-pull-secret=a", "--image-pull-secret=b"], "imagePullSecrets", [{"name": "a"}, {"name": "b"}]),
        ([], "restartPolicy", "Never"),
    ],
)
def test_flags_of_the_pod(shell: Shell, flags: list[str], field: str, value: Any) -> None:
    assert pods(shell, *flags)["spec"][field] == value


@pytest.mark.parametrize(
    ("flags", "field", "value"),
    [
        (["--image=i"], "image", "i"),
        ([], "image", "this-machine"),
        ([], "imagePullPolicy", "Always"),
        (["--image-pull-policy=Never"], "imagePullPolicy", "Never"),
        ([], "workingDir", "/root"),
        (["--working-dir=/srv"], "workingDir", "/srv"),
        ([], "command", ["sh", "-c", "true"]),
        (["--rdma"], "securityContext", {"capabilities": {"add": ["IPC_LOCK"]}}),
    ],
)
def test_flags_of_the_container(shell: Shell, flags: list[str], field: str, value: Any) -> None:
    assert container(shell, *flags)[field] == value


@pytest.mark.parametrize(
    ("flags", "amounts"),
    [
        (["--gpus=2"], {"nvidia.com/gpu": "2"}),
        (["--cpu=4", "--memory=1Gi"], {"cpu": "4", "memory": "1Gi"}),
        (["--device=google.com/tpu=4"], {"google.com/tpu": "4"}),
        (["--rdma", "--gpus=1"], {"rdma/hca": "1", "nvidia.com/gpu": "1"}),
    ],
)
def test_resources_are_asked_for_and_limited(shell: Shell, flags: list[str], amounts: dict[str, str]) -> None:
    assert container(shell, *flags)["resources"] == {"requests": amounts, "limits": amounts}


def test_no_resources_are_no_field(shell: Shell) -> None:
    assert "resources" not in container(shell, "--gpus=0")


def test_pods_are_told_how_many_they_are(shell: Shell) -> None:
    env = names(container(shell, "--gpus=2", "--workers=3", "-e", "A=b=c", "-e", "workers=mine")["env"])
    assert env == {"workers": "mine", "gpus": "2", "A": "b=c"}


def test_pods_without_gpus_see_none(shell: Shell) -> None:
    assert names(container(shell)["env"])["NVIDIA_VISIBLE_DEVICES"] == "void"


def test_arena_finds_the_job_by_its_labels(shell: Shell) -> None:
    document = job(shell, "pytorch", "-l", "team=a")
    expected = {
        "app": "pytorchjob",
        "release": "j",
        "createdBy": "PyTorchJob",
        "app.kubernetes.io/managed-by": "understudy",
        "team": "a",
    }
    assert document["metadata"]["labels"] == expected
    assert document["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["metadata"]["labels"] == expected


def test_a_gang_is_labelled(shell: Shell) -> None:
    labels = job(shell, "pytorch", "--gang", "--workers=3")["metadata"]["labels"]
    assert labels["pod-group.scheduling.sigs.k8s.io/name"] == "pytorchjob-j"
    assert labels["pod-group.scheduling.sigs.k8s.io/min-available"] == "3"


@pytest.mark.parametrize(
    ("flags", "notes"),
    [
        (["--on-preemption=fail"], {"understudy.dev/on-preemption": "fail"}),
        (["--warm=2"], {"understudy.dev/warm": "2"}),
        (["--exclusive=rack"], {"understudy.dev/exclusive-topology": "rack"}),
        (["--queue"], {"scheduling.x-k8s.io/suspend": "true"}),
        (["-a", "understudy.dev/min-members=1"], {"understudy.dev/min-members": "1"}),
    ],
)
def test_what_is_said_to_who_places_the_job_stands_on_the_job_alone(
    shell: Shell, flags: list[str], notes: dict[str, str]
) -> None:
    document = job(shell, "job", *flags)
    assert document["metadata"]["annotations"] == notes
    assert "annotations" not in document["spec"]["template"]["metadata"]


@pytest.mark.parametrize("key", ["k", "understudy.dev/python-env", "understudy.dev/checkpoint-signal"])
def test_other_annotations_stand_on_the_pods_too(shell: Shell, key: str) -> None:
    document = job(shell, "job", "-a", f"{key}=v")
    assert document["metadata"]["annotations"] == {key: "v"}
    assert document["spec"]["template"]["metadata"]["annotations"] == {key: "v"}


SAVES = "import signal, time; signal.signal(signal.SIGTERM, lambda *_: exit(7)); print(1, flush=True); time.sleep(60)"


@pytest.mark.parametrize(
    "command",
    ["python train.py --epochs 5", "./train.sh > out.log", "/usr/bin/env X=1 python train.py", "torchrun a.py 'a; b'"],
)
def test_a_plain_command_takes_the_place_of_the_shell(command: str) -> None:
    assert exec_command(command) == f"exec {command}"


@pytest.mark.parametrize(
    "command",
    [
        "cd /root && python train.py",
        "X=1 python train.py",
        "python a.py; python b.py",
        "python a.py | tee log",
        "python a.py &",
        "(python a.py)",
        "python a.py\npython b.py",
        "for n in 1 2; do echo $n; done",
        "$PYTHON train.py",
        "export A=b",
        "echo hello",
        "python 'unclosed",
        "",
        " ",
    ],
)
def test_any_other_line_stays_as_it_is(command: str) -> None:
    assert exec_command(command) == command


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_the_program_hears_what_its_container_is_told(shell: str) -> None:
    with subprocess.Popen([shell, "-c", exec_command(f"python -c '{SAVES}'")], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(30) == 7
