"""`understudy doctor` on a cluster that really runs."""

import json
from pathlib import Path

from tests.cli.commands import refuses, shows, typed
from tests.cli.homes import make_cluster
from tests.cli.shell import Shell
from tests.embedded.real_cluster import RealCluster, node, play

NODES = [node(name, gpu="4", labels={"topology.kubernetes.io/rack": "r1"}) for name in "ab"]


def test_all_is_well_on_a_laptop(tmp_path: Path) -> None:
    async def scenario(cluster: RealCluster) -> None:
        lines = await shows(cluster, "doctor")
        assert lines[-1] == "all well"
        assert not [line for line in lines if line.lstrip().startswith(("!", "✗"))]
        assert "  ✓ nvidia.com/gpu: 8 on 2 nodes, 8 free" in lines
        assert "  ✓ topology.kubernetes.io/rack: 1 domain of 2 nodes" in lines
        found = json.loads("\n".join(await shows(cluster, "doctor", "-o", "json")))
        assert found["well"] is True
        titles = [section["title"] for section in found["sections"]]
        assert titles == ["Cluster", "Permissions", "Understudy", "Operators", "Nodes", "Topology", "Work", "Settings"]

    play(tmp_path, NODES, scenario)


def test_what_is_wrong_is_an_exit_code(tmp_path: Path) -> None:
    async def scenario(cluster: RealCluster) -> None:
        said = await typed(cluster, "doctor", "--as", "system:serviceaccount:elsewhere:stranger")
        assert (said.code, said.err) == (1, "")
        assert any(line.startswith("  ✗ system:serviceaccount:elsewhere:stranger may not ") for line in said.lines)
        assert "wrong (✗)" in said.lines[-1]
        (tmp_path / "understudy.yaml").write_text("policy: {minRuntime: 300}")
        lines = await shows(cluster, "doctor", "--settings", str(tmp_path / "understudy.yaml"))
        assert any("policy.minRuntime = 300" in line for line in lines)
        assert "none.yaml" in await refuses(cluster, "doctor", "--settings", "none.yaml")

    play(tmp_path, NODES, scenario)


def test_a_cluster_that_does_not_answer(shell: Shell) -> None:
    make_cluster("default", port=1)
    code, out, err = shell.run("doctor")
    assert (code, out) == (1, "")
    assert err.startswith("understudy: no answer from https://127.0.0.1:1")
