"""Every namespace has a service account for pods that name none."""

from tests.embedded.controllers.controller_runner import ControllerParts, run_scenario, running_controllers
from tests.embedded.controllers.fake_cluster import FakeCluster, quiet
from tests.objects.documents import Document, metadata
from understudy.embedded.controllers.runtime.controller import Controller
from understudy.embedded.controllers.service_accounts import ServiceAccountController
from understudy.objects.resources import NAMESPACES, SERVICE_ACCOUNTS


def accounts(parts: ControllerParts) -> Controller:
    return ServiceAccountController(parts.cluster, parts.clock)


def namespace(name: str, **meta: str) -> Document:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {**metadata(name, **meta), "namespace": ""}}


def test_the_default_account_is_made_and_comes_back() -> None:
    async def scenario(api: FakeCluster) -> None:
        async with running_controllers(api, accounts):
            api.put(NAMESPACES, namespace("team"))
            await quiet()
            assert api.read(SERVICE_ACCOUNTS, "default", "team")["kind"] == "ServiceAccount"
            api.remove(SERVICE_ACCOUNTS, "default", "team")
            await quiet()
            assert api.read(SERVICE_ACCOUNTS, "default", "team")

    run_scenario(scenario)


def test_a_namespace_that_is_leaving_gets_none() -> None:
    async def scenario(api: FakeCluster) -> None:
        async with running_controllers(api, accounts):
            api.put(NAMESPACES, namespace("team", deletionTimestamp="2026-01-01T00:00:00Z"))
            await quiet()
            assert api.names(SERVICE_ACCOUNTS, "team") == []

    run_scenario(scenario)
