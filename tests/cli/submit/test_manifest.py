"""`understudy submit -f`: a manifest, with flags and settings on top."""

from typing import Any

import pytest
import yaml

from tests.cli.submit.api import Api

MANIFEST = """
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train, labels: {team: a}}
spec:
  pytorchReplicaSpecs:
    Master:
      template: &pods
        spec:
          containers: [{name: pytorch, image: i, command: [sleep, "60"], env: [{name: A, value: old}]}]
    Worker:
      replicas: 2
      template: *pods
"""
JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: default}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i, command: ["true"]}]}}}
"""


def printed(api: Api, *arguments: str, text: str = MANIFEST) -> Any:
    api.shell.write(job=text)
    return yaml.safe_load(api.run("submit", "-f", "job.yaml", "--dry-run", *arguments))


def pods(document: Any) -> list[Any]:
    return [document["spec"]["pytorchReplicaSpecs"][role]["template"] for role in ("Master", "Worker")]


def test_a_manifest_is_made_as_it_is(api: Api) -> None:
    api.shell.write(job=JOB)
    assert api.run("submit", "-f", "job.yaml") == "job.batch/train created\n"
    assert api.names("/apis/batch/v1/namespaces/default/jobs") == ["train"]


def test_flags_about_pods_go_on_all_templates(api: Api) -> None:
    flags = ("--priority=high", "--scheduler=s", "--selector=a=b", "--toleration=all", "--image=new", "-e", "A=new")
    for template in pods(printed(api, *flags, "-e", "B=b", "--image-pull-secret=s", "-l", "x=y", "-a", "k=v")):
        spec = template["spec"]
        assert (spec["priorityClassName"], spec["schedulerName"]) == ("high", "s")
        assert (spec["nodeSelector"], spec["tolerations"]) == ({"a": "b"}, [{"operator": "Exists"}])
        assert spec["imagePullSecrets"] == [{"name": "s"}]
        [container] = spec["containers"]
        assert container["image"] == "new"
        assert container["env"] == [{"name": "A", "value": "new"}, {"name": "B", "value": "b"}]
        assert template["metadata"] == {"labels": {"x": "y"}, "annotations": {"k": "v"}}


def test_flags_about_the_job_go_on_the_job(api: Api) -> None:
    flags = ("--name=other", "-l", "x=y", "--on-preemption=fail", "--exclusive=rack", "--warm=1")
    metadata = printed(api, *flags)["metadata"]
    assert (metadata["name"], metadata["labels"]) == ("other", {"team": "a", "x": "y"})
    assert metadata["annotations"] == {
        "understudy.dev/exclusive-topology": "rack",
        "understudy.dev/on-preemption": "fail",
        "understudy.dev/warm": "1",
    }


def test_settings_come_last(api: Api) -> None:
    path = "spec.pytorchReplicaSpecs.Worker.template.spec.priorityClassName"
    found = pods(printed(api, "--priority=high", "--set", f"{path}=low"))
    assert [template["spec"]["priorityClassName"] for template in found] == ["high", "low"]


def test_nothing_on_top_changes_nothing(api: Api) -> None:
    plain = yaml.safe_load(MANIFEST)
    for role in plain["spec"]["pytorchReplicaSpecs"].values():
        role["template"]["metadata"] = {}
    assert printed(api) == plain


def test_the_kind_may_be_said_and_must_be_right(api: Api) -> None:
    api.shell.write(job=MANIFEST)
    api.run("submit", "pytorch", "-f", "job.yaml", "--dry-run")
    assert "a PyTorchJob, not a MPIJob" in api.refuses("submit", "mpi", "-f", "job.yaml")


@pytest.mark.parametrize(
    ("text", "arguments", "words"),
    [
        (JOB, ["--gpus=1", "--workers=2"], "--gpus, --workers: does not go with -f; change the field itself"),
        (JOB, ["--namespace=other"], "--namespace other: the manifest says default"),
        (JOB, ["--priority=none"], "--priority none: there is no such PriorityClass"),
        (f"{JOB}---{JOB}", [], "has 2 objects; submit takes one job"),
        (JOB.replace("kind: Job", "kind: Pod"), [], "kind: 'Pod' is no job kind"),
        (JOB.replace("kind: Job", "kind: Jobb"), [], "did you mean Job"),
        (JOB.replace("batch/v1", "jobs/v1"), [], "apiVersion: a Job has one like batch/v1"),
        (JOB.replace("name: train, ", ""), [], "--name: missing, and the manifest has no metadata.name"),
        (JOB.replace("restartPolicy: Never", "restartPolice: Never"), [], "restartPolice"),
        (MANIFEST, [], "this cluster has no PyTorchJob"),
        ("&a {apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: *a}", [], "an anchor refers to itself"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_before_anything_is_made(api: Api, text: str, arguments: list[str], words: str) -> None:
    api.shell.write(job=text)
    assert words in api.refuses("submit", "-f", "job.yaml", *arguments)


def test_a_command_does_not_go_with_a_manifest(api: Api) -> None:
    api.shell.write(job=JOB)
    assert "a command: does not go with -f" in api.refuses("submit", "job", "-f", "job.yaml", "true")


def test_a_trainjob_has_no_pods_to_change(api: Api) -> None:
    text = "{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, metadata: {name: t}, spec: {}}"
    assert printed(api, "--set", "spec.suspend=true", text=text)["spec"]["suspend"] is True
    assert "without pod templates" in api.refuses("submit", "-f", "job.yaml", "--priority=p", "--dry-run")
