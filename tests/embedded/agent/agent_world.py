"""A real agent with real processes, on a fake cluster."""

import asyncio
import contextlib
import hashlib
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from tests.embedded.agent.fake_cluster import Document, FakeCluster
from understudy.embedded import container_logs
from understudy.embedded.agent.agent import Agent
from understudy.embedded.agent.pods.dependencies import AgentApi
from understudy.embedded.agent.volumes.service_account_token import SharedToken, TokenSource
from understudy.embedded.cluster_folder import ClusterFolder, ClusterSettings
from understudy.embedded.container_logs import LogOptions
from understudy.objects.resources import PODS
from understudy.ports import Ref

NODE = "node-0"


def node(name: str = NODE, **capacity: str) -> Document:
    amounts = {"cpu": "8", "memory": "16Gi", "pods": "110", **{key.replace("_", "/"): n for key, n in capacity.items()}}
    return {"metadata": {"name": name, "labels": {}}, "status": {"capacity": amounts, "allocatable": amounts}}


def _network(path: Path) -> str:
    """One of 50,000 networks, so that parallel tests do not share addresses."""
    number = int.from_bytes(hashlib.blake2b(os.fsencode(path), digest_size=4).digest(), "big")
    return f"127.{16 + number % 200}.{number // 200 % 256}.0/24"


class AgentWorld:
    def __init__(self, path: Path, nodes: tuple[Document, ...] = (node(),), runtime: str = "process") -> None:
        self.folder = ClusterFolder(path)
        self.cluster = FakeCluster()
        self.tokens: TokenSource = SharedToken("secret")
        self._settings = ClusterSettings(
            name="test",
            address="127.0.0.1",
            port=1,
            runtime=runtime,
            pod_network=_network(path),
            nodes=nodes,
        )
        self.folder.settings.write_bytes(msgspec.json.encode(self._settings))
        self._stopped: asyncio.Event | None = None
        self._agent: asyncio.Task[None] | None = None

    async def start_agent(self) -> None:
        self._stopped = asyncio.Event()
        agent = Agent(self.folder, AgentApi(self.cluster, "https://127.0.0.1:16443", self.tokens))
        self._agent = asyncio.create_task(agent.run(self._stopped))

    async def stop_agent(self) -> None:
        if self._agent is not None and self._stopped is not None:
            self._stopped.set()
            await self._agent

    async def run_pod(self, name: str, script: str = "", **spec: Any) -> str:
        """Creates a bound pod with one container that runs a shell script, unless the spec says otherwise."""
        containers = [{"name": "main", "image": "any", "command": ["sh", "-c", script]}]
        return await self.create_pod(name, {"containers": containers, "restartPolicy": "Never", **spec})

    async def create_pod(self, name: str, spec: Mapping[str, Any], namespace: str = "default", **meta: Any) -> str:
        body = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, **meta},
            "spec": {"nodeName": NODE, **spec},
            "status": {"phase": "Pending"},
        }
        made = await self.cluster.create(Ref(PODS, namespace), body)
        return str(msgspec.json.decode(made)["metadata"]["uid"])

    async def phase(self, name: str, *phases: str) -> Document:
        """Waits until the pod is in one of these phases."""
        await self.cluster.until(lambda: self.cluster.pod(name)["status"]["phase"] in phases)
        return self.cluster.pod(name)

    async def delete(self, name: str, grace: int | None = None) -> None:
        await self.cluster.delete(Ref(PODS, "default", name), grace=grace)

    async def gone(self, name: str) -> None:
        await self.cluster.until(lambda: (PODS.key, "default", name) not in self.cluster.objects)

    async def log(self, uid: str, container: str = "main", **options: Any) -> str:
        pieces = container_logs.read(self.folder.pods, uid, container, LogOptions(**options))
        return b"".join([piece async for piece in pieces]).decode()

    async def logged(self, uid: str, text: str, container: str = "main") -> str:
        """Waits until the log contains this text."""
        async for _ in _ticks():
            with contextlib.suppress(container_logs.NoLog):
                log = await self.log(uid, container)
                if text in log:
                    return log
        raise AssertionError("unreachable")


async def _ticks() -> AsyncIterator[None]:
    async with asyncio.timeout(90.0):
        while True:
            yield
            await asyncio.sleep(0.02)


def state(pod: Document, container: str = "main") -> Document:
    statuses = [*pod["status"]["containerStatuses"], *pod["status"].get("initContainerStatuses", [])]
    found: Document = next(one for one in statuses if one["name"] == container)
    return found


def run_scenario(path: Path, scenario: Callable[[AgentWorld], Awaitable[None]], **world: Any) -> None:
    """Plays one scenario on a machine of its own; at its end all pods have ended."""

    async def whole() -> None:
        stage = AgentWorld(path, **world)
        await stage.start_agent()
        try:
            await scenario(stage)
        finally:
            for _, namespace, name in [key for key in stage.cluster.objects if key[0] == PODS.key]:
                stage.cluster.reachable = True
                await stage.cluster.erase(Ref(PODS, namespace, name))
            async for _ in _ticks():
                if not any(stage.folder.pods.iterdir()):
                    break
            await stage.stop_agent()

    asyncio.run(whole())
