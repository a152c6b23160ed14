"""`understudy serve` as processes, against an API server without another scheduler."""

import asyncio
import contextlib
import json
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from tests.client.scripted_server import write_kubeconfig
from tests.embedded.server.test_process import cluster, running
from tests.eventually import eventually_async
from tests.objects.documents import node, pod
from understudy.client import KubeClient, connect
from understudy.objects.resources import LEASES, NODES, PODS
from understudy.ports import Ref, Refused

# A machine that runs other tests at the same time may be slow.
SETTINGS = "kube: {leaseDuration: 4, renewDeadline: 2.5, retryPeriod: 0.2, writeTimeout: 1}\n"
LONGEST = 60.0
READY = [{"type": "Ready", "status": "True"}]
LEASE = Ref(LEASES, "default", "understudy")

# `understudy`, but its main loop hangs for good when it is told so, and is missed after two seconds.
HANGING = """
import signal, sys, time
from understudy.kube import liveness
from understudy.main import main
liveness.LONGEST_SILENCE = 2.0
signal.signal(signal.SIGUSR1, lambda *_: time.sleep(3600))
sys.exit(main())
"""


class Process:
    def __init__(self, identity: str, process: asyncio.subprocess.Process, log: Path) -> None:
        self.identity = identity
        self.process = process
        self._log = log

    @property
    def log(self) -> str:
        return self._log.read_text()

    async def page(self, path: str) -> str:
        """Status and body."""
        found = await eventually_async(lambda: port_in(self.log))
        reader, writer = await asyncio.open_connection("127.0.0.1", found)
        writer.write(f"GET {path} HTTP/1.1\r\n\r\n".encode())
        head, _, body = (await reader.read()).decode().partition("\r\n\r\n")
        writer.close()
        return f"{head.split()[1]} {body.strip()}"

    async def ended(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        return await asyncio.wait_for(self.process.wait(), LONGEST)


class World:
    def __init__(self, client: KubeClient, kubeconfig: Path, folder: Path) -> None:
        self.client = client
        self._kubeconfig = kubeconfig
        self._folder = folder
        self.processes: list[Process] = []

    async def starts(self, identity: str, program: Sequence[str] = ("-m", "understudy")) -> Process:
        settings = self._folder / "understudy.yaml"
        settings.write_text(SETTINGS)
        log = self._folder / f"{identity}.log"
        options = ["--kubeconfig", str(self._kubeconfig), "--settings", str(settings), "--listen", "127.0.0.1:0"]
        options += ["--identity", identity, "--scheduler-name", "x", "--lease-namespace", "default"]
        with log.open("wb") as file:
            process = await asyncio.create_subprocess_exec(
                sys.executable, *program, "serve", *options, stderr=file, env=dict(os.environ)
            )
        self.processes.append(Process(identity, process, log))
        return self.processes[-1]

    async def create(self, document: dict[str, Any]) -> None:
        resource = {"Node": NODES, "Pod": PODS}[document["kind"]]
        await self.client.create(Ref(resource, "default" if resource is PODS else ""), document)

    async def node_of(self, name: str) -> str:
        found: dict[str, Any] = json.loads(await self.client.get(Ref(PODS, "default", name)))
        return str(found["spec"].get("nodeName", ""))

    async def leader(self) -> str:
        try:
            return str(json.loads(await self.client.get(LEASE))["spec"].get("holderIdentity", ""))
        except Refused:
            return ""


def port_in(log: str) -> int:
    found = re.search(r"answering on 127\.0\.0\.1:(\d+)", log)
    return int(found[1]) if found else 0


@contextlib.asynccontextmanager
async def world_in(path: Path) -> AsyncIterator[World]:
    folder = cluster(path)
    server = {"server": f"https://127.0.0.1:{json.loads(folder.settings.read_text())['port']}"}
    kubeconfig = write_kubeconfig(
        path / "kubeconfig", {**server, "certificate-authority": str(folder.authority)}, {"token": "secret"}
    )
    async with running(folder), connect(kubeconfig) as client:
        world = World(client, kubeconfig, path)
        try:
            yield world
        finally:
            for each in world.processes:
                with contextlib.suppress(ProcessLookupError):
                    each.process.kill()
                await each.process.wait()


def test_when_the_leader_is_killed_the_other_goes_on_and_makes_room_when_it_is_told_to_end(tmp_path: Path) -> None:
    async def scenario(world: World) -> None:
        await world.create(node("n", conditions=READY))
        await world.create(pod("one", schedulerName="x"))
        a = await world.starts("a")
        assert await eventually_async(lambda: world.node_of("one")) == "n"
        b = await world.starts("b")
        await eventually_async(lambda: "a leads" in b.log)
        await until_says(b, "/readyz", "200 standing by")
        assert await a.page("/readyz") == "200 leading"
        assert await a.ended(signal.SIGKILL) == -signal.SIGKILL
        await world.create(pod("two", schedulerName="x"))
        await world.create(pod("others"))
        assert await eventually_async(lambda: world.node_of("two")) == "n"
        assert await world.leader() == "b"
        assert await world.node_of("others") == ""
        metrics = await b.page("/metrics")
        assert "understudy_leader 1" in metrics
        assert 'understudy_requests_total{method="POST",resource="pods/binding",code="201"} 1' in metrics
        assert await b.ended(signal.SIGTERM) == 0
        assert await world.leader() == ""
        assert "Traceback" not in a.log + b.log

    async def told() -> None:
        async with world_in(tmp_path) as world:
            await scenario(world)

    asyncio.run(told())


def test_one_whose_main_loop_hangs_says_so_and_does_not_lead_for_ever(tmp_path: Path) -> None:
    async def scenario(world: World) -> None:
        await world.create(node("n", conditions=READY))
        a = await world.starts("a", ("-c", HANGING))
        await until_says(a, "/readyz", "200 leading")
        b = await world.starts("b")
        await until_says(b, "/readyz", "200 standing by")
        a.process.send_signal(signal.SIGUSR1)
        await until_says(b, "/readyz", "200 leading")
        assert await world.leader() == "b"
        assert re.fullmatch(r"500 the main loop has shown no sign of life for \d+ s", await a.page("/healthz"))
        assert "understudy_leader 0" in await a.page("/metrics")
        await world.create(pod("one", schedulerName="x"))
        assert await eventually_async(lambda: world.node_of("one")) == "n"

    async def told() -> None:
        async with world_in(tmp_path) as world:
            await scenario(world)

    asyncio.run(told())


async def until_says(process: Process, path: str, words: str) -> None:
    async def says() -> bool:
        return await process.page(path) == words

    await eventually_async(says)
