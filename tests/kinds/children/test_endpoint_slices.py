"""EndpointSlices have the addresses of Endpoints, in pieces."""

from typing import Any

from tests.kinds.children.world import World
from tests.objects.documents import Document, metadata
from understudy.kinds.children.endpoint_slices import MOST_ENDPOINTS, SERVICE_NAME
from understudy.objects.resources import ENDPOINT_SLICES


def addresses(count: int, first: int = 0) -> list[Document]:
    return [{"ip": f"10.0.{number // 250}.{number % 250 + 1}"} for number in range(first, first + count)]


def endpoints(*subsets: Document, **meta: Any) -> World:
    given = metadata("web", **meta)
    return World({"apiVersion": "v1", "kind": "Endpoints", "metadata": given, "subsets": list(subsets)})


def slices(world: World) -> list[Document]:
    return list(world.children[ENDPOINT_SLICES.key].values())


def test_a_service_without_pods_has_an_empty_slice() -> None:
    world = endpoints()
    world.look()
    [made] = slices(world)
    assert (made["endpoints"], made["addressType"]) == ([], "IPv4")
    assert made["metadata"]["labels"][SERVICE_NAME] == "web"
    assert made["metadata"]["ownerReferences"][0]["kind"] == "Endpoints"


def test_addresses_keep_what_is_known_about_them() -> None:
    target = {"kind": "Pod", "name": "web-0"}
    ready = {"ip": "10.0.0.1", "nodeName": "a", "hostname": "web-0", "targetRef": target}
    ports = [{"port": 80, "name": "http"}]
    world = endpoints({"addresses": [ready], "notReadyAddresses": [{"ip": "10.0.0.2"}], "ports": ports})
    world.look()
    [made] = slices(world)
    first, second = made["endpoints"]
    assert first == {
        "addresses": ["10.0.0.1"],
        "conditions": {"ready": True, "serving": True, "terminating": False},
        "hostname": "web-0",
        "nodeName": "a",
        "targetRef": target,
    }
    assert second["conditions"]["ready"] is False
    assert made["ports"] == [{"name": "http", "port": 80, "protocol": "TCP"}]


def test_many_addresses_are_several_slices_and_only_those_that_change_are_written() -> None:
    world = endpoints({"addresses": addresses(2 * MOST_ENDPOINTS + 1), "ports": []})
    world.look()
    assert [len(each["endpoints"]) for each in slices(world)] == [MOST_ENDPOINTS, MOST_ENDPOINTS, 1]
    world.parent["subsets"][0]["addresses"].append({"ip": "10.9.9.9"})
    wanted = world.wanted()
    assert (len(wanted.patches), wanted.creates, wanted.deletes) == (1, (), ())
    world.parent["subsets"][0]["addresses"] = addresses(3)
    world.look()
    assert [len(each["endpoints"]) for each in slices(world)] == [3]


def test_endpoints_that_ask_for_it_have_no_slices() -> None:
    world = endpoints({"addresses": addresses(1)}, labels={"endpointslice.kubernetes.io/skip-mirror": "true"})
    world.look()
    assert slices(world) == []
