"""A job is fitted to the cluster it goes to: elsewhere its pods ask for our scheduler, and nobody is held ready."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.submit.api import Api
from tests.embedded.manifests import job

JOB_URL = "/apis/batch/v1/namespaces/default/jobs/j"
FLAGS = ("submit", "job", "--name=j", "--image=i")


def pods_of(document: dict[str, Any] | None) -> dict[str, Any]:
    assert document is not None
    spec: dict[str, Any] = document["spec"]["template"]["spec"]
    return spec


def manifest(**spec: str) -> str:
    document = job("j")
    document["spec"]["template"]["spec"].update(spec)
    Path("job.yaml").write_text(yaml.safe_dump(document))
    return "job.yaml"


def test_on_an_embedded_cluster_every_pod_is_ours_as_it_is(api: Api) -> None:
    api.run(*FLAGS, "true")
    assert pods_of(api.get(JOB_URL))["schedulerName"] == "default-scheduler"


@pytest.mark.parametrize(("flags", "scheduler"), [((), "understudy"), (("--scheduler=other",), "other")])
def test_elsewhere_pods_ask_for_our_scheduler_unless_told_otherwise(
    api: Api, flags: tuple[str, ...], scheduler: str
) -> None:
    api.be_elsewhere()
    dry = yaml.safe_load(api.run(*FLAGS, *flags, "--dry-run", "true"))
    assert pods_of(dry)["schedulerName"] == scheduler
    api.run(*FLAGS, *flags, "true")
    assert pods_of(api.get(JOB_URL))["schedulerName"] == scheduler


@pytest.mark.parametrize(("spec", "scheduler"), [({}, "understudy"), ({"schedulerName": "mine"}, "mine")])
def test_a_manifest_keeps_the_scheduler_it_names(api: Api, spec: dict[str, str], scheduler: str) -> None:
    api.be_elsewhere()
    api.run("submit", "-f", manifest(**spec))
    assert pods_of(api.get(JOB_URL))["schedulerName"] == scheduler


def test_elsewhere_nobody_is_held_ready(api: Api) -> None:
    api.be_elsewhere()
    said = "understudy: --warm 1: only embedded clusters hold understudies ready; leave it out, and label nodes "
    assert api.refuses(*FLAGS, "--warm=1", "true").startswith(said)
    assert api.refuses("submit", "-f", manifest(), "--warm=1").startswith(said)


def test_a_dry_run_needs_no_cluster_but_the_one_it_names(api: Api) -> None:
    api.be_elsewhere()
    refused = api.refuses(*FLAGS, "--dry-run", "--kubeconfig=none-such", "true")
    assert refused.startswith("understudy: none-such: cannot be read")
