"""Environment variables: values, their sources, and messages about missing sources."""

from typing import Any

import msgspec
import pytest

from understudy.embedded.agent.api.config_objects import ConfigData, config_map, secret
from understudy.embedded.agent.api.downward_api import PodFacts
from understudy.embedded.agent.api.pod_types import decode_pod
from understudy.embedded.agent.containers.environment import BadEnvironment, environment, expand

HELD: ConfigData = {config_map("c"): {"k": b"v", "1bad": b"x"}, secret("s"): {"p": b"\xffpw"}, config_map("gone"): None}


def resolved(*env: dict[str, Any], env_from: tuple[dict[str, Any], ...] = (), **resources: Any) -> dict[str, str]:
    container = {"name": "main", "env": list(env), "envFrom": list(env_from), "resources": resources}
    document = {
        "metadata": {
            "name": "p", "namespace": "ns", "uid": "u-1",
            "labels": {"app": "x", "tier": 'a"b'}, "annotations": {"note/1": "hi"},
        },
        "spec": {"containers": [container], "nodeName": "n", "serviceAccountName": "robot"},
    }  # fmt: skip
    pod = decode_pod(msgspec.json.encode(document))
    facts = PodFacts(pod, "127.64.0.9", "10.0.0.1", {"cpu": "16", "memory": "64Gi"})
    return environment(facts, pod.spec.containers[0], HELD, {})


def field(path: str) -> dict[str, Any]:
    return {"name": "X", "valueFrom": {"fieldRef": {"fieldPath": path}}}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$(A)-$(B)", "1-2"),
        ("$(NONE)", "$(NONE)"),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$1"),
        ("$A ${A} $", "$A ${A} $"),
        ("$$", "$"),
        ("$(A", "$(A"),
        ("plain", "plain"),
    ],
)
def test_expansion(text: str, expected: str) -> None:
    assert expand(text, {"A": "1", "B": "2"}) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("metadata.name", "p"),
        ("metadata.namespace", "ns"),
        ("metadata.uid", "u-1"),
        ("metadata.labels['app']", "x"),
        ("metadata.labels['none']", ""),
        ("metadata.annotations['note/1']", "hi"),
        ("metadata.labels", 'app="x"\ntier="a\\"b"'),
        ("spec.nodeName", "n"),
        ("spec.serviceAccountName", "robot"),
        ("status.podIP", "127.64.0.9"),
        ("status.hostIP", "10.0.0.1"),
    ],
)
def test_fields_of_the_pod(path: str, expected: str) -> None:
    assert resolved(field(path)) == {"X": expected}


@pytest.mark.parametrize(
    ("resource", "divisor", "expected"),
    [
        ("limits.cpu", "0", "2"),
        ("limits.cpu", "1m", "1500"),
        ("requests.cpu", "1", "1"),
        ("limits.memory", "1Mi", "64"),
        ("limits.ephemeral-storage", "0", "0"),
        ("requests.memory", "0", str(64 * 1024 * 1024)),
    ],
)
def test_resource_fields_of_a_container(resource: str, divisor: str, expected: str) -> None:
    ask = {"name": "X", "valueFrom": {"resourceFieldRef": {"resource": resource, "divisor": divisor}}}
    values = resolved(ask, limits={"cpu": "1.5", "memory": "64Mi"}, requests={"cpu": "500m"})
    assert values == {"X": expected}


def test_without_limits_the_node_is_the_limit() -> None:
    assert resolved({"name": "X", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}}) == {"X": "16"}


def test_env_from_comes_first_and_may_have_a_prefix() -> None:
    groups = ({"prefix": "C_", "configMapRef": {"name": "c"}}, {"secretRef": {"name": "s"}})
    values = resolved({"name": "p", "value": "own $(C_k)"}, env_from=groups)
    assert values == {"C_k": "v", "C_1bad": "x", "p": "own v"}


def test_keys_that_cannot_be_names_are_left_out() -> None:
    assert resolved(env_from=({"configMapRef": {"name": "c"}},)) == {"k": "v"}


def test_invalid_text_in_a_variable_is_replaced() -> None:
    ask = {"name": "X", "valueFrom": {"secretKeyRef": {"name": "s", "key": "p"}}}
    assert resolved(ask) == {"X": "\ufffdpw"}


@pytest.mark.parametrize(
    ("env", "words"),
    [
        ({"configMapKeyRef": {"name": "c", "key": "none"}}, "couldn't find key none in ConfigMap ns/c"),
        ({"configMapKeyRef": {"name": "gone", "key": "k"}}, 'configmap "gone" not found'),
        ({"secretKeyRef": {"name": "other", "key": "k"}}, 'secret "other" not found'),
        ({"fieldRef": {"fieldPath": "spec.priority"}}, "unsupported fieldPath: spec.priority"),
        ({"resourceFieldRef": {"resource": "cpu"}}, "unsupported resource: main cpu"),
    ],
)
def test_a_missing_source_is_named(env: dict[str, Any], words: str) -> None:
    with pytest.raises(BadEnvironment) as caught:
        resolved({"name": "X", "valueFrom": env})
    assert str(caught.value) == words


def test_an_optional_source_may_be_missing() -> None:
    for kind, name in (("configMapKeyRef", "gone"), ("secretKeyRef", "s")):
        ask = {"name": "X", "valueFrom": {kind: {"name": name, "key": "none", "optional": True}}}
        assert resolved(ask) == {}
    assert resolved(env_from=({"configMapRef": {"name": "gone", "optional": True}},)) == {}
