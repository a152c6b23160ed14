"""Accept headers as real clients send them, and the view each of them gets."""

import pytest

from understudy.embedded.api.negotiation import DISCOVERY_VIEWS, RESOURCE_VIEWS, View, negotiated
from understudy.embedded.schema.errors import ApiError

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
OLD_TABLE = "application/json;as=Table;v=v1beta1;g=meta.k8s.io"
PROTOBUF = "application/vnd.kubernetes.protobuf"
PARTIAL = "as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
DISCOVERY = "application/json;g=apidiscovery.k8s.io;v={};as=APIGroupDiscoveryList"


@pytest.mark.parametrize(
    ("accept", "view"),
    [
        pytest.param("", View.OBJECT, id="nothing said"),
        pytest.param("*/*", View.OBJECT, id="curl"),
        pytest.param("application/json", View.OBJECT, id="the Python clients"),
        pytest.param("application/json, */*", View.OBJECT, id="kubectl, typed"),
        pytest.param("application/json;stream=watch", View.OBJECT, id="a watch"),
        pytest.param(f"{PROTOBUF},application/json", View.OBJECT, id="kubectl 1.32 on"),
        pytest.param(f"{PROTOBUF};stream=watch, */*", View.OBJECT, id="client-go"),
        pytest.param(f"{TABLE},{OLD_TABLE},application/json", View.TABLE, id="kubectl get"),
        pytest.param(f"{OLD_TABLE},application/json", View.OBJECT, id="a table of an old version"),
        pytest.param(f"{PROTOBUF};{PARTIAL},application/json;{PARTIAL}", View.PARTIAL, id="a metadata client"),
        pytest.param(
            "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", View.PARTIAL_LIST, id="its lists"
        ),
        pytest.param(" APPLICATION/JSON ; as=Table ; v=v1 ; g=meta.k8s.io ", View.TABLE, id="spaces and capitals"),
        pytest.param(f"application/json;q=0.5,{TABLE};q=0.9", View.TABLE, id="weights"),
        pytest.param(f"application/json,{TABLE}", View.OBJECT, id="the first of equals"),
        pytest.param(f"{TABLE};q=0,application/json;q=0.1", View.OBJECT, id="not wanted at all"),
        pytest.param("application/json;q=lots", View.OBJECT, id="a weight that is none"),
    ],
)
def test_a_resource_is_shown_as_asked(accept: str, view: View) -> None:
    assert negotiated(accept, RESOURCE_VIEWS) is view


@pytest.mark.parametrize(
    ("accept", "view"),
    [
        pytest.param(
            f"{DISCOVERY.format('v2beta1')},application/json", View.DISCOVERY_V2BETA1, id="kubectl 1.27 to 1.29"
        ),
        pytest.param(
            f"{DISCOVERY.format('v2')},{DISCOVERY.format('v2beta1')},application/json", View.DISCOVERY_V2, id="1.30 on"
        ),
        pytest.param("application/json", View.OBJECT, id="older ones"),
        pytest.param(f"{DISCOVERY.format('v3')},application/json", View.OBJECT, id="one of the future"),
        pytest.param(f"{TABLE},application/json", View.OBJECT, id="a table is not on offer here"),
    ],
)
def test_discovery_comes_in_the_version_asked_for(accept: str, view: View) -> None:
    assert negotiated(accept, DISCOVERY_VIEWS) is view


@pytest.mark.parametrize("accept", ["text/html", PROTOBUF, f"{TABLE};q=0", OLD_TABLE, ";;;", "," * 10_000])
def test_what_cannot_be_written_is_refused(accept: str) -> None:
    with pytest.raises(ApiError) as refusal:
        negotiated(accept, RESOURCE_VIEWS)
    assert refusal.value.code == 406
