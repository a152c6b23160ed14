"""A kind whose versions have different schemas: each object keeps the version it was created in."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.embedded.server.in_process_server import APPLY, MERGE, Server, server
from tests.kinds.children.mpijob.documents import VERSIONS, mpijob
from understudy.embedded.manifests.definitions import bundled_definitions

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def path(version: str, name: str = "") -> str:
    return f"/apis/kubeflow.org/{version}/namespaces/default/mpijobs" + (f"/{name}" if name else "")


def named(version: str, **spec: Any) -> Any:
    document = mpijob(version, **spec)
    return {**document, "metadata": {"name": f"of-{version}"}}


async def begin(ask: Server) -> None:
    await ask.post(DEFINITIONS, yaml.safe_load(bundled_definitions()["mpijobs.kubeflow.org"]))
    for version in VERSIONS:
        await ask.post(f"{path(version)}?fieldValidation=Strict", named(version))


def test_whatever_version_is_asked_for(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await begin(ask)
            for asked in VERSIONS:
                listed = (await ask.get(path(asked)))["items"]
                assert {one["metadata"]["name"]: one["apiVersion"] for one in listed} == {
                    f"of-{version}": f"kubeflow.org/{version}" for version in VERSIONS
                }
                one = await ask.get(path(asked, "of-v1alpha1"))
                assert (one["apiVersion"], one["spec"]["replicas"]) == ("kubeflow.org/v1alpha1", 2)

    asyncio.run(scenario())


def test_a_change_is_held_against_the_version_of_the_object(tmp_path: Path) -> None:
    """Through the path of another, too, as clients take it that know one version only."""

    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await begin(ask)
            strange = f"{path('v2beta1', 'of-v1alpha1')}?fieldValidation=Strict"
            changed = await ask.patch(strange, {"spec": {"replicas": 3}}, MERGE)
            assert (changed["apiVersion"], changed["spec"]["replicas"]) == ("kubeflow.org/v1alpha1", 3)
            await ask.refused(422, "Invalid", "PATCH", strange, {"spec": {"replicas": 0}}, content_type=MERGE)
            said = await ask.refused(
                400, "BadRequest", "PATCH", strange, {"spec": {"mpiReplicaSpecs": {}}}, content_type=MERGE
            )
            assert 'unknown field "spec.mpiReplicaSpecs"' in said["message"]
            status = await ask.patch(f"{path('v1', 'of-v1alpha1')}/status", {"status": {"workerReplicas": 1}}, MERGE)
            assert (status["apiVersion"], status["status"]) == ("kubeflow.org/v1alpha1", {"workerReplicas": 1})

    asyncio.run(scenario())


def test_every_version_prints_its_state(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await begin(ask)
            running = {"conditions": [{"type": "Running", "status": "True"}]}
            for version in VERSIONS:
                status = {"launcherStatus": "Active"} if version == "v1alpha1" else running
                await ask.patch(f"{path(version, f'of-{version}')}/status", {"status": status}, MERGE)
            shown = await ask.get(path("v2beta1"), accept="application/json;as=Table;v=v1;g=meta.k8s.io")
            assert [column["name"] for column in shown["columnDefinitions"]] == ["Name", "Age", "State"]
            states = {row["cells"][0]: row["cells"][2] for row in shown["rows"]}
            assert states == {"of-v1alpha1": "Active", "of-v1": "Running", "of-v2beta1": "Running"}

    asyncio.run(scenario())


@pytest.mark.parametrize("way", ["PATCH", "PUT"])
def test_the_version_of_an_object_does_not_change(tmp_path: Path, way: str) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await begin(ask)
            made = await ask.get(path("v1", "of-v1"))
            body = {**made, "apiVersion": "kubeflow.org/v2beta1"}
            given = {"content_type": MERGE} if way == "PATCH" else {}
            said = await ask.refused(422, "Invalid", way, path("v2beta1", "of-v1"), body, **given)
            assert "it was made in kubeflow.org/v1, and stays in it" in said["message"]

    asyncio.run(scenario())


def test_an_object_without_a_version_is_none_of_them(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await begin(ask)
            body = {key: value for key, value in named("v1").items() if key != "apiVersion"}
            said = await ask.refused(400, "BadRequest", "POST", path("v1"), body)
            assert "apiVersion is missing: a MPIJob is one of kubeflow.org/v2beta1" in said["message"]

    asyncio.run(scenario())


@pytest.mark.parametrize("version", VERSIONS)
def test_applied_again_nothing_changes(tmp_path: Path, version: str) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await begin(ask)
            body = {**named(version), "metadata": {"name": "applied"}}
            where = f"{path(version, 'applied')}?fieldManager=me"
            first = await ask.patch(where, body, APPLY)
            assert first["apiVersion"] == f"kubeflow.org/{version}"
            assert (await ask.patch(where, body, APPLY))["metadata"]["generation"] == 1

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("version", "wrong", "field"),
    [
        ("v1alpha1", {"mpiReplicaSpecs": {}}, "spec.mpiReplicaSpecs"),
        ("v1alpha1", {"cleanPodPolicy": "Some"}, "spec.cleanPodPolicy"),
        ("v1", {"launcherCreationPolicy": "AtStartup"}, "spec.launcherCreationPolicy"),
        ("v1", {"slotsPerWorker": 0}, "spec.slotsPerWorker"),
        ("v2beta1", {"mpiImplementation": "LAM"}, "spec.mpiImplementation"),
        ("v2beta1", {"template": {}}, "spec.template"),
        ("v2beta1", {"backoffLimit": -1}, "spec.runPolicy.backoffLimit"),
    ],
)
def test_each_version_has_its_own_schema(tmp_path: Path, version: str, wrong: dict[str, Any], field: str) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await begin(ask)
            body = {**named(version, **wrong), "metadata": {"name": "wrong"}}
            answer = await ask("POST", f"{path(version)}?fieldValidation=Strict", body)
            assert answer.code in (400, 422)
            assert field in answer.body.decode()

    asyncio.run(scenario())


@pytest.mark.parametrize("version", ["v1", "v2beta1"])
def test_one_launcher(tmp_path: Path, version: str) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await begin(ask)
            body = {**named(version), "metadata": {"name": "wrong"}}
            body["spec"]["mpiReplicaSpecs"]["Launcher"]["replicas"] = 2
            said = await ask.refused(422, "Invalid", "POST", path(version), body)
            assert said["details"]["causes"][0]["field"] == "spec.mpiReplicaSpecs.Launcher.replicas"

    asyncio.run(scenario())
