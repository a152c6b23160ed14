"""Claims get a folder at once."""

from pathlib import Path
from typing import Any

from tests.embedded.controllers.controller_runner import ControllerParts, run_scenario, running_controllers
from tests.embedded.controllers.fake_cluster import FakeCluster, quiet
from tests.objects.documents import Document, metadata, pod
from understudy.embedded.controllers.pv_binder import PersistentVolumeBinder
from understudy.embedded.controllers.runtime.controller import Controller
from understudy.objects.resources import CLAIMS, PODS, VOLUMES
from understudy.ports import Ref


def claims(parts: ControllerParts) -> Controller:
    return PersistentVolumeBinder(parts.cluster, parts.clock, Path("/clusters/default/volumes"))


def claim(name: str = "data", **spec: Any) -> Document:
    spec = {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "10Gi"}}, **spec}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata(name), "spec": spec, "status": {}}


def test_a_claim_is_bound_to_a_volume_that_is_its_folder() -> None:
    async def scenario(api: FakeCluster) -> None:
        async with running_controllers(api, claims):
            uid = api.put(CLAIMS, claim())["metadata"]["uid"]
            await quiet()
            bound = api.read(CLAIMS, "data")
            assert bound["spec"]["volumeName"] == f"pvc-{uid}"
            assert bound["status"] == {
                "phase": "Bound",
                "accessModes": ["ReadWriteMany"],
                "capacity": {"storage": "10Gi"},
            }
            volume = api.read(VOLUMES, f"pvc-{uid}")
            assert volume["spec"]["hostPath"]["path"] == "/clusters/default/volumes/default/data"
            assert volume["spec"]["claimRef"]["uid"] == uid
            assert volume["status"]["phase"] == "Bound"

    run_scenario(scenario)


def test_a_claim_that_names_its_volume_keeps_it() -> None:
    async def scenario(api: FakeCluster) -> None:
        async with running_controllers(api, claims):
            api.put(CLAIMS, claim(volumeName="mine"))
            await quiet()
            assert api.read(CLAIMS, "data")["status"]["phase"] == "Bound"
            assert api.names(VOLUMES) == []

    run_scenario(scenario)


def test_killed_half_way_the_binding_is_finished() -> None:
    async def scenario(api: FakeCluster) -> None:
        api.put(CLAIMS, claim())
        left = 0

        def fault(*_: object) -> str:
            nonlocal left
            left -= 1
            return "before" if left < 0 else ""

        api.fault = fault
        for writes in range(6):
            left = writes
            async with running_controllers(api, claims):
                await quiet()
        assert api.read(CLAIMS, "data")["status"]["phase"] == "Bound"
        assert len(api.names(VOLUMES)) == 1

    run_scenario(scenario)


def test_the_volume_of_a_deleted_claim_goes() -> None:
    async def scenario(api: FakeCluster) -> None:
        async with running_controllers(api, claims) as parts:
            api.put(CLAIMS, claim())
            await quiet()
            await parts.cluster.delete(Ref(CLAIMS, "default", "data"))
            await quiet()
            assert api.names(VOLUMES) == []

    run_scenario(scenario)


def test_a_pod_with_an_ephemeral_volume_gets_a_claim_of_its_own() -> None:
    async def scenario(api: FakeCluster) -> None:
        async with running_controllers(api, claims):
            template = {"metadata": {"labels": {"x": "y"}}, "spec": claim()["spec"]}
            volumes = [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}]
            api.put(PODS, pod("p", volumes=volumes))
            await quiet()
            made = api.read(CLAIMS, "p-scratch")
            assert made["metadata"]["ownerReferences"][0]["name"] == "p"
            assert made["metadata"]["labels"] == {"x": "y"}
            assert made["status"]["phase"] == "Bound"

    run_scenario(scenario)
