"""HorizontalPodAutoscalers have two versions with fields of their own: clients see those of the one they ask for."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.embedded.server.in_process_server import APPLY, MERGE, STRATEGIC, server

TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
CPU = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}
MEMORY = {"type": "Resource", "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "1Gi"}}}
SLOW = {"scaleDown": {"stabilizationWindowSeconds": 60}}


def path(version: str, name: str = "") -> str:
    root = f"/apis/autoscaling/{version}/namespaces/default/horizontalpodautoscalers"
    return f"{root}/{name}" if name else root


def autoscaler(version: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": f"autoscaling/{version}",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web"},
        "spec": {"scaleTargetRef": TARGET, "maxReplicas": 5, **spec},
    }


def test_an_old_manifest_is_stored_as_a_new_one(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            made = await ask.post(path("v1"), autoscaler("v1", targetCPUUtilizationPercentage=80))
            assert (made["apiVersion"], made["spec"]["targetCPUUtilizationPercentage"]) == ("autoscaling/v1", 80)
            read = await ask.get(path("v2", "web"))
            assert (read["apiVersion"], read["spec"]["metrics"]) == ("autoscaling/v2", [CPU])
            assert "targetCPUUtilizationPercentage" not in read["spec"]
            [listed] = (await ask.get(path("v1")))["items"]
            assert listed == made

    asyncio.run(scenario())


def test_what_the_old_version_has_no_field_for_is_not_lost_in_it(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            made = await ask.post(path("v2"), autoscaler("v2", metrics=[CPU, MEMORY], behavior=SLOW))
            old = await ask.get(path("v1", "web"))
            assert old["spec"].keys() == {"scaleTargetRef", "maxReplicas", "targetCPUUtilizationPercentage"}
            old["spec"]["targetCPUUtilizationPercentage"] = 50
            await ask.put(path("v1", "web"), old)
            new = await ask.get(path("v2", "web"))
            assert new["spec"]["behavior"] == SLOW
            assert [one["resource"]["name"] for one in new["spec"]["metrics"]] == ["memory", "cpu"]
            assert new["spec"]["metrics"][1]["resource"]["target"]["averageUtilization"] == 50
            assert "annotations" not in new["metadata"]
            assert new["metadata"]["uid"] == made["metadata"]["uid"]

    asyncio.run(scenario())


@pytest.mark.parametrize("form", [MERGE, STRATEGIC])
def test_a_patch_is_about_the_version_of_its_path(tmp_path: Path, form: str) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await ask.post(path("v1"), autoscaler("v1", targetCPUUtilizationPercentage=80))
            patched = await ask.patch(path("v1", "web"), {"spec": {"targetCPUUtilizationPercentage": None}}, form)
            assert "targetCPUUtilizationPercentage" not in patched["spec"]
            assert "metrics" not in (await ask.get(path("v2", "web")))["spec"]

    asyncio.run(scenario())


def test_applied_again_nothing_changes(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            place, body = f"{path('v1', 'web')}?fieldManager=me", autoscaler("v1", targetCPUUtilizationPercentage=80)
            first = await ask.patch(place, body, APPLY)
            assert await ask.patch(place, body, APPLY) == first
            del body["spec"]["targetCPUUtilizationPercentage"]
            assert "targetCPUUtilizationPercentage" not in (await ask.patch(place, body, APPLY))["spec"]

    asyncio.run(scenario())


def test_watches_send_the_version_they_asked_for(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await ask.post(path("v2"), autoscaler("v2", metrics=[CPU]))
            async with ask.watch(path("v1")) as old:
                event = await old.next()
                assert event["object"]["apiVersion"] == "autoscaling/v1"
                assert event["object"]["spec"]["targetCPUUtilizationPercentage"] == 80

    asyncio.run(scenario())


def test_annotations_that_hold_no_metrics_are_refused(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            body = autoscaler("v1")
            body["metadata"]["annotations"] = {"autoscaling.alpha.kubernetes.io/metrics": "[{"}
            said = await ask.refused(422, "Invalid", "POST", path("v1"), body)
            assert "autoscaling.alpha.kubernetes.io/metrics" in said["message"]

    asyncio.run(scenario())
