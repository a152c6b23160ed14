"""A cluster that really runs, for one test: parts and pods are processes, in a folder of its own.

When the test is over everything ends, and what must be true of every cluster is looked at: no process is left, the
parts lived through it and complained about nothing, and the rules were kept at every moment.
"""

import asyncio
import contextlib
import copy
import os
import re
import socket
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from tests.embedded.witness import Witness
from understudy.client import KubeClient, connect
from understudy.embedded.clusters import pods
from understudy.embedded.clusters.access import grant
from understudy.embedded.clusters.files import write_private
from understudy.embedded.clusters.parts import Command, Site, part_command
from understudy.embedded.clusters.processes import PARTS, Holder, holder
from understudy.embedded.clusters.readiness import until_ready
from understudy.embedded.clusters.supervisor import Stop, supervise
from understudy.embedded.doorway import FailNode, RecoverNode, ask
from understudy.embedded.folders import ClusterFolder, ClusterSettings
from understudy.objects import resources
from understudy.objects.resources import NODES, PRIORITY_CLASSES, Resource
from understudy.ports import PatchForm, Ref

Document = dict[str, Any]

START = 30.0  # seconds; on a machine that has nothing else to do it takes one
KINDS = {
    (resource.api_version, resource.kind): resource
    for resource in vars(resources).values()
    if isinstance(resource, Resource)
}
_COMPLAINT = re.compile(r"\b(WARNING|ERROR|CRITICAL)\b|Traceback|Error\b")


class RealCluster:
    def __init__(self, folder: ClusterFolder, client: KubeClient, witness: Witness) -> None:
        self.folder = folder
        self.client = client
        self.witness = witness

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
        """The node dies: its processes with it, and nobody is told."""
        await ask(self.folder.agent_socket, FailNode(node))

    async def recover(self, node: str) -> None:
        await ask(self.folder.agent_socket, RecoverNode(node))

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


@contextlib.asynccontextmanager
async def running(
    path: Path,
    nodes: Sequence[Document],
    *,
    command: Command = part_command,
    definitions: Iterable[Document] = (),
    expected: Iterable[str] = (),
) -> AsyncIterator[RealCluster]:
    """`definitions` are kinds that are there before anybody looks; `expected` are complaints that may be in the logs."""
    folder, told = _prepared(path, nodes), list[str]()
    stop = Stop()
    parts = asyncio.create_task(supervise(Site(folder, told.append, command), stop))
    try:
        await until_ready(folder, START)
        async with connect(folder.kubeconfig) as client:
            for definition in definitions:
                await client.create(Ref(resources.DEFINITIONS), definition)
            async with Witness.of(client, definitions) as witness:
                yield RealCluster(folder, client, witness)
    finally:
        stop.ask()
        await parts
    assert not told, f"parts did not live through it: {told}"
    assert not witness.wrong, f"rules were broken on the way: {witness.wrong}"
    assert not (left := list(_left_behind(folder))), f"processes were left behind: {left}"
    assert not (words := list(_complaints(folder, expected))), "\n".join(words)


def _prepared(path: Path, nodes: Sequence[Document]) -> ClusterFolder:
    port = _free_port()
    settings = ClusterSettings(
        name="test",
        address="127.0.0.1",
        port=port,
        runtime="process",
        pod_network=f"127.{16 + port % 235}.0.0/16",  # another one for each cluster that runs at the same time
        nodes=tuple(copy.deepcopy(list(nodes))),
    )
    folder = ClusterFolder(path / "cluster")
    write_private(folder.settings, msgspec.json.encode(settings))
    grant(folder, settings, datetime.now(UTC))
    return folder


def part(folder: ClusterFolder, name: str) -> Holder:
    found = holder(folder.processes / name)
    assert found is not None, f"{name} does not run"
    return found


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def _place(document: Document) -> Ref:
    resource = KINDS[document["apiVersion"], document["kind"]]
    return Ref(resource, _in(resource, document["metadata"].get("namespace", "default")))


def _in(resource: Resource, namespace: str) -> str:
    return namespace if resource.namespaced else ""


def _left_behind(folder: ClusterFolder) -> Iterator[str]:
    """Containers, and whatever else has the folder of the cluster in its command line."""
    yield from (f"container {state.pid}" for state in pods.running(folder))
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (process / "cmdline").read_bytes().decode(errors="replace").split("\0")
            if process.name != str(os.getpid()) and any(str(folder.path) in word for word in words):
                yield f"{process.name}: {' '.join(words)}"


def _complaints(folder: ClusterFolder, expected: Iterable[str]) -> Iterator[str]:
    patterns = [re.compile(pattern) for pattern in expected]
    for name in PARTS:
        for line in (folder.logs / f"{name}.log").read_text().splitlines():
            if _COMPLAINT.search(line) and not any(pattern.search(line) for pattern in patterns):
                yield f"{name} said: {line}"
