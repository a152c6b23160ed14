"""Kinds without an effect are stored as they are, and every write says that they do nothing."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.embedded.server.in_process_server import MERGE, server
from understudy.embedded.api.stored_only import STORED_ONLY
from understudy.embedded.schema.served_resource import ServedResource

EXTRAS: dict[str, dict[str, Any]] = {
    "StorageClass": {"provisioner": "example.com/disk"},
    "RuntimeClass": {"handler": "nvidia"},
    "PodTemplate": {"template": {"spec": {"containers": [{"name": "main", "image": "busybox"}]}}},
}


@pytest.mark.parametrize("served", STORED_ONLY, ids=lambda served: served.resource.kind)
def test_it_is_stored_with_a_warning(tmp_path: Path, served: ServedResource) -> None:
    resource = served.resource
    extra = EXTRAS.get(resource.kind, {})
    body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": "any"}, **extra}

    async def scenario() -> None:
        async with server(tmp_path) as ask:
            place = resource.path("default" if resource.namespaced else "")
            made = await ask("POST", place, body)
            assert made.code == 201, made.body
            [warning] = made.warnings
            assert f"{resource.kind} has no effect on an embedded cluster" in warning
            patched = await ask("PATCH", f"{place}/any", {"metadata": {"labels": {"a": "b"}}}, content_type=MERGE)
            assert patched.warnings == made.warnings
            read = await ask("GET", f"{place}/any")
            assert read.warnings == []
            assert {key: read.json[key] for key in extra} == extra

    asyncio.run(scenario())


def test_a_spec_is_kept_whole(tmp_path: Path) -> None:
    spec = {"rules": [{"host": "web.example.com", "http": {"paths": [{"path": "/", "pathType": "Prefix"}]}}]}

    async def scenario() -> None:
        async with server(tmp_path) as ask:
            place = "/apis/networking.k8s.io/v1/namespaces/default/ingresses"
            await ask.post(place, {"metadata": {"name": "web"}, "spec": spec})
            assert (await ask.get(f"{place}/web"))["spec"] == spec

    asyncio.run(scenario())
