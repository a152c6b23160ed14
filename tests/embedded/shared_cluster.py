"""Clusters that really run and are shared by the tests of a process: one for each set of nodes.

To start a cluster costs more than most tests do with it. After a test, what it made is deleted. The next test begins
when all of that has gone and cordoned nodes are uncordoned. A test that fails ends the cluster. Tests that let nodes or
parts fail, or expect complaints in logs, play on clusters of their own.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from tests.embedded.real_cluster import KINDS, PLAIN, RealCluster, Setup, complaints, monitored, parts_running
from tests.eventually import eventually_async
from understudy.client import KubeClient, connect
from understudy.embedded.clusters import pod_processes
from understudy.objects import resources
from understudy.objects.resources import NODES, Resource
from understudy.ports import PatchForm, Ref, Refused

Document = dict[str, Any]
Scenario = Callable[[RealCluster], Awaitable[None]]

MOST = 3  # clusters of a process at once; idle ones cost a little, too
_KEPT = {NODES, resources.LEASES, resources.ENDPOINTS, resources.SERIES_EVENTS, resources.DEFINITIONS}
_CLEARED = tuple(resource for resource in dict.fromkeys(KINDS.values()) if resource not in _KEPT)


class _Name(NamedTuple):
    resource: Resource
    namespace: str
    name: str


class _Meta(msgspec.Struct):
    name: str
    namespace: str = ""


class _Object(msgspec.Struct):
    metadata: _Meta


class _List(msgspec.Struct):
    items: list[_Object]


class _NodeSpec(msgspec.Struct):
    unschedulable: bool = False
    taints: list[Document] = []


class _Node(_Object):
    spec: _NodeSpec


class _Nodes(msgspec.Struct):
    items: list[_Node]


class SharedCluster:
    def __init__(self, path: Path, nodes: Sequence[Document]) -> None:
        self._runner = asyncio.Runner()
        self._parts = parts_running(path, nodes)
        self._folder = self._runner.run(self._parts.__aenter__())
        self._before = self._runner.run(self._begun())

    def play(self, scenario: Scenario, setup: Setup) -> None:
        self._runner.run(self._played(scenario, setup))

    def stop(self) -> None:
        with self._runner:
            self._runner.run(self._parts.__aexit__(None, None, None))

    async def _begun(self) -> tuple[set[_Name], list[_Node]]:
        async with connect(self._folder.kubeconfig) as client:
            return await _made(client), await _nodes(client)

    async def _played(self, scenario: Scenario, setup: Setup) -> None:
        async with monitored(self._folder, setup) as cluster:
            await scenario(cluster)
        async with connect(self._folder.kubeconfig) as client:
            await eventually_async(lambda: self._is_cleared(client), "what the test made has gone")
            await _uncordon(client)
            assert await _nodes(client) == self._before[1], "nodes are other than before"
        assert not (words := list(complaints(self._folder))), "\n".join(words)

    async def _is_cleared(self, client: KubeClient) -> bool:
        made, before = await _made(client), self._before[0]
        assert made >= before, f"the next test misses {before - made}"
        for resource, namespace, name in made - before:
            grace = 0 if resource == resources.PODS else None
            with _absent_is_fine():
                await client.delete(Ref(resource, namespace, name), grace=grace, propagation="Background")
        return made == before and not list(pod_processes.running_containers(self._folder))


async def _made(client: KubeClient) -> set[_Name]:
    """Of what tests make; the other namespaces are those of the cluster's parts."""
    answers = await asyncio.gather(*(_listed(client, resource) for resource in _CLEARED))
    return {one for names in answers for one in names if one.namespace in ("", "default")}


async def _listed(client: KubeClient, resource: Resource) -> list[_Name]:
    found = _List([])
    with _absent_is_fine():  # where the cluster does not serve this kind
        found = msgspec.json.decode(await client.request("GET", resource.path()), type=_List)
    return [_Name(resource, one.metadata.namespace, one.metadata.name) for one in found.items]


@contextlib.contextmanager
def _absent_is_fine() -> Iterator[None]:
    try:
        yield
    except Refused as refused:
        if refused.code != HTTPStatus.NOT_FOUND:
            raise


async def _nodes(client: KubeClient) -> list[_Node]:
    return msgspec.json.decode(await client.request("GET", NODES.path()), type=_Nodes).items


async def _uncordon(client: KubeClient) -> None:
    for node in await _nodes(client):
        if node.spec.unschedulable:
            uncordoned = {"spec": {"unschedulable": None}}
            await client.patch(Ref(NODES, "", node.metadata.name), uncordoned, form=PatchForm.MERGE)


class SharedClusters:
    def __init__(self, folder: Callable[[], Path]) -> None:
        self._folder = folder
        self._running: dict[bytes, SharedCluster] = {}  # the one used last comes last

    def play(self, nodes: Sequence[Document], scenario: Scenario, setup: Setup = PLAIN) -> None:
        """As `play` of real_cluster, on a cluster that other tests may have used and will use."""
        assert setup == msgspec.structs.replace(PLAIN, looks=setup.looks), "this needs a cluster of its own"
        key = msgspec.json.encode(nodes)
        cluster = self._running.pop(key, None) or self._started(nodes)
        try:
            cluster.play(scenario, setup)
        except BaseException:
            cluster.stop()
            raise
        self._running[key] = cluster

    def _started(self, nodes: Sequence[Document]) -> SharedCluster:
        while len(self._running) >= MOST:
            self._running.pop(next(iter(self._running))).stop()
        return SharedCluster(self._folder(), nodes)

    def stop(self) -> None:
        while self._running:
            self._running.popitem()[1].stop()


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedClusters]:
    clusters = SharedClusters(lambda: tmp_path_factory.mktemp("shared"))
    yield clusters
    clusters.stop()
