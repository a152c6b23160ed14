"""Malformed requests: real ones of every kind and verb, changed at random by Hypothesis."""

import enum
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

import msgspec
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from tests.fuzz.document_strategies import anything, bent, grown, schema_of, texts
from tests.fuzz.seed_objects import SEEDS, Seed
from understudy.ports import PatchForm

NAMES = ("one", "two", "three")
NAMESPACES = ("default", "default", "default", "kube-system", "other")
HOSTILE_NAMES = (
    "..", ".", "../../etc/passwd", "%2e%2e%2f", "a" * 300, "UPPER", "a_b", "\u00e9", "x\x00y", "-", "", "a%", "%zz",
    "*",
    "gadgets.fuzz.example.com", "canary?x", "#", ";", "one/", " ", "\\", "%00", "%ff", "{}", "status",
)  # fmt: skip
SUBRESOURCES = ("status", "binding", "eviction", "log", "exec", "scale", "finalize", "proxy", "attach", "token")
PLACES = (
    "/", "/api", "/apis", "/version", "/openapi/v2", "/openapi/v3", "/openapi/v3/api/v1", "/healthz", "/livez/ping",
    "/metrics",
    "/apis/batch", "/apis/batch/v1", "/api/v1", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", "/apis/authentication.k8s.io/v1/selfsubjectreviews",
    "/apis/authentication.k8s.io/v1/tokenreviews", "/api/v1/namespaces/default/serviceaccounts/default/token",
    "/apis/authorization.k8s.io/v1/subjectaccessreviews",
    "/apis/authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews",
    "/apis/understudy.dev/v1/namespaces/default/seatings",
    "/apis/understudy.dev/v1/namespaces/default/departures",
    "/apis/fuzz.example.com/v1", "/apis/fuzz.example.com/v2/gadgets", "/api/v1/namespaces/default/pods/one/log",
    "/apis/scheduling.k8s.io/v1beta1/priorityclasses", "/api/v1/watch/pods", "//api/v1/pods", "/api/v1/pods/",
)  # fmt: skip
MEDIA = (
    *PatchForm, "application/json", "application/json; charset=utf-8", "application/yaml", "text/plain", "",
    "application/vnd.kubernetes.protobuf", "application/x-www-form-urlencoded", "multipart/form-data", "\u00e9", ";",
)  # fmt: skip
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
ACCEPTED = (
    "application/json", "*/*", TABLE, "application/vnd.kubernetes.protobuf",
    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json", "text/html", ";;;q=,",
    "a" * 3000,
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", "application/yaml", "application/cbor",
)  # fmt: skip
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE")
PARAMETERS: Mapping[str, tuple[str, ...]] = {
    "labelSelector": (
        "a=b",
        "a in (b, c)",
        "a in (b",
        "!a",
        "a>1",
        "a notin (b),c",
        "a==",
        ",",
        "a=b,a!=b" * 99,
        "\x00",
    ),
    "fieldSelector": ("metadata.name=one", "status.phase!=Running", "spec.nodeName=", "a.b=c", "metadata.name", "\\"),
    "limit": ("0", "1", "-1", "--1", "-", "9" * 18, "9" * 30, "1.5", "\u0661"),
    "continue": ("x", "W10=", "WzEsImEiLCJiIl0", "\u00e9"),
    "resourceVersion": ("0", "1", "5", "-1", "9" * 18, "9" * 30, "x", "\u0661"),
    "resourceVersionMatch": ("Exact", "NotOlderThan", "x"),
    "dryRun": ("All", "x", ""),
    "fieldValidation": ("Strict", "Warn", "Ignore", "x"),
    "fieldManager": ("me", "you", "x" * 200, "\u00e9", "\x00"),
    "force": ("true", "false", "x"),
    "propagationPolicy": ("Foreground", "Background", "Orphan", "x"),
    "orphanDependents": ("true", "false"),
    "gracePeriodSeconds": ("0", "1", "-1", "-", "9" * 18),
    "sendInitialEvents": ("true", "false"),
    "allowWatchBookmarks": ("true",),
    "includeObject": ("None", "Metadata", "Object", "x"),
    "pretty": ("true",),
    "container": ("main", "other", "../..", "\x00"),
    "tailLines": ("0", "5", "-1", "9" * 18, "x"),
    "limitBytes": ("0", "1", "-1", "9" * 18),
    "sinceSeconds": ("0", "1", "-1", "9" * 18),
    "sinceTime": ("2026-01-01T00:00:00Z", "x", "9999-99-99T99:99:99Z"),
    "previous": ("true",),
    "timestamps": ("true",),
    "command": ("true", "\x00", "x" * 3000),
    "stdin": ("true",),
    "tty": ("true",),
}
OPERATIONS = (
    {"op": "add", "path": "/metadata/labels", "value": {"a": "b"}},
    {"op": "add", "path": "/metadata/labels/x", "value": "y"},
    {"op": "replace", "path": "/spec", "value": {}},
    {"op": "remove", "path": "/metadata/labels"},
    {"op": "move", "from": "/spec", "path": "/a"},
    {"op": "copy", "from": "", "path": "/spec/whole"},
    {"op": "copy", "from": "/metadata", "path": "/spec/containers/-"},
    {"op": "test", "path": "/metadata/name", "value": "one"},
    {"op": "remove", "path": "/spec/containers/0"},
    {"op": "replace", "path": "", "value": {"metadata": {"name": "one"}}},
)
NONSENSE = (
    b"", b" ", b"null", b"[]", b"{}", b'""', b"1", b"[" * 100_000, b'{"a":' * 50_000, b"k8s\x00", b"k8s\x00\x0a\xff",
    b"\xff\xfe",
    b'{"metadata":{"name":"\\ud800"}}', b'{"metadata":{"name":"\xff"}}', b'{"kind":"Pod","kind":"Node"}',
    b"\xef\xbb\xbf{}",
    b'{"spec":NaN}', b'{"value":1e999}', b'{"value":' + b"9" * 5_000 + b"}", b"{}{}", b"a: &a [*a]",
    b"a: &a b\nc: *a", b"!!python/none",
    b"? [a]\n: b", b"{[a]: b}", b"1: 2", b"a: 2026-01-01", b"a: .inf", b"a: .nan", b"a: !!binary YQ==",
    b"a: !!set {b}", b"- " * 5_000,
    b'{"metadata":{"annotations":{"a":"' + b"x" * 300_000 + b'"}}}',
)  # fmt: skip


class Manner(enum.Enum):
    """How the client goes about it."""

    WHOLE = "asks and waits for the answer"
    UNREAD = "asks and hangs up"
    HALF = "hangs up in the middle of asking"


class Asked(msgspec.Struct, frozen=True):
    method: str
    path: str  # as it goes out
    headers: Mapping[str, str]
    body: bytes = b""
    manner: Manner = Manner.WHOLE

    @property
    def streams(self) -> bool:
        return "watch=" in self.path or "follow=" in self.path


@st.composite
def requests(draw: st.DrawFn) -> Asked:
    asked = draw(st.one_of(sensible(), sensible(), sensible(), wild()))
    manner = draw(st.sampled_from([Manner.WHOLE] * 12 + [Manner.UNREAD, Manner.HALF]))
    return msgspec.structs.replace(asked, manner=manner)


@st.composite
def sensible(draw: st.DrawFn) -> Asked:
    """A verb on a kind, with a body that is nearly right for it."""
    seed = draw(st.sampled_from(SEEDS))
    namespace = draw(st.sampled_from(NAMESPACES)) if seed.resource.namespaced else ""
    name = draw(st.sampled_from(_names_of(seed)))
    collection, single = seed.resource.path(namespace), seed.resource.path(namespace, name)
    sub = draw(st.sampled_from(("", *seed.subresources)))
    query = draw(queries())
    headers = {"Accept": draw(st.sampled_from(ACCEPTED[:3])), "Content-Type": "application/json"}
    match draw(
        st.sampled_from(["create", "create", "replace", "patch", "patch", "get", "list", "watch", "delete", "clear"])
    ):
        case "create":
            method, path, body = "POST", collection, draw(bent(seed.document(name), schema_of(seed.resource)))
            if isinstance(body.get("metadata"), dict) and draw(st.integers(0, 3)):
                body["metadata"] |= {"name": None, "generateName": "some-"}
        case "replace":
            method, path, body = "PUT", _below(single, sub), draw(bent(seed.document(name), schema_of(seed.resource)))
        case "patch":
            form = draw(st.sampled_from(PatchForm))
            headers["Content-Type"] = form
            method, path, body = "PATCH", _below(single, sub), draw(patches(seed, name, form))
            query = [*query, ("fieldManager", "me")] if form is PatchForm.APPLY else query
        case "get":
            method, path, body = "GET", _below(single, draw(st.sampled_from(["", "", sub]))), None
        case "list":
            method, path, body = "GET", draw(st.sampled_from([collection, seed.resource.path()])), None
        case "watch":
            method, path, body = "GET", collection, None
            query = [*query, ("watch", "true"), ("timeoutSeconds", "1")]
        case "delete":
            method, path, body = "DELETE", _below(single, draw(st.sampled_from(["", "", "", sub]))), draw(options())
        case _:
            method, path, body = "DELETE", collection, None
            query = [*query, ("dryRun", "All")] if draw(st.integers(0, 3)) else query
    if sub in ("binding", "eviction") and method == "PUT":
        method = "POST"
    return Asked(method, _with_query(path, query), headers, b"" if body is None else msgspec.json.encode(body))


def _names_of(seed: Seed) -> tuple[str, ...]:
    """Definitions are named after what they define, namespaces must not be the ones that all others live in."""
    if seed.resource.kind == "CustomResourceDefinition":
        return ("gadgets.fuzz.example.com", "gadgets.fuzz.example.com", "widgets.fuzz.example.com")
    return ("other",) if seed.resource.kind == "Namespace" else NAMES


def _below(path: str, sub: str) -> str:
    return f"{path}/{sub}" if sub else path


@st.composite
def patches(draw: st.DrawFn, seed: Seed, name: str, form: PatchForm) -> Any:
    if form is PatchForm.JSON:
        operations = [draw(st.sampled_from(OPERATIONS)) for _ in range(draw(st.integers(0, 4)))]
        return draw(bent(operations, {}))
    document = draw(bent(seed.document(name), schema_of(seed.resource)))
    if form is PatchForm.APPLY:
        return document
    kept = draw(st.lists(st.sampled_from(sorted(document) or ["a"]), max_size=3))
    return {key: document.get(key) for key in kept}


def options() -> SearchStrategy[Any]:
    """Of a deletion."""
    schema = {
        "properties": {
            "gracePeriodSeconds": {"type": "integer"},
            "propagationPolicy": {"enum": ["Orphan", "Foreground", "Background"]},
            "orphanDependents": {"type": "boolean"},
            "dryRun": {"items": {"enum": ["All"]}},
            "preconditions": {"properties": {"uid": {"type": "string"}, "resourceVersion": {"type": "string"}}},
        }
    }
    return st.none() | grown(schema)


@st.composite
def wild(draw: st.DrawFn) -> Asked:
    """Anything, anywhere."""
    headers = {"Content-Type": draw(st.sampled_from(MEDIA)), "Accept": draw(st.sampled_from(ACCEPTED))}
    path = _with_query(draw(paths()), draw(queries()))
    return Asked(draw(st.sampled_from(METHODS)), path, headers, draw(bodies()))


def bodies() -> SearchStrategy[bytes]:
    documents = st.sampled_from(SEEDS).flatmap(lambda seed: bent(seed.document("one"), schema_of(seed.resource)))
    operations = st.lists(st.sampled_from(OPERATIONS), max_size=3)
    return (
        documents.map(msgspec.json.encode)
        | operations.map(msgspec.json.encode)
        | anything().map(msgspec.json.encode)
        | st.binary(max_size=200)
        | st.sampled_from(NONSENSE)
    )


def paths() -> SearchStrategy[str]:
    names = st.sampled_from(NAMES) | st.sampled_from(HOSTILE_NAMES) | texts()
    spaces = st.sampled_from(["", "", "/namespaces/default"]) | names.map("/namespaces/{}".format)
    ends = st.lists(names | st.sampled_from(SUBRESOURCES), max_size=3).map(
        lambda parts: "".join(f"/{p}" for p in parts)
    )
    homes = st.sampled_from([seed.resource for seed in SEEDS])
    objects = st.builds(_path, homes, spaces, ends)
    return objects | st.sampled_from(PLACES) | st.text(max_size=40).map("/{}".format)


def _path(resource: Any, space: str, end: str) -> str:
    head, _, plural = resource.path().rpartition("/")
    return f"{head}{space}/{plural}{end}"


@st.composite
def queries(draw: st.DrawFn) -> list[tuple[str, str]]:
    names = draw(st.lists(st.sampled_from(sorted(PARAMETERS)), max_size=2))
    return [(name, draw(st.sampled_from(PARAMETERS[name]) | texts())) for name in names]


def _with_query(path: str, query: list[tuple[str, str]]) -> str:
    """What HTTP itself has no room for is percent-encoded; percent signs stay as they are."""
    plain = quote(path, safe="/%!$&'()*+,;=:@~-._[]{}|\\^\"<>`", errors="surrogatepass")
    return f"{plain}?{urlencode(query, errors='surrogatepass')}" if query else plain
