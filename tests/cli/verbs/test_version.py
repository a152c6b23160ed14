"""`understudy version`: the client's, and the server's where one answers."""

import json

import pytest

from tests.cli.commands import shows
from tests.cli.homes import make_cluster
from tests.cli.shell import Shell
from tests.embedded.real_cluster import RealCluster, node
from tests.embedded.shared_cluster import SharedClusters
from understudy import __version__


def test_both_versions_are_told(shared: SharedClusters) -> None:
    async def scenario(cluster: RealCluster) -> None:
        client, server = await shows(cluster, "version")
        assert client.startswith(f"Client: understudy {__version__} (Python 3.")
        assert server.startswith(f"Server: v1.33.0+understudy-{__version__} (linux/")
        found = json.loads("\n".join(await shows(cluster, "version", "-o", "json")))
        assert found["client"]["version"] == __version__
        assert found["server"]["address"].startswith("https://127.0.0.1:")
        assert await shows(cluster, "version", "--short") == [__version__]

    shared.play([node("a")], scenario)


def test_without_a_cluster_the_client_s_is_told_all_the_same(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(shell.folder))
    code, out, err = shell.run("version")
    assert (code, err) == (0, "")
    assert out.splitlines()[1] == "Server: none; there is no cluster; `understudy up` makes one"
    assert len(shell.run("version", "--client")[1].splitlines()) == 1
    assert "no such cluster" in shell.refuses("version", "--cluster", "none")


def test_a_cluster_that_is_down_is_no_error(shell: Shell) -> None:
    make_cluster("default", port=1)
    code, out, _ = shell.run("version", "-o", "json")
    found = json.loads(out)
    assert (code, found["server"]) == (0, None)
    assert found["trouble"].startswith("no answer from https://127.0.0.1:1")
