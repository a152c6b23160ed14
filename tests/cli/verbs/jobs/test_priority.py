"""`understudy priority`: the classes there are, and new ones."""

import json

import pytest
import yaml

from tests.cli.shell import Shell
from tests.cli.submit.api import Api

URL = "/apis/scheduling.k8s.io/v1/priorityclasses"


@pytest.fixture
def api(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Api:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("HOME", str(shell.folder))
    return Api(shell, monkeypatch)


def test_the_most_important_come_first(api: Api) -> None:
    api.priorities(low=-5, high=1000)
    assert api.run("priority", "list").splitlines() == [
        "NAME                     VALUE       GLOBAL-DEFAULT  PREEMPTION POLICY",
        "system-node-critical     2000001000  false           PreemptLowerPriority",
        "system-cluster-critical  2000000000  false           PreemptLowerPriority",
        "high                     1000        false           PreemptLowerPriority",
        "low                      -5          false           PreemptLowerPriority",
    ]


def test_for_programs(api: Api) -> None:
    api.priorities(high=1000)
    names = [item["metadata"]["name"] for item in json.loads(api.run("pc", "ls", "-o", "json"))["items"]]
    assert names == ["system-node-critical", "system-cluster-critical", "high"]
    assert [item["metadata"]["name"] for item in yaml.safe_load(api.run("pc", "list", "-o", "yaml"))["items"]] == names
    listed = api.run("pc", "list", "-o", "name").splitlines()
    assert listed == [f"priorityclass.scheduling.k8s.io/{name}" for name in names]


def test_a_new_class(api: Api) -> None:
    flags = ("--value=-10", "--global-default", "--never-preempt", "--description=when no other job needs it")
    assert api.run("priority", "create", "polite", *flags) == "priorityclass.scheduling.k8s.io/polite created\n"
    stored = api.get(f"{URL}/polite") or {}
    assert (stored["value"], stored["globalDefault"], stored["preemptionPolicy"]) == (-10, True, "Never")
    assert "when no other job needs it" in api.run("priority", "list", "-o", "wide")


def test_a_dry_run_prints_yaml_and_needs_no_cluster(shell: Shell) -> None:
    code, out, _ = shell.run("priority", "create", "high", "--value=5", "--dry-run")
    assert code == 0
    head = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}}
    assert yaml.safe_load(out) == {**head, "value": 5}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["High", "--value=1"], "NAME High: no name for a PriorityClass"),
        (["system-mine", "--value=1"], "NAME system-mine: names that begin with system-"),
        (["high", "--value=1000000001"], "--value 1000000001: must lie between"),
        (["high", "--value=much"], "--value: invalid int value: 'much'"),
        (["high"], "required: --value"),
        (["high", "--value=1", "--global-default"], "--global-default: usual is that already"),
    ],
)
def test_what_is_wrong_is_refused(api: Api, arguments: list[str], words: str) -> None:
    api.run("priority", "create", "usual", "--value=0", "--global-default")
    assert words in api.refuses("priority", "create", *arguments)
    assert api.get(f"{URL}/high") is None


def test_a_name_that_is_taken(api: Api) -> None:
    api.priorities(high=1)
    code, _, err = api.shell.run("priority", "create", "high", "--value=2")
    assert code != 0
    assert "high" in err
    assert (api.get(f"{URL}/high") or {})["value"] == 1
