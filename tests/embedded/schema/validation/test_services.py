"""Services and Endpoints."""

import ipaddress
from typing import Any

import pytest

from tests.embedded.schema.forms import Refusal, changed, created, draft_of, refusal_of, updated


def service(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "web", "namespace": "default"}, "spec": {"ports": [{"port": 80}], **spec}}


def test_a_service_gets_an_address_that_stays_the_same() -> None:
    first, second = created("Service", service())["spec"], created("Service", service())["spec"]
    assert first["clusterIP"] == second["clusterIP"]
    assert ipaddress.ip_address(first["clusterIP"]) in ipaddress.ip_network("127.96.0.0/12")
    assert first["clusterIPs"] == [first["clusterIP"]]


def test_other_defaults() -> None:
    spec = created("Service", service())["spec"]
    assert spec["ports"] == [{"port": 80, "protocol": "TCP", "targetPort": 80}]
    assert (spec["type"], spec["sessionAffinity"], spec["ipFamilies"]) == ("ClusterIP", "None", ["IPv4"])


def test_headless_services_stay_headless() -> None:
    spec = created("Service", {"metadata": {"name": "web"}, "spec": {"clusterIP": "None"}})["spec"]
    assert (spec["clusterIP"], spec["clusterIPs"]) == ("None", ["None"])


WRONG: list[tuple[dict[str, Any], str]] = [
    (service(ports=[]), "spec.ports: Required value"),
    (service(ports=[{"port": 80}, {"port": 81}]), "spec.ports[0].name: Required value"),
    (
        service(ports=[{"port": 80, "name": "a"}, {"port": 80, "name": "b"}]),
        'spec.ports[1]: Duplicate value: {"protocol":"TCP","port":80}',
    ),
    (service(ports=[{"port": 0}]), "spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive"),
    (service(clusterIP="here"), 'spec.clusterIPs[0]: Invalid value: "here"'),
    (service(type="ExternalName"), "spec.externalName: Required value"),
    (service(selector={"a b": "c"}), 'spec.selector: Invalid value: "a b"'),
]


@pytest.mark.parametrize(("given", "cause"), WRONG, ids=[cause for _, cause in WRONG])
def test_what_is_wrong_is_named_with_its_field(given: dict[str, Any], cause: str) -> None:
    said = refusal_of("Service", given)
    assert said.code == 422
    assert [one for one in said.causes if one.startswith(cause)], said.causes


def test_an_update_keeps_the_address_or_is_refused() -> None:
    old = draft_of("Service", service())
    kept = updated("Service", old, service(selector={"a": "b"}))
    assert kept["spec"]["clusterIP"] == old.document()["spec"]["clusterIP"]
    with Refusal() as said:
        updated("Service", old, changed(old, "spec", "clusterIP", to="10.0.0.1"))
    assert said.causes == ['spec.clusterIPs[0]: Invalid value: ["10.0.0.1"]: may not change once set']


def test_endpoints_need_addresses() -> None:
    said = refusal_of("Endpoints", {"subsets": [{}, {"addresses": [{"ip": "x"}]}]})
    assert said.causes[0] == "subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`"
    assert said.causes[1].startswith('subsets[1].addresses[0].ip: Invalid value: "x"')
