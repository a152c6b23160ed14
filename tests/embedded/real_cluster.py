"""A cluster that really runs, for one test: parts and pods are processes, in a folder of its own.

When the test is over everything ends, and what must be true of every cluster is looked at: no process is left, the
parts lived through it and complained about nothing, and the rules were kept at every moment.
"""

import asyncio
import contextlib
import copy
import os
import random
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from tests.embedded.cluster_monitor import ClusterMonitor, is_partly_seated
from understudy.cli.clusters import cluster_file
from understudy.client import KubeClient, connect
from understudy.decide.policy import Policy
from understudy.embedded.agent_protocol import FailNode, RecoverNode, ask_agent
from understudy.embedded.cluster_folder import ClusterFolder, ClusterSettings
from understudy.embedded.clusters import pod_processes
from understudy.embedded.clusters.component import Command, Launcher, component_command
from understudy.embedded.clusters.credentials import write_credentials
from understudy.embedded.clusters.machine import this_machine
from understudy.embedded.clusters.nodes import pool_nodes
from understudy.embedded.clusters.private_files import write_private
from understudy.embedded.clusters.process_lock import CONTROL, PARTS, lock_holder
from understudy.embedded.clusters.readiness import wait_until_ready
from understudy.embedded.clusters.settings import is_port_free
from understudy.embedded.clusters.supervisor import Stop, supervise
from understudy.kinds.registry import JOB_RESOURCES
from understudy.objects import resources
from understudy.objects.resources import DEFINITIONS, NODES, PRIORITY_CLASSES, Resource
from understudy.ports import PatchForm, Ref, Unreachable

Document = dict[str, Any]

START = 90.0  # seconds; on a machine that has nothing else to do it takes one
LOOK = 0.02
KINDS = {
    (resource.api_version, resource.kind): resource
    for resource in (*vars(resources).values(), *JOB_RESOURCES)
    if isinstance(resource, Resource)
}
_COMPLAINT = re.compile(r"\b(WARNING|ERROR|CRITICAL)\b|Traceback|Error\b")


class Setup(msgspec.Struct, frozen=True):
    command: Command = component_command
    kinds: tuple[Resource, ...] = ()  # custom kinds, defined before any client asks for them
    looks: tuple[Resource, ...] = ()  # kinds of our own that the test looks at
    policy: Policy = Policy()  # which the scheduler decides with
    expected: tuple[str, ...] = ()  # complaints that may be in the logs, or told of parts that ended, as patterns


PLAIN = Setup()


class RealCluster:
    def __init__(self, folder: ClusterFolder, client: KubeClient, monitor: ClusterMonitor) -> None:
        self.folder = folder
        self.client = client
        self.monitor = monitor

    async def create(self, *documents: Document) -> None:
        for document in documents:
            await self.client.create(_place(document), document)

    async def delete(self, resource: Resource, name: str, namespace: str = "default", propagation: str = "") -> None:
        await self.client.delete(Ref(resource, _in(resource, namespace), name), propagation=propagation)

    async def patch(self, resource: Resource, name: str, patch: Document, sub: str = "") -> None:
        ref = Ref(resource, _in(resource, "default"), name)
        await self.client.patch(ref, patch, sub=sub, form=PatchForm.MERGE)

    async def priorities(self, **classes: int | Document) -> None:
        for name, given in classes.items():
            fields = given if isinstance(given, dict) else {"value": given}
            meta = {"name": name}
            body = {"apiVersion": PRIORITY_CLASSES.api_version, "kind": "PriorityClass", "metadata": meta, **fields}
            await self.create(body)

    async def cordon(self, node: str, yes: bool = True) -> None:
        await self.patch(NODES, node, {"spec": {"unschedulable": yes}})

    async def fail(self, node: str) -> None:
        """The node dies, and its processes with it, without any warning."""
        await ask_agent(self.folder.agent_socket, FailNode(node))

    async def recover(self, node: str) -> None:
        await ask_agent(self.folder.agent_socket, RecoverNode(node))

    def process(self, part: str) -> int:
        found = lock_holder(self.folder.processes / part)
        assert found is not None, f"{part} does not run"
        return found.pid

    def log_of(self, part: str) -> list[str]:
        return (self.folder.logs / f"{part}.log").read_text().splitlines()


def node(name: str, *, labels: Mapping[str, str] | None = None, **offers: str) -> Document:
    """A virtual node. What it offers beside room for pods is written like `gpu="4"` or `cpu="8"`."""
    long_names = {"gpu": "nvidia.com/gpu", "tpu": "google.com/tpu"}
    amounts = {"cpu": "64", "memory": "256Gi", "pods": "110"}
    amounts |= {long_names.get(short, short): amount for short, amount in offers.items()}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
        "status": {"capacity": amounts, "allocatable": amounts},
    }


def example_nodes(name: str) -> list[Document]:
    """Those of a file in examples/clusters."""
    file = Path(__file__).parents[2] / "examples" / "clusters" / f"{name}.yaml"
    return pool_nodes(cluster_file.read(str(file)).pools, this_machine())


def play(
    path: Path, nodes: Sequence[Document], scenario: Callable[[RealCluster], Awaitable[None]], setup: Setup = PLAIN
) -> None:
    async def played() -> None:
        async with running(path, nodes, setup) as cluster:
            await scenario(cluster)

    asyncio.run(played())


@contextlib.asynccontextmanager
async def running(path: Path, nodes: Sequence[Document], setup: Setup = PLAIN) -> AsyncIterator[RealCluster]:
    async with parts_running(path, nodes, setup) as folder, monitored(folder, setup) as cluster:
        yield cluster


@contextlib.asynccontextmanager
async def parts_running(path: Path, nodes: Sequence[Document], setup: Setup = PLAIN) -> AsyncIterator[ClusterFolder]:
    """A cluster that is ready. Checks at the end that its parts ran all the time and that no process is left."""
    folder, trouble = _prepared(path, nodes, setup.policy), Trouble()
    stop = Stop()
    site = Launcher(folder, trouble.tell, _patient(setup.command) if setup.kinds else setup.command)
    parts = asyncio.create_task(supervise(site, stop))
    try:
        async with connect(folder.kubeconfig) as client:
            await trouble.unless(_define(client, setup.kinds))
        _gate(folder).touch()
        await trouble.unless(wait_until_ready(folder, START))
        yield folder
    finally:
        stop.ask()
        await parts
    ended = [words for words in trouble.told if not any(re.search(one, words) for one in setup.expected)]
    assert not ended, f"parts did not live through it: {ended}"
    assert not (left := list(_left_behind(folder))), f"processes were left behind: {left}"
    assert not (words := list(complaints(folder, setup.expected))), "\n".join(words)


@contextlib.asynccontextmanager
async def monitored(folder: ClusterFolder, setup: Setup = PLAIN) -> AsyncIterator[RealCluster]:
    """Watches a cluster that is ready, and checks at the end that the rules were kept at every moment."""
    async with connect(folder.kubeconfig) as client:
        monitor = ClusterMonitor(client, (*setup.kinds, *setup.looks), setup.policy)
        async with monitor.watching():
            yield RealCluster(folder, client, monitor)
            await monitor.until("gangs that sit whole or not at all", lambda: not _partly_seated(monitor))
    assert not monitor.wrong, f"rules were broken on the way: {monitor.wrong}"
    assert not (started := monitor.partial_starts()), f"gangs started in part: {started}"


class Trouble:
    """What the supervisor has to tell before the cluster is asked to stop: parts that ended."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self._news = asyncio.Event()

    def tell(self, words: str) -> None:
        if not words.startswith("stopping "):
            self.told.append(words)
            self._news.set()

    async def unless(self, work: Coroutine[Any, Any, None]) -> None:
        tasks = [asyncio.create_task(work), asyncio.create_task(self._news.wait())]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert not self.told, f"parts do not run: {self.told}"
        await tasks[0]


async def _define(client: KubeClient, kinds: Iterable[Resource]) -> None:
    """As soon as the server is there."""
    for kind in kinds:
        while True:
            try:
                await client.create(Ref(DEFINITIONS), _definition(kind))
                break
            except Unreachable:
                await asyncio.sleep(LOOK)


def _definition(resource: Resource) -> Document:
    """A kind whose objects may hold anything."""
    anything = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": resource.version, "served": True, "storage": True, "schema": anything}
    return {
        "apiVersion": DEFINITIONS.api_version,
        "kind": DEFINITIONS.kind,
        "metadata": {"name": resource.key},
        "spec": {
            "group": resource.group,
            "scope": "Namespaced" if resource.namespaced else "Cluster",
            "names": {"plural": resource.plural, "kind": resource.kind},
            "versions": [{**version, "subresources": {"status": {}}}],
        },
    }


def _patient(command: Command) -> Command:
    """Control starts when the kinds are defined: one that it did not find it only looks for again after a while."""

    def waiting(part: str, folder: ClusterFolder) -> Sequence[str]:
        given = command(part, folder)
        if part != CONTROL:
            return given
        script = 'until [ -e "$0" ]; do sleep 0.02; done; exec "$@"'
        return ["sh", "-c", script, str(_gate(folder)), *given]

    return waiting


def _gate(folder: ClusterFolder) -> Path:
    return folder.path / "kinds-are-defined"


def _prepared(path: Path, nodes: Sequence[Document], policy: Policy) -> ClusterFolder:
    port = _free_port()
    settings = ClusterSettings(
        name="test",
        address="127.0.0.1",
        port=port,
        runtime="process",
        pod_network=f"127.{16 + port % 235}.0.0/16",  # another one for each cluster that runs at the same time
        nodes=tuple(copy.deepcopy(list(nodes))),
        loop={} if policy == Policy() else {"policy": msgspec.to_builtins(policy)},
    )
    folder = ClusterFolder(path / "cluster")
    write_private(folder.settings, msgspec.json.encode(settings))
    write_credentials(folder, settings, datetime.now(UTC))
    return folder


def _free_port() -> int:
    """No port that the kernel hands out: no other process takes it before the server does."""
    while not is_port_free("127.0.0.1", port := random.randrange(20_000, 32_000)):
        pass
    return port


def _place(document: Document) -> Ref:
    resource = KINDS[document["apiVersion"], document["kind"]]
    return Ref(resource, _in(resource, document["metadata"].get("namespace", "default")))


def _in(resource: Resource, namespace: str) -> str:
    return namespace if resource.namespaced else ""


def _partly_seated(monitor: ClusterMonitor) -> list[str]:
    """One that waits for seats that are held for all it lacks may be, when it has lost some."""
    return [gang.title for gang in monitor.snapshot().gangs.values() if is_partly_seated(gang)]


def _left_behind(folder: ClusterFolder) -> Iterator[str]:
    """Containers, and whatever else has the folder of the cluster in its command line or its environment."""
    yield from (f"container {state.pid}" for state in pod_processes.running_containers(folder))
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (process / "cmdline").read_bytes()
            known = words + (process / "environ").read_bytes()
            if process.name != str(os.getpid()) and os.fsencode(folder.path) in known:
                yield f"{process.name}: {words.decode(errors='replace').replace(chr(0), ' ')}"


def complaints(folder: ClusterFolder, expected: Iterable[str] = ()) -> Iterator[str]:
    patterns = [re.compile(pattern) for pattern in expected]
    for name in PARTS:
        for line in (folder.logs / f"{name}.log").read_text().splitlines():
            if _COMPLAINT.search(line) and not any(pattern.search(line) for pattern in patterns):
                yield f"{name} said: {line}"
