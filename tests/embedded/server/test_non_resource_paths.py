"""Version, health, discovery and OpenAPI."""

import asyncio
from pathlib import Path

from tests.embedded.server.in_process_server import server

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"


def test_version_and_health(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            version = await ask.get("/version")
            assert version["gitVersion"].startswith(f"v{version['major']}.{version['minor']}.")
            for path in ("/healthz", "/livez", "/readyz"):
                reply = await ask("GET", path)
                assert (reply.code, reply.body) == (200, b"ok")

    asyncio.run(scenario())


def test_discovery_old_and_new(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            core = await ask.get("/api", host="127.0.0.1:7443")
            assert core["versions"] == ["v1"]
            assert core["serverAddressByClientCIDRs"][0]["serverAddress"] == "127.0.0.1:7443"
            reply = await ask("GET", "/apis", headers={"accept": AGGREGATED})
            assert "as=APIGroupDiscoveryList" in reply.header("content-type")
            assert "batch" in {item["metadata"]["name"] for item in reply.json["items"]}
            assert (await ask.get("/apis/batch"))["preferredVersion"]["groupVersion"] == "batch/v1"
            names = {one["name"] for one in (await ask.get("/api/v1"))["resources"]}
            assert {"pods", "pods/eviction", "pods/log", "pods/exec", "namespaces/finalize", "nodes/status"} <= names

    asyncio.run(scenario())


def test_openapi(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            old = await ask(
                "GET", "/openapi/v2", headers={"accept": "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"}
            )
            assert (old.code, old.body) == (200, b"")
            assert old.header("content-type") == "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
            assert (await ask.get("/openapi/v2", accept="application/json"))["swagger"] == "2.0"
            index = await ask.get("/openapi/v3")
            place = index["paths"]["api/v1"]["serverRelativeURL"]
            assert "/api/v1/namespaces/{namespace}/pods" in (await ask.get(place))["paths"]

    asyncio.run(scenario())
