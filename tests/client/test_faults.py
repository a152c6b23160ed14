"""The client in conversations that go wrong: every fault of the proxy, and what is left of it in the end."""

import asyncio
import json
import random
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.client.faulty_proxy import BlackHole, CutAnswer, Delay, Fault, FaultyProxy, HangUp, LoseAnswer, Say
from tests.client.scripted_server import Reply, Request, Server, serving
from tests.client.test_reflector import Watcher
from tests.client.tiny_api import TinyApi
from understudy.client import Config, KubeClient, connect
from understudy.client.kubeconfig import read_kubeconfig
from understudy.objects.resources import PODS
from understudy.ports import PodBinding, Ref, Refused, Unreachable

POD = Ref(PODS, "team", "worker-0")
SEATINGS = [PodBinding(f"worker-{n}", f"u-{n}", "a") for n in range(16)]


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("understudy.client.retry.FIRST_PAUSE", 0.001)
    monkeypatch.setattr("understudy.client.retry.LONGEST_RETRY_AFTER", 0.01)
    monkeypatch.setattr("understudy.client.reflector.FIRST_PAUSE", 0.001)
    monkeypatch.setattr("understudy.client.reflector.LONGEST_PAUSE", 0.02)


class Pods:
    """Pods that can be bound once, and read."""

    def __init__(self) -> None:
        self.nodes: dict[str, str] = {}

    async def __call__(self, request: Request, reply: Reply) -> None:
        name = request.path.split("/")[6]
        if request.method == "GET":
            uid = name.replace("worker-", "u-")
            await reply.json({"metadata": {"uid": uid}, "spec": {"nodeName": self.nodes.get(name, "")}})
        elif name in self.nodes:
            await reply.refuse(409, "Conflict", "already assigned")
        else:
            self.nodes[name] = json.loads(request.body)["target"]["name"]
            await reply.json({"kind": "Status"}, 201)


def through(use: Callable[[KubeClient, FaultyProxy, Server], Awaitable[None]], timeout: float = 10.0) -> Pods:
    async def run() -> Pods:
        pods = Pods()
        async with (
            serving(pods) as server,
            FaultyProxy(server.config(timeout=timeout)) as proxy,
            KubeClient(proxy.config, random.Random(0)) as client,
        ):
            await use(client, proxy, server)
        return pods

    return asyncio.run(run())


@pytest.mark.parametrize(
    "fault",
    [Say(503), Say(500), Say(429, retry_after=1), HangUp(), LoseAnswer(), CutAnswer(20), CutAnswer(120), Delay(0.01)],
    ids=str,
)
def test_a_gang_is_seated_whatever_becomes_of_a_third_of_the_requests(fault: Fault) -> None:
    async def use(client: KubeClient, proxy: FaultyProxy, _: Server) -> None:
        rules = [proxy.rule(fault, "POST", rf"worker-{n}/binding", times=2) for n in range(0, 16, 3)]
        await client.bind("team", SEATINGS)
        assert all(rule.struck for rule in rules)

    assert through(use).nodes == {seating.pod: "a" for seating in SEATINGS}


def test_a_server_in_trouble_for_longer_than_we_wait_is_told_as_it_is() -> None:
    async def use(client: KubeClient, proxy: FaultyProxy, server: Server) -> None:
        rule = proxy.rule(Say(503))
        with pytest.raises(Unreachable, match="503: the proxy says no"):
            await client.get(POD)
        assert server.requests == []
        rule.stop()
        await client.get(POD)

    through(use)


def test_a_request_that_vanishes_is_given_up_in_time() -> None:
    async def use(client: KubeClient, proxy: FaultyProxy, _: Server) -> None:
        proxy.rule(BlackHole(), "GET", times=1)
        assert await client.get(POD)  # the second attempt

    through(use, timeout=0.3)


def test_idle_connections_that_die_cost_nothing() -> None:
    async def use(client: KubeClient, proxy: FaultyProxy, _: Server) -> None:
        await client.bind("team", SEATINGS[:8])
        proxy.cut()
        await client.bind("team", SEATINGS[8:])

    assert len(through(use).nodes) == 16


def test_what_would_be_done_twice_is_left_to_the_caller() -> None:
    async def use(client: KubeClient, proxy: FaultyProxy, server: Server) -> None:
        proxy.rule(LoseAnswer(), "POST")
        with pytest.raises(Unreachable, match="lost"):
            await client.create(POD, {"target": {"name": "a"}})
        assert len(server.requests) == 1

    through(use)


def test_a_server_that_is_gone_is_as_gone_behind_the_proxy() -> None:
    async def use(client: KubeClient, _proxy: FaultyProxy, server: Server) -> None:
        await server.kill()
        with pytest.raises((Unreachable, Refused)):
            await client.get(POD)

    through(use)


def test_a_watch_survives_cuts_and_silence() -> None:
    async def run() -> None:
        api = TinyApi()
        async with (
            serving(api) as server,
            FaultyProxy(server.config(timeout=0.5, silence=0.2)) as proxy,
            KubeClient(proxy.config, random.Random(0)) as client,
        ):
            changes = client.follow(PODS)
            watcher = Watcher(changes)
            assert await watcher.next() == ["SYNCED"]
            await api.put("a", n=1)
            assert await watcher.next() == ["ADDED a 1"]
            proxy.cut()
            await api.put("b", n=2)
            assert await watcher.next() == ["ADDED b 2"]
            proxy.freeze()
            await api.put("c", n=3)
            late = asyncio.create_task(watcher.next())
            await asyncio.sleep(0.6)
            assert client.age() > 0.5
            proxy.thaw()
            assert await late == ["ADDED c 3"]
            await changes.aclose()  # type: ignore[attr-defined]

    asyncio.run(run())


def test_the_proxy_in_a_thread_and_by_a_kubeconfig(tmp_path: Path) -> None:
    async def use(config: Config) -> None:
        async with connect(config) as client:
            await client.bind("team", SEATINGS[:1])

    async def run() -> dict[str, str]:
        pods = Pods()
        async with serving(pods) as server:
            with FaultyProxy(server.config()).in_thread() as proxy:
                lost = proxy.rule(LoseAnswer(), "POST", times=1)
                await use(read_kubeconfig(proxy.kubeconfig(tmp_path / "config")))
                assert lost.struck == 1
            return pods.nodes

    assert asyncio.run(run()) == {"worker-0": "a"}
