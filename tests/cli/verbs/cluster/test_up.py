"""`understudy up`: what is wrong with a wish is said before anything is started."""

import socket

import pytest

from tests.cli.homes import make_cluster
from tests.cli.shell import Shell
from tests.embedded.clusters.settings import node
from understudy.cli.clusters import start
from understudy.embedded.cluster_folder import folder_of
from understudy.embedded.clusters.process_lock import SUPERVISOR, hold_lock
from understudy.embedded.clusters.readiness import Readiness


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--name", "../evil"], "understudy: --name ../evil: no name for a cluster; use lower-case letters"),
        (["--name", "x" * 41], "understudy: --name xxxx"),
        (["--port", "70000"], "understudy: --port 70000: no port; write one from 1 to 65535"),
        (["--port", "http"], "understudy up: argument --port: invalid int value: 'http'"),
        (["--address", "my.host"], "understudy: --address my.host: no address; write one of this machine"),
        (["--runtime", "runc"], "understudy up: argument --runtime: invalid choice: 'runc'"),
        (["-f", "nowhere.yaml"], "understudy: nowhere.yaml: no such file"),
    ],
)
def test_a_wrong_option_starts_nothing(shell: Shell, arguments: list[str], complaint: str) -> None:
    assert shell.refuses("up", *arguments).startswith(complaint)
    assert not (shell.folder / "home").exists()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("pools: [{name: a, cout: 3}]", "cluster.yaml: pools[0].cout: no such field; did you mean count?"),
        ("pools: [{name: a, count: 0}]", "cluster.yaml: pools[0].count: 0 nodes are none; leave the pool out"),
        ("name: Upper\npools: [{name: a}]", "cluster.yaml: name: Upper: no name for a cluster"),
    ],
)
def test_a_wrong_file_starts_nothing(shell: Shell, text: str, complaint: str) -> None:
    shell.write(cluster=text)
    assert shell.refuses("up", "-f", "cluster.yaml").startswith(f"understudy: {complaint}")
    assert not (shell.folder / "home").exists()


def test_a_runtime_that_is_not_installed(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert "--runtime podman: not found on this machine" in shell.refuses("up", "--runtime", "podman")


def test_a_port_that_another_program_has(shell: Shell) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = str(listener.getsockname()[1])
        complaint = shell.refuses("up", "--port", port)
    assert complaint.startswith(f"understudy: 127.0.0.1:{port} cannot be had: another program listens there")


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch) -> Readiness:
    """What is found of the cluster, with nothing lacking."""
    found = Readiness(failed=set(), waiting={}, kinds=set(), objects={}, answers=True)

    async def readiness(*_: object) -> Readiness:
        return found

    monkeypatch.setattr(start, "readiness", readiness)
    return found


@pytest.mark.usefixtures("answering")
def test_a_cluster_that_is_up_is_said_to_be(shell: Shell) -> None:
    folder = make_cluster("default", port=7777)
    with hold_lock(folder.processes / SUPERVISOR):
        code, out, err = shell.run("up", "--detach")
    assert (code, err) == (0, "")
    assert out.startswith("cluster default (1 node, https://127.0.0.1:7777) is up already\n")
    assert f"export KUBECONFIG={folder.kubeconfig}\n" in out
    assert "understudy down" in out
    assert "Images are not pulled" in out


def test_nodes_of_a_cluster_that_is_up_are_told_of(shell: Shell, answering: Readiness) -> None:
    answering.failed.add("a")
    answering.waiting["b"] = "NodeStatusUnknown: Kubelet stopped posting node status."
    folder = make_cluster("slices", nodes=(node("a"), node("b"), node("c")))
    with hold_lock(folder.processes / SUPERVISOR):
        code, out, err = shell.run("up", "--name", "slices", "--detach")
    assert (code, out.splitlines()[0][-13:]) == (0, "is up already")
    assert err == (
        "warning: 2 of 3 nodes are not ready\n"
        "  a: it has failed; `understudy node recover a --cluster slices` brings it back\n"
        "  b: NodeStatusUnknown: Kubelet stopped posting node status;"
        " `understudy node list --cluster slices` shows when it comes\n"
    )


def test_a_cluster_that_runs_and_does_not_answer_is_not_said_to_be_up(shell: Shell) -> None:
    folder = make_cluster("default", port=7777)
    with hold_lock(folder.processes / SUPERVISOR):
        code, out, err = shell.run("up", "--detach", "--wait", "0.1")
    assert (code, out) == (1, "")
    assert err.startswith("understudy: cluster default did not come up: after 0.1 s the API does not answer\n")
    assert "what runs goes on, and it is tried again for ever; `understudy down` ends it" in err


def test_a_cluster_that_is_up_is_not_changed(shell: Shell) -> None:
    folder = make_cluster("slices", nodes=(node("a"),))
    shell.write(cluster="name: slices\npools: [{name: a, count: 3}]")
    with hold_lock(folder.processes / SUPERVISOR):
        complaint = shell.refuses("up", "-f", "cluster.yaml", "--port", "1")
    assert complaint == (
        "understudy: cluster slices is up, and its port is 16443, not 1 and it has other nodes than the file;"
        " `understudy down --name slices` first"
    )


def test_two_at_once_do_not_get_in_each_others_way(shell: Shell) -> None:
    with hold_lock(folder_of("default").processes / SUPERVISOR):
        assert "is being started by another `understudy up`; wait for it" in shell.refuses("up")


@pytest.mark.usefixtures("answering")
def test_an_address_that_others_reach_comes_with_a_warning(shell: Shell) -> None:
    folder = make_cluster("default", address="0.0.0.0")
    with hold_lock(folder.processes / SUPERVISOR):
        _, out, _ = shell.run("up")
    assert "warning: the API listens on 0.0.0.0" in out


def test_a_home_that_cannot_be_written_to(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    (shell.folder / "file").touch()
    monkeypatch.setenv("UNDERSTUDY_HOME", str(shell.folder / "file"))
    assert "cannot be written to; set UNDERSTUDY_HOME to a folder that can" in shell.refuses("up")


def test_help_has_examples(shell: Shell) -> None:
    for verb in ("up", "status", "down", "kubeconfig", "reset"):
        code, out, _ = shell.run(verb, "--help")
        assert code == 0
        assert f"examples:\n  {'export KUBECONFIG=$(' if verb == 'kubeconfig' else ''}understudy {verb}" in out
