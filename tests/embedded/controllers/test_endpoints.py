"""Who answers for a Service."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tests.embedded.controllers.controller_runner import ControllerParts, run_scenario, running_controllers
from tests.embedded.controllers.fake_cluster import FakeCluster, quiet
from tests.objects.documents import Document, container, metadata, pod
from understudy.embedded import label_index
from understudy.embedded.controllers import endpoints as endpoints_module
from understudy.embedded.controllers.endpoints import EndpointsController, Service, subsets_of
from understudy.embedded.controllers.runtime.controller import Controller
from understudy.embedded.controllers.runtime.object_version import ObservedPod
from understudy.embedded.label_index import matches
from understudy.objects.resources import ENDPOINTS, PODS, SERVICES

READY = [{"type": "Ready", "status": "True"}]


def endpoints(parts: ControllerParts) -> Controller:
    return EndpointsController(parts.cluster, parts.clock)


def service(name: str = "web", **spec: Any) -> Document:
    spec.setdefault("selector", {"app": "web"})
    spec.setdefault("ports", [{"name": "http", "port": 80, "targetPort": "http"}])
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata(name), "spec": spec}


def answering(name: str, ip: str, ready: bool = True, **spec: Any) -> Document:
    status = {"podIP": ip, "conditions": READY if ready else []}
    ports = [{"name": "http", "containerPort": 8080}]
    containers = [container(ports=ports)]
    return pod(name, "a", {"labels": {"app": "web"}}, status, containers=containers, **spec)


def subsets(api: FakeCluster, name: str = "web") -> Any:
    return api.read(ENDPOINTS, name)["subsets"]


def test_ready_pods_are_addresses_and_the_others_wait() -> None:
    async def scenario(api: FakeCluster) -> None:
        async with running_controllers(api, endpoints):
            api.put(PODS, answering("up", "127.0.0.2"))
            api.put(PODS, answering("starting", "127.0.0.3", ready=False))
            api.put(PODS, pod("stranger", "a", status={"podIP": "127.0.0.4"}))
            api.put(SERVICES, service())
            await quiet()
            (subset,) = subsets(api)
            assert [a["ip"] for a in subset["addresses"]] == ["127.0.0.2"]
            assert subset["addresses"][0]["targetRef"]["name"] == "up"
            assert [a["ip"] for a in subset["notReadyAddresses"]] == ["127.0.0.3"]
            assert subset["ports"] == [{"name": "http", "port": 8080, "protocol": "TCP"}]

    run_scenario(scenario)


def test_pods_that_come_and_go_are_followed() -> None:
    async def scenario(api: FakeCluster) -> None:
        async with running_controllers(api, endpoints):
            api.put(SERVICES, service())
            await quiet()
            assert subsets(api) == []
            api.put(PODS, answering("up", "127.0.0.2"))
            await api.clock.advance(1)
            assert subsets(api)[0]["addresses"][0]["ip"] == "127.0.0.2"
            api.change(PODS, "up", {"metadata": {"labels": {"app": "other"}}})
            await api.clock.advance(1)
            assert subsets(api) == []

    run_scenario(scenario)


def test_a_headless_service_names_its_pods_even_before_they_are_ready() -> None:
    async def scenario(api: FakeCluster) -> None:
        async with running_controllers(api, endpoints):
            api.put(SERVICES, service(clusterIP="None", publishNotReadyAddresses=True, ports=[]))
            api.put(PODS, answering("p", "127.0.0.2", ready=False, hostname="p-0", subdomain="web"))
            await api.clock.advance(1)
            (subset,) = subsets(api)
            assert subset["addresses"][0]["hostname"] == "p-0"
            assert "ports" not in subset

    run_scenario(scenario)


def test_the_endpoints_of_a_deleted_service_go_with_it() -> None:
    async def scenario(api: FakeCluster) -> None:
        async with running_controllers(api, endpoints):
            api.put(SERVICES, service())
            await quiet()
            api.remove(SERVICES, "web")
            await quiet()
            assert api.names(ENDPOINTS) == []

    run_scenario(scenario)


def test_a_service_without_selector_is_left_to_its_owner() -> None:
    async def scenario(api: FakeCluster) -> None:
        async with running_controllers(api, endpoints):
            api.put(SERVICES, service(selector={}))
            own = {"apiVersion": "v1", "kind": "Endpoints", "metadata": metadata("web"), "subsets": [{"x": 1}]}
            api.put(ENDPOINTS, own)
            await quiet()
            assert subsets(api) == [{"x": 1}]
            api.remove(SERVICES, "web")
            await quiet()
            assert api.names(ENDPOINTS) == ["web"]

    run_scenario(scenario)


def test_an_event_of_a_pod_is_no_work_for_services_of_other_pods(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(api: FakeCluster) -> None:
        async with running_controllers(api, endpoints):
            for number in range(300):
                api.put(SERVICES, service(f"web-{number}", selector={"app": f"app-{number}", "tier": "web"}))
            api.put(SERVICES, service())
            await quiet()
            compared: list[Mapping[str, str]] = []

            def counted(selector: Mapping[str, str], labels: Mapping[str, str]) -> bool:
                compared.append(selector)
                return matches(selector, labels)

            monkeypatch.setattr(label_index, "matches", counted)
            api.put(PODS, answering("up", "127.0.0.2"))
            await api.clock.advance(1)
            assert subsets(api)[0]["addresses"][0]["ip"] == "127.0.0.2"
            assert len(compared) <= 10

    run_scenario(scenario)


def test_the_pods_of_a_huge_service_are_looked_at_a_few_times_while_they_come(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[int] = []

    def counted(service: Service, pods: Sequence[ObservedPod]) -> list[dict[str, Any]]:
        looks.append(len(pods))
        return subsets_of(service, pods)

    monkeypatch.setattr(endpoints_module, "subsets_of", counted)

    async def scenario(api: FakeCluster) -> None:
        async with running_controllers(api, endpoints):
            api.put(SERVICES, service())
            for number in range(500):
                api.put(PODS, answering(f"web-{number}", f"10.0.0.{number}"))
            await api.clock.advance(1)
            del looks[:]
            for number in range(200):
                api.put(PODS, answering(f"more-{number}", f"10.0.1.{number}"))
                await api.clock.advance(0.005)
            await api.clock.advance(1)
            assert len(subsets(api)[0]["addresses"]) == 700
            assert len(looks) <= 24  # 40 with a batch each 50 ms: each write is looked at, too

    run_scenario(scenario)
