"""The number of replicas as an object of its own."""

import asyncio
from pathlib import Path
from typing import Any

from tests.embedded.server.in_process_server import Server, server

DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
SCALE = f"{DEPLOYMENTS}/web/scale"


def deployment(**spec: Any) -> dict[str, Any]:
    labels = {"app": "web"}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "x"}]}}
    selector = {"matchLabels": labels, "matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]}
    return {"metadata": {"name": "web"}, "spec": {"replicas": 3, "selector": selector, "template": pod, **spec}}


async def made(ask: Server) -> None:
    await ask.post(DEPLOYMENTS, deployment())


def test_it_tells_the_replicas_and_the_selector_as_text(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await made(ask)
            scale = await ask.get(SCALE)
            assert (scale["kind"], scale["apiVersion"], scale["spec"]) == ("Scale", "autoscaling/v1", {"replicas": 3})
            assert scale["status"] == {"replicas": 0, "selector": "app=web,!tier"}

    asyncio.run(scenario())


def test_a_put_and_a_patch_change_the_replicas_and_nothing_else(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await made(ask)
            before = await ask.get(f"{DEPLOYMENTS}/web")
            answer = await ask.put(SCALE, {**await ask.get(SCALE), "spec": {"replicas": 5}})
            assert answer["spec"] == {"replicas": 5}
            await ask.patch(SCALE, {"spec": {"replicas": 0}})
            after = await ask.get(f"{DEPLOYMENTS}/web")
            assert after["spec"] == {**before["spec"], "replicas": 0}
            assert after["metadata"]["generation"] == 3

    asyncio.run(scenario())


def test_an_old_scale_is_a_conflict(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await made(ask)
            old = await ask.get(SCALE)
            await ask.patch(SCALE, {"spec": {"replicas": 1}})
            await ask.refused(409, "Conflict", "PUT", SCALE, old)

    asyncio.run(scenario())


def test_what_makes_no_sense_is_refused(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await made(ask)
            await ask.refused(422, "Invalid", "PUT", SCALE, {"spec": {"replicas": -1}})
            await ask.refused(400, "BadRequest", "PUT", SCALE, {"spec": {"replicas": "many"}})
            await ask.refused(404, "NotFound", "GET", f"{DEPLOYMENTS}/none/scale")
            await ask.refused(415, "UnsupportedMediaType", "PATCH", SCALE, {}, content_type="text/plain")

    asyncio.run(scenario())
