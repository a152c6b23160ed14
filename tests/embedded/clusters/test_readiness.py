"""A cluster is ready when its API answers, with all its nodes and kinds; nodes of an earlier file are taken away."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.client.scripted_server import Reply, Request, Server, encoded, serving, write_kubeconfig
from tests.embedded.clusters.settings import node, settings
from understudy.embedded import failed_nodes
from understudy.embedded.cluster_folder import ClusterFolder
from understudy.embedded.clusters.process_lock import SUPERVISOR
from understudy.embedded.clusters.readiness import UNREGISTERED, NotReady, readiness, wait_until_ready
from understudy.embedded.failed_nodes import FailedNodes
from understudy.embedded.manifests.definitions import bundled_definitions
from understudy.objects.resources import CLUSTER_TRAINING_RUNTIMES, DEFINITIONS

KIND = DEFINITIONS.kind


def node_object(name: str, ready: str = "True", pool: str = "p", revision: str = "1") -> dict[str, Any]:
    labels = {"understudy.dev/pool": pool} if pool else {}
    metadata = {"name": name, "uid": f"u-{name}", "resourceVersion": revision, "labels": labels}
    status = {"conditions": [{"type": "Ready", "status": ready}]}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": status}


def definition(name: str, established: str = "True", revision: str = "1") -> dict[str, Any]:
    metadata = {"name": name, "resourceVersion": revision}
    status = {"conditions": [{"type": "Established", "status": established}]}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": KIND, "metadata": metadata, "status": status}


class Api:
    def __init__(self, nodes: list[dict[str, Any]], *news: dict[str, Any]) -> None:
        self.nodes, self.news = nodes, news
        self.definitions = [definition(name) for name in bundled_definitions()]
        self.deleted: list[str] = []
        self.late: list[str] = []  # paths that lead nowhere, each until it was asked for as often as it stands here

    async def __call__(self, request: Request, reply: Reply) -> None:
        if request.method == "DELETE":
            self.deleted.append(request.path)
            await reply.json({})
        elif request.path in self.late:
            self.late.remove(request.path)
            await reply.refuse(404, "NotFound")
        elif request.path == "/readyz":
            await reply.text(b"ok")
        elif "watch" in request.query:
            await reply.begin_chunks()
            for document in self.news:
                if (document["kind"] == KIND) == (request.path == DEFINITIONS.path()):
                    await reply.line("MODIFIED", document)
            await asyncio.Event().wait()
        elif request.path == DEFINITIONS.path():
            await reply.json({"metadata": {"resourceVersion": "5"}, "items": self.definitions})
        else:
            await reply.json({"metadata": {"resourceVersion": "5"}, "items": self.nodes})


def folder_for(path: Path, server: Server) -> ClusterFolder:
    folder = ClusterFolder(path)
    folder.settings.write_bytes(msgspec.json.encode(settings(nodes=(node("a"), node("b")))))
    folder.access(SUPERVISOR).parent.mkdir(exist_ok=True)
    config = server.config()
    cluster = {"server": config.server, "certificate-authority-data": encoded(config.authority.encode())}
    write_kubeconfig(folder.access(SUPERVISOR), cluster, {"token": config.token})
    return folder


@contextlib.asynccontextmanager
async def cluster(path: Path, api: Api) -> AsyncIterator[tuple[ClusterFolder, Server]]:
    async with serving(api) as server:
        yield folder_for(path, server), server


def test_ready_when_every_node_is(tmp_path: Path) -> None:
    async def run() -> None:
        api = Api([node_object("a"), node_object("b", "False")], node_object("b", revision="6"))
        async with cluster(tmp_path, api) as (folder, _):
            await wait_until_ready(folder, 10.0)

    asyncio.run(run())


def test_a_server_that_is_still_starting_is_waited_for(tmp_path: Path) -> None:
    async def run() -> None:
        async with cluster(tmp_path, Api([node_object("a"), node_object("b")])) as (folder, server):
            await server.kill()
            ready = asyncio.create_task(wait_until_ready(folder, 10.0))
            await asyncio.sleep(0.05)
            await server.start()
            await ready

    asyncio.run(run())


def test_a_cluster_that_is_being_prepared_is_waited_for(tmp_path: Path) -> None:
    async def run() -> None:
        async with cluster(tmp_path, Api([node_object("a"), node_object("b")])) as (folder, _):
            access = folder.access(SUPERVISOR)
            text = access.read_bytes()
            access.unlink()
            ready = asyncio.create_task(wait_until_ready(folder, 10.0))
            await asyncio.sleep(0.05)
            access.write_bytes(text)
            await ready

    asyncio.run(run())


def test_an_api_that_moves_before_it_answers_is_found(tmp_path: Path) -> None:
    async def run() -> None:
        async with cluster(tmp_path, Api([node_object("a"), node_object("b")])) as (folder, server):
            access = folder.access(SUPERVISOR)
            text = access.read_text()
            with socket.create_server(("127.0.0.1", 0)) as stranger:
                elsewhere = f"https://127.0.0.1:{stranger.getsockname()[1]}"
            access.write_text(text.replace(server.config().server, elsewhere))
            ready = asyncio.create_task(wait_until_ready(folder, 10.0))
            await asyncio.sleep(0.05)
            access.write_text(text)
            await ready

    asyncio.run(run())


def test_nodes_that_have_failed_are_told_of_and_not_waited_for(tmp_path: Path) -> None:
    async def run() -> None:
        async with cluster(tmp_path, Api([node_object("a"), node_object("b", "Unknown")])) as (folder, _):
            failed_nodes.save(folder.path, FailedNodes(dead={"b", "of another time"}))
            found = await readiness(folder, None)
            assert (found.answers, found.failed, found.waiting, found.ready_nodes) == (True, {"b"}, {}, 1)

    asyncio.run(run())


def test_a_node_that_turns_out_to_have_failed_is_waited_for_no_longer(tmp_path: Path) -> None:
    async def run() -> None:
        async with cluster(tmp_path, Api([node_object("a"), node_object("b", "Unknown")])) as (folder, _):
            looking = asyncio.create_task(readiness(folder, None))
            await asyncio.sleep(0.05)
            assert not looking.done()
            failed_nodes.save(folder.path, FailedNodes(unplugged={"b"}))
            async with asyncio.timeout(10):
                assert (await looking).failed == {"b"}

    asyncio.run(run())


def test_nodes_that_are_not_ready_come_with_the_reason(tmp_path: Path) -> None:
    async def run() -> None:
        silent = node_object("b", "Unknown")
        silent["status"]["conditions"][0] |= {"reason": "NodeStatusUnknown", "message": "Kubelet stopped posting."}
        async with cluster(tmp_path, Api([silent])) as (folder, _):
            found = await readiness(folder, 3.0)
        assert found.waiting == {"a": UNREGISTERED, "b": "NodeStatusUnknown: Kubelet stopped posting."}
        assert (found.failed, found.kinds, found.objects) == (set(), set(), {})

    asyncio.run(run())


def test_what_lacks_is_said_when_time_is_up(tmp_path: Path) -> None:
    async def run() -> None:
        async with cluster(tmp_path, Api([node_object("a"), node_object("b", "Unknown")])) as (folder, server):
            with pytest.raises(NotReady, match=r"after 2 s these nodes are not ready: b"):
                await wait_until_ready(folder, 2.0)
            await server.kill()
            with pytest.raises(NotReady, match=r"after 0.05 s the API does not answer"):
                await wait_until_ready(folder, 0.05)
            await server.start()

    asyncio.run(run())


def test_kinds_that_the_cluster_brings_along_are_waited_for(tmp_path: Path) -> None:
    """Else the first `kubectl apply` of one could be told that there is no such kind."""

    async def run() -> None:
        nodes = [node_object("a"), node_object("b")]
        late, *others = bundled_definitions()
        api = Api(nodes, definition(late, revision="6"))
        api.definitions = [definition(late, "False"), *map(definition, others)]
        async with cluster(tmp_path, api) as (folder, _):
            await wait_until_ready(folder, 10.0)
        api.news = ()
        async with cluster(tmp_path, api) as (folder, _):
            with pytest.raises(NotReady, match=rf"after 2 s not served: {late}"):
                await wait_until_ready(folder, 2.0)

    asyncio.run(run())


def test_objects_that_the_cluster_brings_along_are_waited_for(tmp_path: Path) -> None:
    path = CLUSTER_TRAINING_RUNTIMES.path(name="torch-distributed")

    async def run() -> None:
        api = Api([node_object("a"), node_object("b")])
        api.late = [path] * 3
        async with cluster(tmp_path, api) as (folder, _):
            await wait_until_ready(folder, 10.0)
            assert api.late == []
            api.late = [path] * 10_000
            with pytest.raises(NotReady, match=r"after 2 s not there: .*torch-distributed"):
                await wait_until_ready(folder, 2.0)

    asyncio.run(run())


def test_nodes_of_an_earlier_file_go_and_those_of_users_stay(tmp_path: Path) -> None:
    async def run() -> list[str]:
        api = Api([node_object("old"), node_object("users", pool=""), node_object("a"), node_object("b")])
        async with cluster(tmp_path, api) as (folder, _):
            await wait_until_ready(folder, 10.0)
        return api.deleted

    assert asyncio.run(run()) == ["/api/v1/nodes/old"]
