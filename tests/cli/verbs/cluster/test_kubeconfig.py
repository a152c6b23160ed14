"""`understudy kubeconfig`: printed, pointed at, or merged."""

import pytest
import yaml

from tests.cli.homes import make_cluster
from tests.cli.shell import Shell


def test_it_is_printed_as_it_is(shell: Shell) -> None:
    folder = make_cluster("default")
    assert shell.run("kubeconfig") == (0, folder.kubeconfig.read_text(), "")


def test_where_it_is(shell: Shell) -> None:
    folder = make_cluster("default")
    assert shell.run("kubeconfig", "--path") == (0, f"{folder.kubeconfig}\n", "")


def test_it_joins_the_users_own(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    make_cluster("slices")
    own = shell.folder / "config"
    own.write_text("current-context: work\ncontexts: [{name: work, context: {}}]\n")
    monkeypatch.setenv("KUBECONFIG", str(own))
    code, out, err = shell.run("kubeconfig", "--merge")
    assert (code, err) == (0, "")
    assert out == (
        f"{own} has the context understudy-slices now, and uses it; `kubectl config use-context work` goes back\n"
    )
    names = [context["name"] for context in yaml.safe_load(own.read_text())["contexts"]]
    assert names == ["work", "understudy-slices"]


def test_a_kubeconfig_of_the_users_that_is_broken_is_left_alone(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    make_cluster("default")
    own = shell.folder / "config"
    own.write_text("contexts: [")
    monkeypatch.setenv("KUBECONFIG", str(own))
    assert shell.refuses("kubeconfig", "--merge").startswith(f"understudy: {own}: cannot be read")
    assert own.read_text() == "contexts: ["
