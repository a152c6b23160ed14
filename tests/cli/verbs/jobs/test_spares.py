"""`understudy spares` on a cluster that really runs: who has a spare, and how a node that comes back refills it."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

from tests.cli.commands import refuses, shows
from tests.embedded.manifests import job
from tests.embedded.real_cluster import RealCluster, Setup, node, play
from understudy.decide.policy import Policy, SpareRule

RACK = "example.com/rack"
NODES = [node(name, gpu="4", labels={RACK: "r1"}) for name in "ab"]
KEEPS_ONE = Setup(policy=Policy(spares=(SpareRule(1, per=RACK),), lend_below=150))


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """Where the cluster of the test is one of this machine's; the folder its folder goes into."""
    with mock.patch.dict(os.environ, UNDERSTUDY_HOME=str(tmp_path)):
        yield tmp_path / "clusters"


def seat(cluster: RealCluster, name: str) -> str:
    pods = [pod for pod in cluster.monitor.pods_of(name) if pod.get("status", {}).get("phase") == "Running"]
    return str(pods[0]["spec"]["nodeName"]) if pods else ""


def words(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("  ") if cell.strip()]


def test_a_spare_is_lent_recalled_and_refilled(home: Path, tmp_path: Path) -> None:
    async def scenario(cluster: RealCluster) -> None:
        until = cluster.monitor.until
        await cluster.priorities(low=100, high=300)
        rule = f"rule 1: 1 node per {RACK}, r1: wanted 1, have"

        hero = job("hero", "high", gpus=4)
        await cluster.create({**hero, "spec": {**hero["spec"], "backoffLimit": 3}})
        assert await until("the hero runs", lambda: seat(cluster, "hero")) == "b"
        _, free, *rest = await shows(cluster, "spares")
        assert words(free) == ["a", "r1", "rule 1", "lendable", "free", "<none>"]
        assert rest == ["", f"{rule} 1"]

        await cluster.create(job("low", "low", gpus=4))
        assert await until("the borrower runs", lambda: seat(cluster, "low")) == "a"
        head, lent, *_ = await shows(cluster, "spares", "-o", "wide")
        assert words(head) == ["NODE", "DOMAIN", "BY", "ROLE", "STATE", "WITH", "SINCE", "REASON"]
        assert words(lent)[4:6] == ["on loan", "Job default/low (priority 100, 1 seat)"]
        assert await shows(cluster, "spares", "-o", "name") == ["node/a"]

        await shows(cluster, "node", "fail", "b")
        await until("the spare steps in", lambda: seat(cluster, "hero") == "a")
        missing = "(1 missing: no idle node: 1 in use, 1 lost)"
        assert await shows(cluster, "spares") == ["no spares", "", f"{rule} 0 {missing}"]

        await shows(cluster, "node", "recover", "b")
        await until("the borrower is back", lambda: seat(cluster, "low") == "b")
        figures = json.loads("\n".join(await shows(cluster, "spares", "-o", "json")))
        [spare], [need] = figures["spares"], figures["rules"]
        assert (spare["node"], spare["state"], spare["holders"][0]["name"]) == ("b", "on loan", "low")
        assert (need["have"], need["missing"], need["value"]) == (1, 0, "r1")

        (tmp_path / "other.yaml").write_text("policy: {spares: [{count: 1, labels: {pool: none}}]}")
        [_, _, other] = await shows(cluster, "spares", "--settings", str(tmp_path / "other.yaml"))
        assert other.endswith("wanted 1, have 0 (1 missing: no node has its labels)")
        assert (await refuses(cluster, "spares", "--settings", "none.yaml")).startswith("none.yaml: ")

    play(home, NODES, scenario, KEEPS_ONE)
