"""metrics.k8s.io, as kubectl top reads it: the usage that the agent reports, by pod and by node."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from http import HTTPStatus
from pathlib import Path

from tests.embedded.server.in_process_server import PODS, Server, pod, server
from understudy.embedded import agent_protocol
from understudy.embedded.agent_protocol import ContainerUsage, UsageReport

METRICS = "/apis/metrics.k8s.io/v1beta1"


@contextlib.asynccontextmanager
async def agent(ask: Server, report: UsageReport) -> AsyncIterator[None]:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await agent_protocol.read_frame(reader)
        await agent_protocol.write_frame(writer, agent_protocol.CONTROL, b'{"type":"accepted"}')
        await agent_protocol.send_usage(writer, report)
        writer.close()

    with agent_protocol.socket_address(ask.state.folder.agent_socket) as where:
        listening = await asyncio.start_unix_server(answer, where)
    async with listening:
        yield


async def uid_of_new_pod(ask: Server, name: str, node: str) -> str:
    made = await ask.post(PODS, pod(name, labels={"app": name}, nodeName=node))
    return str(made["metadata"]["uid"])


@contextlib.asynccontextmanager
async def two_pods(path: Path) -> AsyncIterator[Server]:
    async with server(path) as ask:
        for node in ("node-a", "node-b"):
            await ask.post("/api/v1/nodes", {"metadata": {"name": node}})
        one, two = await uid_of_new_pod(ask, "one", "node-a"), await uid_of_new_pod(ask, "two", "node-a")
        await ask.post(PODS, pod("waits"))
        used = [ContainerUsage(one, "main", 250_000_000, 64 << 20), ContainerUsage(two, "main", 5_000_000, 1 << 20)]
        async with agent(ask, UsageReport(15.0, used)):
            yield ask


def test_pods_that_run_have_metrics(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with two_pods(tmp_path) as ask:
            listed = await ask.get(f"{METRICS}/namespaces/default/pods")
            assert (listed["kind"], listed["apiVersion"]) == ("PodMetricsList", "metrics.k8s.io/v1beta1")
            assert [item["metadata"]["name"] for item in listed["items"]] == ["one", "two"]
            [container] = listed["items"][0]["containers"]
            assert container == {"name": "main", "usage": {"cpu": "250000000n", "memory": "65536Ki"}}
            assert listed["items"][0]["window"] == "15.000s"
            chosen = await ask.get(f"{METRICS}/pods?labelSelector=app%3Dtwo")
            assert [item["metadata"]["name"] for item in chosen["items"]] == ["two"]
            assert (await ask.get(f"{METRICS}/namespaces/default/pods/two"))["metadata"]["labels"] == {"app": "two"}
            await ask.refused(404, "NotFound", "GET", f"{METRICS}/namespaces/default/pods/waits")

    asyncio.run(scenario())


def test_a_node_uses_what_its_pods_use(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with two_pods(tmp_path) as ask:
            listed = await ask.get(f"{METRICS}/nodes")
            assert {item["metadata"]["name"]: item["usage"] for item in listed["items"]} == {
                "node-a": {"cpu": "255000000n", "memory": "66560Ki"},
                "node-b": {"cpu": "0n", "memory": "0Ki"},
            }

    asyncio.run(scenario())


def test_clients_find_the_group_and_nothing_can_be_written(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with two_pods(tmp_path) as ask:
            groups = await ask.get("/apis")
            assert "metrics.k8s.io" in [group["name"] for group in groups["groups"]]
            kinds = {entry["kind"]: entry["verbs"] for entry in (await ask.get(METRICS))["resources"]}
            assert kinds == {"NodeMetrics": ["get", "list"], "PodMetrics": ["get", "list"]}
            for method in ("POST", "DELETE"):
                await ask.refused(405, "MethodNotAllowed", method, f"{METRICS}/nodes", {})
            await ask.refused(405, "MethodNotAllowed", "GET", f"{METRICS}/nodes?watch=true")
            await ask.refused(404, "NotFound", "GET", f"{METRICS}/services")

    asyncio.run(scenario())


def test_without_an_agent_the_client_is_asked_to_come_back(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            answer = await ask("GET", f"{METRICS}/nodes")
            assert answer.code == HTTPStatus.SERVICE_UNAVAILABLE
            assert "the agent cannot be reached" in answer.json["message"]

    asyncio.run(scenario())
