"""What is said about a cluster: up, down or half, with what its API answers."""

import asyncio
from pathlib import Path
from typing import Any

from tests.client.scripted_server import Reply, Request, serving
from tests.embedded.clusters.settings import node, settings
from tests.embedded.clusters.test_readiness import folder_for, node_object
from understudy.embedded.cluster_folder import ClusterFolder
from understudy.embedded.clusters.process_lock import SUPERVISOR, hold_lock
from understudy.embedded.clusters.report import DOWN, PARTLY, cluster_report

SETTINGS = settings(nodes=(node("a"), node("b")), port=7777)


def pod(phase: str) -> dict[str, Any]:
    return {"metadata": {"name": "p"}, "status": {"phase": phase}}


async def api(request: Request, reply: Reply) -> None:
    if request.path == "/api/v1/nodes":
        await reply.json({"metadata": {}, "items": [node_object("a"), node_object("b", "False")]})
    elif "continue" not in request.query:
        await reply.json({"metadata": {"continue": "more"}, "items": [pod("Running"), pod("Pending")]})
    else:
        await reply.json({"metadata": {}, "items": [pod("Running")]})


def test_a_cluster_that_is_down_has_its_place_and_its_size(tmp_path: Path) -> None:
    folder = ClusterFolder(tmp_path)
    folder.database.write_bytes(b"x" * 1000)
    (tmp_path / "objects.sqlite-wal").write_bytes(b"x" * 24)
    found = asyncio.run(cluster_report(folder, SETTINGS, 5.0))
    assert (found.state, found.server, found.nodes) == (DOWN, "https://127.0.0.1:7777", 2)
    assert (found.ready_nodes, found.pods, found.stored_bytes) == (None, None, 1024)


def test_nodes_and_pods_are_counted(tmp_path: Path) -> None:
    async def run() -> None:
        async with serving(api) as server:
            folder = folder_for(tmp_path, server)
            with hold_lock(folder.processes / SUPERVISOR):
                found = await cluster_report(folder, SETTINGS, 5.0)
        assert (found.ready_nodes, found.nodes) == (1, 2)
        assert found.pods == {"Pending": 1, "Running": 2}
        assert found.state == PARTLY
        assert [part for part, one in found.parts.items() if one] == [SUPERVISOR]

    asyncio.run(run())


def test_an_api_that_does_not_answer_is_said_to(tmp_path: Path) -> None:
    async def run() -> None:
        async with serving(api) as server:
            folder = folder_for(tmp_path, server)
        with hold_lock(folder.processes / SUPERVISOR):
            found = await cluster_report(folder, SETTINGS, 5.0)
        assert "connection refused" in found.trouble
        assert found.ready_nodes is None

    asyncio.run(run())
