"""A job that the nodes of the cluster could never hold: what is said, and when it is submitted all the same."""

import sys
from typing import Any

import pytest

from tests.cli.submit.api import Api
from understudy.cli.submit.cluster_capacity import ClusterSize
from understudy.kinds.roles import JobRole

HUGE = ("submit", "pytorch", "--name=huge", "--gpus=1", "--workers=10000")
WORDS = (
    "the cluster has 2 nodes with 8 nvidia.com/gpu; this job wants 10,000 pods with 10,000 nvidia.com/gpu: "
    "it cannot start before nodes are added"
)
HUGE_URL = "/apis/kubeflow.org/v1/namespaces/default/pytorchjobs/huge"


def node(name: str, labels: dict[str, str] | None = None, **amounts: str) -> dict[str, Any]:
    offers = {"cpu": "64", "memory": "256Gi", "pods": "110", "nvidia.com/gpu": "4", **amounts}
    return {"metadata": {"name": name, "labels": labels or {}}, "status": {"allocatable": offers, "capacity": offers}}


@pytest.fixture
def two_nodes(api: Api) -> Api:
    api.define("pytorchjobs", "jobsets", "mpijobs", "tfjobs")
    for name in ("a", "b"):
        api.post("/api/v1/nodes", node(name))
    return api


def on_a_terminal(monkeypatch: pytest.MonkeyPatch, answer: str) -> list[str]:
    asked: list[str] = []

    def answered(question: str) -> str:
        asked.append(question)
        return answer

    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    monkeypatch.setattr("builtins.input", answered)
    return asked


def test_on_a_terminal_it_asks_and_takes_no_for_an_answer(two_nodes: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = on_a_terminal(monkeypatch, "")
    code, out, err = two_nodes.shell.run(*HUGE, "true")
    assert (code, out, err) == (1, "pytorchjob.kubeflow.org/huge was not submitted\n", "")
    assert asked == [f"T{WORDS[1:]}. Submit it all the same? [y/N] "]
    assert two_nodes.get(HUGE_URL) is None


def test_on_a_terminal_it_takes_yes_for_an_answer(two_nodes: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    on_a_terminal(monkeypatch, "y")
    assert two_nodes.shell.run(*HUGE, "true")[0] == 0
    assert two_nodes.get(HUGE_URL) is not None


def test_without_a_terminal_it_wants_yes(two_nodes: Api) -> None:
    assert two_nodes.refuses(*HUGE, "true") == f"understudy: {WORDS}; say --yes to submit it all the same"
    assert two_nodes.get(HUGE_URL) is None


def test_yes_submits_it_with_a_warning(two_nodes: Api) -> None:
    code, _, err = two_nodes.shell.run(*HUGE, "--yes", "true")
    assert code == 0
    assert err.splitlines()[0] == f"understudy: {WORDS}"
    assert two_nodes.get(HUGE_URL) is not None


def test_a_dry_run_says_so_and_goes_on(two_nodes: Api) -> None:
    code, out, err = two_nodes.shell.run(*HUGE, "--dry-run", "true")
    assert code == 0
    assert "kind: PyTorchJob" in out
    assert err == f"understudy: {WORDS}\n"


def test_a_manifest_is_checked_too(two_nodes: Api) -> None:
    out = two_nodes.run(*HUGE, "--dry-run", "true")
    two_nodes.shell.write(huge=out)
    assert WORDS in two_nodes.refuses("submit", "-f", str(two_nodes.shell.folder / "huge.yaml"))


def test_a_job_that_fits_is_submitted_without_a_word_of_it(two_nodes: Api) -> None:
    code, _, err = two_nodes.shell.run("submit", "pytorch", "--name=fits", "--gpus=1", "--workers=7", "true")
    assert code == 0
    assert "cluster has" not in err


def test_an_elastic_job_has_to_fit_with_its_fewest_members(two_nodes: Api) -> None:
    fewest = "--annotation=understudy.dev/min-members={}"
    assert two_nodes.shell.run(*HUGE, fewest.format(8), "true")[0] == 0
    assert "9 pods with 9 nvidia.com/gpu" in two_nodes.refuses(
        *HUGE[:2], "--name=more", *HUGE[3:], fewest.format(9), "true"
    )


@pytest.mark.parametrize("mark", ["karpenter.sh/nodepool", "cluster-autoscaler.kubernetes.io/safe-to-evict"])
def test_where_an_autoscaler_adds_nodes_it_only_warns(two_nodes: Api, mark: str) -> None:
    two_nodes.post("/api/v1/nodes", node("c", {mark: "x"}, **{"nvidia.com/gpu": "1"}))
    code, _, err = two_nodes.shell.run(*HUGE, "true")
    assert code == 0
    assert "the cluster has 3 nodes with 9 nvidia.com/gpu" in err


def test_on_a_real_cluster_it_only_warns(two_nodes: Api) -> None:
    two_nodes.be_elsewhere()
    code, _, err = two_nodes.shell.run(*HUGE, "--image=x", "true")
    assert code == 0
    assert WORDS in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["job", "--gpus=5"], "the largest of the cluster's 2 nodes has 4 nvidia.com/gpu; a pod of this job wants 5"),
        (["job", "--gpus=3", "--workers=3"], "this job wants 3 pods with 9 nvidia.com/gpu"),
        (["job", "--device=google.com/tpu=1"], "2 nodes with no google.com/tpu; this job wants 1 pod with 1 google"),
        (["job", "--workers=300"], "the cluster has 2 nodes with room for 220 pods; this job wants 300 pods: it"),
        (["job", "--cpu=100"], "the largest of the cluster's 2 nodes has 64 cpu; a pod of this job wants 100 cpu"),
        (["job", "--cpu=40", "--workers=3"], "room for 2 pods of 40 cpu each; this job wants 3: it cannot start"),
        (["jobset", "--slices=3", "--workers=2", "--gpus=2"], "this job wants 6 pods with 12 nvidia.com/gpu"),
        (["mpi", "--gpus=4", "--workers=3"], "with 12 nvidia.com/gpu"),
        (["tf", "--gpus=4", "--workers=3"], "this job wants 3 pods with 12 nvidia.com/gpu"),
    ],
)
def test_each_kind_is_checked_and_told_what_is_missing(two_nodes: Api, arguments: list[str], words: str) -> None:
    kind, *flags = arguments
    assert words in two_nodes.refuses("submit", kind, "--name=j", *flags, "true")


def test_a_cluster_whose_nodes_are_still_to_come_holds_anything() -> None:
    assert ClusterSize([JobRole("worker", 9)]).shortfall() is None
