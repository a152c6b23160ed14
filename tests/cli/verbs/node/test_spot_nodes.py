"""Spot nodes and nodes that were given notice, as `node list`, `top node`, `get` and `describe` show them."""

import json
import time
from datetime import UTC, datetime
from pathlib import Path

from tests.cli.commands import shows
from tests.embedded.manifests import job
from tests.embedded.real_cluster import RealCluster, node, play
from understudy.objects.resources import NODES
from understudy.ports import PatchForm, Ref

AKS = {"kubernetes.azure.com/scalesetpriority": "spot", "understudy.dev/pool": "spot"}
MIXED = [node("regular", gpu="1"), node("spot", gpu="2", labels=AKS)]
NOTICE = "understudy.dev/notice"


def seats(cluster: RealCluster, name: str) -> list[str]:
    return [pod["spec"].get("nodeName", "") for pod in cluster.monitor.pods_of(name)]


async def give_notice(cluster: RealCluster, name: str, seconds: float) -> None:
    deadline = datetime.fromtimestamp(time.time() + seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    notice = f"deadline={deadline},source=azure,cause=Preempt"
    await cluster.client.patch(
        Ref(NODES, name=name), {"metadata": {"annotations": {NOTICE: notice}}}, form=PatchForm.MERGE
    )


def test_spot_nodes_and_announced_ends_are_shown(tmp_path: Path) -> None:
    async def scenario(cluster: RealCluster) -> None:
        await cluster.create(job("train", gpus=2))
        await cluster.monitor.until("it is seated", lambda: seats(cluster, "train") == ["spot"])
        listed = [line.split() for line in await shows(cluster, "node", "list")]
        assert [row[listed[0].index("CAPACITY")] for row in listed[1:]] == ["on-demand", "spot"]
        assert await shows(cluster, "node", "list", "--spot", "-o", "name") == ["node/spot"]
        assert "REASON" not in listed[0]
        seen = await shows(cluster, "get", "train")
        assert seen[5].endswith("NODE  CAPACITY")
        assert seen[6].endswith("spot  spot")

        await give_notice(cluster, "spot", 600)  # too long for the test to see its end; there is no other seat
        for command in (["node", "list"], ["top", "node"], ["get", "train"], ["describe", "train"]):
            printed = await shows(cluster, *command)
            said = [line for line in printed if "notice (azure Preempt)" in line]  # one, and in describe its event
            assert any(" in 9m" in line or " in 10m" in line for line in said)
        [instance] = json.loads("\n".join(await shows(cluster, "get", "train", "-o", "json")))["instances"]
        assert (instance["capacity"], instance["leaves"]["reason"]) == ("spot", "notice (azure Preempt)")
        figures = json.loads("\n".join(await shows(cluster, "node", "list", "--spot", "-o", "json")))["nodes"]
        assert [(one["name"], one["health"]) for one in figures] == [("spot", "leaving")]
        assert figures[0]["deadline"] == instance["leaves"]["deadline"]

    play(tmp_path, MIXED, scenario)
