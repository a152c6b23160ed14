"""Bodies in Kubernetes' protobuf encoding, as kubectl 1.32 and newer send them."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.embedded.server.in_process_server import CONFIG_MAPS, PODS, pod, server
from understudy.embedded.server.http.protobuf.messages import UnknownKind, decode
from understudy.embedded.server.http.protobuf.wire import Malformed

PROTOBUF = "application/vnd.kubernetes.protobuf"
# kubectl 1.33: create job j --image=busybox -- echo hi
JOB = bytes.fromhex(
    "6b3873000a0f0a0862617463682f763112034a6f621283010a120a016a12001a017822002a00320038004200126332610a100a0012001a00"
    "22002a00320038004200124d122a0a016a120762757379626f781a046563686f1a0268692a0042006a007200800100880100900100a20100"
    "1a054e65766572320042004a0052005800600068008201008a01009a0100c201001a082000280030003a001a002200"
)
# kubectl 1.33: create pdb p --selector=a=b --min-available=50%
BUDGET = bytes.fromhex(
    "6b3873000a200a09706f6c6963792f76311213506f6444697372757074696f6e42756467657412370a120a017012001a017822002a003200"
    "3800420012150a09080110001a0335302512080a060a01611201621a0a080018002000280030001a002200"
)

Fields = Mapping[int, Any]  # a field's number to a whole number, text, bytes, a message, or a list of these


def message(fields: Fields) -> bytes:
    return b"".join(_field(number, one) for number, value in fields.items() for one in _each(value))


def envelope(api_version: str, kind: str, fields: Fields) -> bytes:
    return b"k8s\x00" + message({1: {1: api_version, 2: kind}, 2: message(fields)})


def _each(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _field(number: int, value: Any) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value & (1 << 64) - 1)
    content: bytes = message(value) if isinstance(value, dict) else value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def test_what_kubectl_sends_is_read_as_its_json_would_be() -> None:
    container = {"name": "j", "image": "busybox", "command": ["echo", "hi"], "resources": {}}
    assert decode(JOB) == {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j", "namespace": "x"},
        "spec": {"template": {"metadata": {}, "spec": {"containers": [container], "restartPolicy": "Never"}}},
        "status": {},
    }
    assert decode(BUDGET)["spec"] == {"minAvailable": "50%", "selector": {"matchLabels": {"a": "b"}}}


def test_values_of_every_kind() -> None:
    spec = {
        1: [{1: "code", 2: {2: {1: ""}}}, {1: "conf", 2: {19: {1: {1: "settings"}, 3: 0o644}}}],
        2: [
            {
                1: "main",
                8: {1: [{1: "cpu", 2: {1: "500m"}}], 2: [{1: "memory", 2: {1: "1Gi"}}]},
                10: {1: {2: {1: "/", 2: {1: 0, 2: 8080}}}, 2: 5},
            }
        ],
        4: 0,
        22: [{1: "node.kubernetes.io/unreachable", 5: -1}],
    }
    meta = {1: "p", 8: {1: 1_700_000_000}, 11: [{1: "a", 2: "b"}], 14: ["x/y"]}
    document = decode(envelope("v1", "Pod", {1: meta, 2: spec}))
    assert document["metadata"] == {
        "name": "p",
        "creationTimestamp": "2023-11-14T22:13:20Z",
        "labels": {"a": "b"},
        "finalizers": ["x/y"],
    }
    assert document["spec"]["volumes"] == [
        {"name": "code", "emptyDir": {}},
        {"name": "conf", "configMap": {"name": "settings", "defaultMode": 0o644}},
    ]
    container = document["spec"]["containers"][0]
    assert container["resources"] == {"limits": {"cpu": "500m"}, "requests": {"memory": "1Gi"}}
    assert container["livenessProbe"] == {"httpGet": {"path": "/", "port": 8080}, "initialDelaySeconds": 5}
    assert document["spec"]["terminationGracePeriodSeconds"] == 0
    assert document["spec"]["tolerations"] == [{"key": "node.kubernetes.io/unreachable", "tolerationSeconds": -1}]


def test_secrets_are_base64_and_fractions_of_a_second_are_kept() -> None:
    secret = decode(envelope("v1", "Secret", {2: [{1: "key", 2: b"\x00\xff"}]}))
    assert secret["data"] == {"key": "AP8="}
    lease = decode(envelope("coordination.k8s.io/v1", "Lease", {2: {1: "me", 4: {1: 1_700_000_000, 2: 5000}}}))
    assert lease["spec"]["renewTime"] == "2023-11-14T22:13:20.000005Z"


def test_versions_of_a_kind_may_have_messages_of_their_own() -> None:
    target = {1: "Deployment", 2: "web", 3: "apps/v1"}
    reference = {"kind": "Deployment", "name": "web", "apiVersion": "apps/v1"}
    old = decode(envelope("autoscaling/v1", "HorizontalPodAutoscaler", {2: {1: target, 2: 1, 3: 5, 4: 80}}))
    sizes = {"scaleTargetRef": reference, "minReplicas": 1, "maxReplicas": 5}
    assert old["spec"] == {**sizes, "targetCPUUtilizationPercentage": 80}
    resource = {1: "Resource", 4: {1: "cpu", 2: {1: "Utilization", 4: 80}}}
    new = decode(envelope("autoscaling/v2", "HorizontalPodAutoscaler", {2: {1: target, 2: 1, 3: 5, 4: [resource]}}))
    aimed = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}
    assert new["spec"] == {**sizes, "metrics": [{"type": "Resource", "resource": aimed}]}


def test_a_whole_life_in_protobuf(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            body = envelope("v1", "ConfigMap", {1: {1: "one"}, 2: [{1: "a", 2: "b"}]})
            made = await ask("POST", CONFIG_MAPS, body, content_type=PROTOBUF)
            assert (made.code, made.json["data"]) == (201, {"a": "b"})
            await ask.post(PODS, pod("one"))
            await ask.post(f"{PODS}/one/binding", {"target": {"name": "node-a"}})
            eviction = envelope("policy/v1", "Eviction", {1: {1: "one"}, 2: {1: 0}})
            assert (await ask("POST", f"{PODS}/one/eviction", eviction, content_type=PROTOBUF)).code == 201
            await ask.refused(404, "NotFound", "GET", f"{PODS}/one")
            options = envelope("v1", "DeleteOptions", {2: {1: "other-uid"}})
            await ask.refused(409, "Conflict", "DELETE", f"{CONFIG_MAPS}/one", options, content_type=PROTOBUF)

    asyncio.run(scenario())


def test_what_is_no_protobuf_of_ours(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as ask:
            await ask.refused(400, "BadRequest", "POST", CONFIG_MAPS, b"{}", content_type=PROTOBUF)
            await ask.refused(400, "BadRequest", "POST", CONFIG_MAPS, b"k8s\x00\xff", content_type=PROTOBUF)
            unknown = envelope("example.com/v1", "Widget", {})
            await ask.refused(415, "UnsupportedMediaType", "POST", CONFIG_MAPS, unknown, content_type=PROTOBUF)

    asyncio.run(scenario())


@pytest.mark.parametrize("cut", range(4, len(JOB), 7))
def test_a_message_that_breaks_off_is_malformed_or_shorter(cut: int) -> None:
    try:
        assert decode(JOB[:cut])["kind"] == "Job"
    except (Malformed, UnknownKind):
        return


@given(st.binary(max_size=200))
def test_no_bytes_do_harm(noise: bytes) -> None:
    for kind in ("Pod", "Event", "Lease", "PodDisruptionBudget"):
        try:
            decode(b"k8s\x00" + message({1: {2: kind}, 2: noise}))
        except Malformed:
            continue
