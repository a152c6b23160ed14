"""`understudy node list`, `cordon`, `uncordon` and `drain` on a cluster that really runs."""

import json
import re
from pathlib import Path

from tests.cli.commands import ended, refuses, shows, started, typed
from tests.embedded.manifests import budget, job, lone_pod
from tests.embedded.real_cluster import RealCluster, node, play
from tests.embedded.shared_cluster import SharedClusters
from understudy.objects.resources import BUDGETS, NODES, PODS

A_SPARE = {"understudy.dev/spare": "keep", "cloud.google.com/gke-nodepool": "slice-b"}
TWO = [node("a", gpu="4", labels={"understudy.dev/pool": "workers"}), node("b", gpu="4", labels=A_SPARE)]
WITHOUT_SPARE = [node("a", gpu="4"), node("b", gpu="4")]


def seats(cluster: RealCluster, name: str) -> list[str]:
    pods = cluster.monitor.pods_of(name)
    return [pod["spec"].get("nodeName", "") for pod in pods if pod.get("status", {}).get("phase") == "Running"]


def test_nodes_are_listed_with_what_they_are_for(shared: SharedClusters) -> None:
    async def scenario(cluster: RealCluster) -> None:
        await cluster.create(job("train", gpus=3))
        await cluster.monitor.until("it runs", lambda: seats(cluster, "train") == ["a"])
        lines = [line.split() for line in await shows(cluster, "node", "list")]
        assert " ".join(lines[0]) == "NAME STATUS ROLES POOL CAPACITY SLICE ACCELERATORS ALLOCATED SPARE AGE"
        assert " ".join(lines[1][:-1]) == "a Ready <none> workers on-demand <none> 4 nvidia.com/gpu 3 <none>"
        assert " ".join(lines[2][:-1]) == "b Ready <none> slice-b on-demand slice-b 4 nvidia.com/gpu 0 keep"
        assert await shows(cluster, "node", "ls", "-o", "name") == ["node/a", "node/b"]
        figures = json.loads("\n".join(await shows(cluster, "node", "list", "-o", "json")))["nodes"]
        assert [(one["name"], one["health"], one["allocatedGPUs"]) for one in figures] == [
            ("a", "healthy", 3),
            ("b", "healthy", 0),
        ]

    shared.play(TWO, scenario)


def test_a_cordoned_node_gets_nothing_new(shared: SharedClusters) -> None:
    async def scenario(cluster: RealCluster) -> None:
        assert await shows(cluster, "node", "cordon", "a") == ["node/a cordoned"]
        assert await shows(cluster, "node", "cordon", "a", "b") == ["node/a already cordoned", "node/b cordoned"]
        assert (await shows(cluster, "node", "list"))[1].split()[1] == "Ready,SchedulingDisabled"
        assert "no node 'c'" in await refuses(cluster, "node", "uncordon", "a", "c")
        await cluster.create(job("train", gpus=4))
        await cluster.monitor.until("it is told why", lambda: cluster.monitor.told("FailedScheduling", "Pod", "train"))
        assert await shows(cluster, "node", "uncordon", "b") == ["node/b uncordoned"]
        await cluster.monitor.until("it runs", lambda: seats(cluster, "train") == ["b"])

    shared.play(WITHOUT_SPARE, scenario)


def test_a_drain_moves_jobs_and_asks_before_it_loses_anything(shared: SharedClusters) -> None:
    async def scenario(cluster: RealCluster) -> None:
        monitor = cluster.monitor
        body, bare = job("train", gpus=4), lone_pod("bare")
        body["spec"]["backoffLimit"] = 3  # an eviction counts as a failure, as in Kubernetes
        bare["spec"]["nodeName"] = "b"
        await cluster.create(body, bare)
        await monitor.until("both run", lambda: seats(cluster, "train") and seats(cluster, "bare"))
        refusal = await refuses(cluster, "node", "drain", "a", "b")
        assert refusal == "node b: default/bare would not be made again; --force evicts them too"
        assert not (monitor.find(NODES, "a") or {})["spec"].get("unschedulable"), "nothing was touched"
        lines = await shows(cluster, "node", "drain", "b", "--force")
        assert "evicting pod default/bare" in lines
        assert (lines[0], lines[-1]) == ("node/b cordoned", "node/b drained")
        await monitor.until("it is gone", lambda: monitor.find(PODS, "bare") is None)
        await shows(cluster, "node", "uncordon", "b")
        [home] = await monitor.until("train has a seat", lambda: seats(cluster, "train"))
        assert (await shows(cluster, "node", "drain", home))[-1] == f"node/{home} drained"

        def moved() -> list[str]:
            return [node for node in seats(cluster, "train") if node != home]

        [there] = await monitor.until("it moved", moved)
        told = re.compile(rf"{home} was drained \d+s ago: (train-\S+) moved to {there} as train-\S+\.")
        assert any(told.fullmatch(line) for line in await shows(cluster, "why", "train"))
        await monitor.until("the eviction is told", lambda: monitor.told("Evicted", "Pod", "train"))

    shared.play(WITHOUT_SPARE, scenario)


def test_a_drain_waits_for_budgets(tmp_path: Path) -> None:
    async def scenario(cluster: RealCluster) -> None:
        monitor = cluster.monitor
        await cluster.create(job("train", gpus=4), budget("keep", "train", 1))
        await monitor.until("it runs", lambda: seats(cluster, "train") == ["a"])
        said = await typed(cluster, "node", "drain", "a", "--timeout", "500ms")
        assert said.code == 1
        assert "stays for now: Cannot evict pod as it would violate the pod's disruption budget." in said.out
        assert said.err == "understudy: not empty after 500ms; the nodes stay cordoned\n"
        draining = await started(cluster, "node", "drain", "a")
        assert draining.stdout is not None
        while b"stays for now" not in await draining.stdout.readline():
            pass
        await cluster.delete(BUDGETS, "keep")
        rest = await ended(draining)
        assert (rest.code, rest.out) == (0, "node/a drained\n")
        assert "a" not in seats(cluster, "train")

    play(tmp_path, [node("a", gpu="4"), node("b")], scenario)
