"""The objects every cluster starts with."""

import asyncio
from pathlib import Path

from tests.embedded.server.in_process_server import server


def test_a_new_cluster_has_the_bootstrap_objects(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            namespaces = await ask.get("/api/v1/namespaces")
            names = [item["metadata"]["name"] for item in namespaces["items"]]
            assert names == ["default", "kube-node-lease", "kube-public", "kube-system"]
            accounts = await ask.get("/api/v1/serviceaccounts")
            assert len(accounts["items"]) == 4
            classes = await ask.get("/apis/scheduling.k8s.io/v1/priorityclasses")
            values = {item["metadata"]["name"]: item["value"] for item in classes["items"]}
            assert values == {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
            service = await ask.get("/api/v1/namespaces/default/services/kubernetes")
            assert service["spec"]["ports"][0]["port"] == 6443

    asyncio.run(scenario())


def test_a_restart_creates_only_missing_bootstrap_objects(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            before = ask.state.store.revision
        async with server(tmp_path) as ask:
            assert ask.state.store.revision == before
            await ask.delete("/api/v1/namespaces/default/services/kubernetes")
        async with server(tmp_path) as ask:
            assert (await ask.get("/api/v1/namespaces/default/services/kubernetes"))["kind"] == "Service"

    asyncio.run(scenario())
