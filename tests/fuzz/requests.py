"""Requests nobody sane would send: real paths, bodies and headers, bent in every way Hypothesis can think of."""

from collections.abc import Mapping
from typing import Any

import msgspec
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

PLURALS = (
    "pods", "nodes", "namespaces", "events", "services", "endpoints", "configmaps", "secrets", "serviceaccounts",
    "persistentvolumeclaims", "persistentvolumes",
)  # fmt: skip
GROUPED = (
    "batch/v1/jobs", "coordination.k8s.io/v1/leases", "policy/v1/poddisruptionbudgets", "scheduling.k8s.io/v1/priorityclasses",
    "scheduling.k8s.io/v1beta1/priorityclasses", "apiextensions.k8s.io/v1/customresourcedefinitions",
    "authorization.k8s.io/v1/selfsubjectaccessreviews", "understudy.dev/v1/seatings", "fuzz.example.com/v1/gadgets",
)  # fmt: skip
SUBRESOURCES = ("status", "binding", "eviction", "log", "exec", "scale", "finalize", "ephemeralcontainers", "proxy")
MEDIA = (
    "application/json", "application/merge-patch+json", "application/strategic-merge-patch+json",
    "application/json-patch+json", "application/apply-patch+yaml", "application/yaml", "text/plain",
    "application/vnd.kubernetes.protobuf", "application/x-www-form-urlencoded",
)  # fmt: skip
ACCEPTED = (
    "application/json", "*/*", "application/json;as=Table;v=v1;g=meta.k8s.io", "application/vnd.kubernetes.protobuf",
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json", "text/html", ";;;q=,",
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
)  # fmt: skip
NAMES = (
    "fuzz",
    "default",
    "one",
    "..",
    "../../etc/passwd",
    "%2e%2e%2f",
    "a" * 300,
    "UPPER",
    "a_b",
    "\u00e9",
    "x\x00y",
    "-",
    "",
)


class Asked(msgspec.Struct, frozen=True):
    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "one", "labels": {"a": "b"}, "annotations": {"c": "d"}, "finalizers": ["example.com/x"]},
    "spec": {
        "schedulingGates": [{"name": "fuzz/never"}],
        "nodeSelector": {"a": "b"},
        "tolerations": [{"key": "a", "operator": "Exists"}],
        "containers": [
            {
                "name": "main",
                "image": "x",
                "command": ["true"],
                "env": [{"name": "A", "value": "b"}],
                "ports": [{"containerPort": 80}],
                "resources": {"limits": {"cpu": "1", "memory": "1Gi"}},
            }
        ],
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}},
    },
}
JOB: dict[str, Any] = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "one"},
    "spec": {
        "suspend": True,
        "template": {"spec": {"restartPolicy": "Never", "containers": POD["spec"]["containers"]}},
    },
}
DEFINITION: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "gadgets.fuzz.example.com"},
    "spec": {
        "group": "fuzz.example.com",
        "scope": "Namespaced",
        "names": {"plural": "gadgets", "kind": "Gadget"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {
                                    "size": {"type": "integer", "minimum": 1, "default": 2},
                                    "name": {"type": "string", "pattern": "^[a-z]+$"},
                                    "parts": {"type": "array", "items": {"type": "string"}},
                                },
                            }
                        },
                    }
                },
            }
        ],
    },
}
GADGET = {"apiVersion": "fuzz.example.com/v1", "kind": "Gadget", "metadata": {"name": "one"}, "spec": {"size": 3}}
CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}, "data": {"a": "b"}}
CLASS = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "one"}, "value": 5}
NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "one"}, "status": {"capacity": {"cpu": "1"}}}
SEEDS = (POD, JOB, DEFINITION, GADGET, CONFIG, CLASS, NODE)
OPERATIONS = [{"op": "add", "path": "/metadata/labels/x", "value": "y"}, {"op": "move", "from": "/spec", "path": "/a"}]


def json_values() -> SearchStrategy[Any]:
    leaves = (
        st.none()
        | st.booleans()
        | st.integers(-(2**70), 2**70)
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(max_size=20)
        | st.sampled_from(["1Gi", "-1", "2026-01-01T00:00:00Z", "../..", "x" * 5000, "$patch", "\ud7ff"])
    )
    return st.recursive(leaves, lambda inner: st.lists(inner, max_size=4) | _mappings(inner), max_leaves=12)


def _mappings(inner: SearchStrategy[Any]) -> SearchStrategy[Any]:
    keys = st.text(max_size=8) | st.sampled_from(["name", "spec", "metadata", "$patch", "$setElementOrder/containers"])
    return st.dictionaries(keys, inner, max_size=4)


@st.composite
def bent(draw: st.DrawFn, document: Any) -> Any:
    """The document with up to three of its parts replaced, removed or doubled."""
    copy = msgspec.json.decode(msgspec.json.encode(document))
    for _ in range(draw(st.integers(0, 3))):
        holder = copy
        while isinstance(holder, dict | list) and holder:
            key = draw(st.sampled_from(sorted(holder) if isinstance(holder, dict) else range(len(holder))))
            if not isinstance(holder[key], dict | list) or not holder[key] or draw(st.booleans()):
                _bend(draw, holder, key)
                break
            holder = holder[key]
    return copy


def _bend(draw: st.DrawFn, holder: Any, key: Any) -> None:
    match draw(st.sampled_from(["replace", "remove", "add"])):
        case "replace":
            holder[key] = draw(json_values())
        case "remove":
            del holder[key]
        case _ if isinstance(holder, list):
            holder.append(draw(json_values()))
        case _:
            holder[draw(st.text(max_size=10))] = draw(json_values())


def bodies() -> SearchStrategy[bytes]:
    documents = st.sampled_from(SEEDS).flatmap(bent).map(msgspec.json.encode)
    patches = bent({"metadata": {"labels": {"x": "y"}}, "spec": POD["spec"]}).map(msgspec.json.encode)
    operations = bent(OPERATIONS).map(msgspec.json.encode)
    anything = json_values().map(msgspec.json.encode)
    nonsense = st.binary(max_size=200) | st.sampled_from([b"", b"[" * 100_000, b'{"a":' * 50_000, b"k8s\x00\x0a\xff"])
    return documents | patches | operations | anything | nonsense


def paths() -> SearchStrategy[str]:
    names = st.sampled_from(NAMES) | st.text(max_size=12)
    spaces = st.sampled_from(["", "", "/namespaces/default", "/namespaces/fuzz"]) | names.map("/namespaces/{}".format)
    homes = st.sampled_from(
        [f"/api/v1|{one}" for one in PLURALS] + ["/apis/{}/{}|{}".format(*g.split("/")) for g in GROUPED]
    )
    ends = st.lists(names | st.sampled_from(SUBRESOURCES), max_size=3).map(
        lambda parts: "".join(f"/{p}" for p in parts)
    )
    objects = st.builds(lambda home, space, end: home.replace("|", f"{space}/") + end, homes, spaces, ends)
    others = st.sampled_from(["/", "/api", "/apis", "/version", "/openapi/v2", "/openapi/v3", "/healthz", "/metrics"])
    return objects | others | st.text(max_size=40).map("/{}".format)


def queries() -> SearchStrategy[list[tuple[str, str]]]:
    values = st.text(max_size=30) | st.sampled_from(
        ["true", "All", "0", "-1", "999999999999999999999", "a in (b", "Strict"]
    )
    keys = st.sampled_from(
        ["labelSelector", "fieldSelector", "limit", "continue", "resourceVersion", "resourceVersionMatch", "dryRun",
         "fieldValidation", "fieldManager", "force", "propagationPolicy", "gracePeriodSeconds", "tailLines",
         "sendInitialEvents", "pretty", "container", "sinceTime", "timeoutSeconds"]
    )  # fmt: skip
    return st.lists(st.tuples(keys, values), max_size=4)


def headers() -> SearchStrategy[dict[str, str]]:
    return st.fixed_dictionaries({"Content-Type": st.sampled_from(MEDIA), "Accept": st.sampled_from(ACCEPTED)})


METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "CONNECT", "BREW")
