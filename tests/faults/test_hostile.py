"""Hostile requests to a real server: each is refused with a Kubernetes Status, and no other client is disturbed."""

import json
import ssl
from collections.abc import Iterator
from typing import Any

import pytest

from tests.faults.ordinary import ordinary_life
from tests.faults.server_process import ServerProcess, running_server
from tests.faults.wires import Reply, asked, wire
from understudy.objects.resources import CONFIG_MAPS, EVENTS, JOBS, NODES, PODS
from understudy.ports import PatchForm

MAPS = CONFIG_MAPS.path("default")
MEGA = 1_000_000
ONE = {"metadata": {"name": "one"}, "data": {"a": "b"}}
POD: dict[str, Any] = {"metadata": {"name": "pod"}, "spec": {"containers": [{"name": "main", "image": "x"}]}}


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    with running_server() as server:
        for path, document in ((MAPS, ONE), (PODS.path("default"), POD)):
            assert asked(server.config, "POST", path, encoded(document)).status == 201
        yield server


@pytest.fixture(autouse=True)
def others(server: ServerProcess) -> Iterator[None]:
    """Another client uses the server all the while."""
    with ordinary_life(server):
        yield


def encoded(document: Any) -> bytes:
    return json.dumps(document).encode()


def named(name: str, **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}}


def test_a_namespace_that_cannot_be_has_nothing_in_it(server: ServerProcess) -> None:
    reply = asked(server.config, "GET", "/api/v1/namespaces/../configmaps")
    assert (reply.status, reply.document["items"]) == (200, [])


def patched(server: ServerProcess, path: str, patch: Any, form: PatchForm) -> Reply:
    return asked(server.config, "PATCH", f"{path}?fieldManager=me", encoded(patch), Content_Type=form)


def test_a_body_of_ten_megabytes_is_refused_and_the_connection_ends_or_goes_on(server: ServerProcess) -> None:
    body = encoded(named("huge") | {"data": {"a": "x" * 10 * MEGA}})
    with wire(server.config) as line:
        line.send(line.request("POST", MAPS, body))
        reply = line.reply()
        assert reply.told == (413, "RequestEntityTooLarge")
        if reply.headers.get("connection") == "close":
            assert line.is_closed()
        else:
            assert line.ask("GET", "/readyz").body == b"ok"


def test_a_body_of_unknown_length_is_cut_off_when_it_gets_too_long(server: ServerProcess) -> None:
    piece = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    with wire(server.config) as line:
        line.send(line.request("POST", MAPS, Transfer_Encoding="chunked", Content_Type="application/json"))
        try:
            for _ in range(160):
                line.send(piece)
            line.send(b"0\r\n\r\n")
        except (ConnectionError, ssl.SSLError):
            pass  # it has heard enough
        assert line.reply().told == (413, "RequestEntityTooLarge")


@pytest.mark.parametrize("media", ["application/json", "application/yaml", *PatchForm])
@pytest.mark.parametrize("opening", [b"[", b'{"a":', b'{"metadata":{"labels":'], ids=["lists", "objects", "labels"])
def test_a_million_levels_are_too_deep(server: ServerProcess, opening: bytes, media: str) -> None:
    body = opening * min(MEGA, 3_000_000 // len(opening))
    for method, path in (("POST", MAPS), ("PATCH", f"{MAPS}/one?fieldManager=me"), ("DELETE", f"{MAPS}/one")):
        if (method == "PATCH") == (media in list(PatchForm)):
            assert asked(server.config, method, path, body, Content_Type=media).told == (400, "BadRequest")


@pytest.mark.parametrize("depth", [150, 300, 900, 5_000])
def test_deep_patches_are_refused_too(server: ServerProcess, depth: int) -> None:
    nested = '{"a":' * depth + "1" + "}" * depth
    for form in (PatchForm.MERGE, PatchForm.STRATEGIC, PatchForm.APPLY):
        body = f'{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"annotations":{nested}}}}}'.encode()
        path = f"{MAPS}/one?fieldManager=me"
        assert asked(server.config, "PATCH", path, body, Content_Type=form).told == (400, "BadRequest")
    body = f'[{{"op":"add","path":"/metadata/annotations","value":{nested}}}]'.encode()
    assert asked(server.config, "PATCH", f"{MAPS}/one", body, Content_Type=PatchForm.JSON).told[0] == 400


@pytest.mark.parametrize(
    "metadata",
    [
        {"labels": {f"label-{n}": "x" * 40 for n in range(40_000)}},
        {"labels": {f"a{n}": str(n % 7) for n in range(100_000)}},
        {"labels": {"a": "x" * MEGA}},
        {"labels": {"x" * MEGA: "a"}},
        {"labels": {f"bad!{n}": "" for n in range(100_000)}},
        {"annotations": {f"note-{n}": "x" * 40 for n in range(40_000)}},
        {"annotations": {"a": "x" * MEGA}},
        {"finalizers": [f"example.com/{n}" for n in range(100_000)]},
        {"finalizers": ["!"] * 100_000},
        {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": str(n)} for n in range(30_000)]},
        {"managedFields": [{"manager": "x", "fieldsV1": {"f:a": {}}}] * 40_000, "labels": {"a": "x" * 64}},
    ],
    ids=lambda metadata: "+".join(metadata),
)
def test_bombs_in_the_metadata_are_refused(server: ServerProcess, metadata: dict[str, Any]) -> None:
    reply = asked(server.config, "POST", MAPS, encoded(named("bomb", **metadata)))
    assert reply.told in ((413, "RequestEntityTooLarge"), (422, "Invalid"))
    assert len(reply.body) < 200_000
    assert asked(server.config, "GET", f"{MAPS}/bomb").status == 404


@pytest.mark.parametrize(
    "name",
    ["..", ".", "../../etc/passwd", "a/b", "a%2fb", "x" * 254, "A", "a_b", "\u00e9", "a\u0000b", "-", "a\n", "%"],
)
def test_hostile_names_are_refused(server: ServerProcess, name: str) -> None:
    for path, document in ((MAPS, named(name)), (PODS.path("default"), POD | {"metadata": {"name": name}})):
        assert asked(server.config, "POST", path, encoded(document)).told == (422, "Invalid")
    containers = {"spec": {"containers": [{"name": name, "image": "x"}]}}
    assert asked(server.config, "POST", PODS.path("default"), encoded(POD | containers)).status in (409, 422)


@pytest.mark.parametrize(
    "path",
    [
        f"{MAPS}/../secrets",
        f"{MAPS}/%2e%2e/secrets",
        f"{MAPS}/%2e%2e%2fsecrets%2fx",
        f"{MAPS}/..%2f..%2f..%2f..%2f..%2fetc%2fpasswd",
        f"{MAPS}/one%00",
        f"{MAPS}/%ff%fe",
        f"{MAPS}/" + "x" * 30_000,
        f"{MAPS}/one/../one",
        "/api/v1/namespaces/%2e%2e/configmaps/one",
        "/openapi/v3/../../etc/passwd",
        "/openapi/v3/%2e%2e%2f%2e%2e",
        "/apis/../api/v1/secrets",
        f"{PODS.path('default')}/../log",
        f"{PODS.path('default')}/pod/log?container=../../../../../../etc/passwd",
        "/" * 30_000 + "x",
        "/\\..\\..",
        "/%",
    ],
    ids=lambda path: path[:50],
)
def test_hostile_paths_lead_nowhere(server: ServerProcess, path: str) -> None:
    reply = asked(server.config, "GET", path)
    assert reply.status in (400, 404)
    assert b"root:" not in reply.body


@pytest.mark.parametrize("junk", ["x" * 70_000, "/api/v1/" + "x" * 200_000], ids=["header", "path"])
def test_a_head_that_does_not_end_is_refused(server: ServerProcess, junk: str) -> None:
    with wire(server.config) as line:
        line.send(b"GET /" + junk.encode())
        try:
            line.send(junk.encode() * 20)
        except (ConnectionError, ssl.SSLError):
            return
        assert line.reply().status == 400


JSON_BOMBS = {
    "copies of copies": [{"op": "copy", "from": "/data", "path": f"/data/c{n}"} for n in range(60)],
    "the whole into itself": [{"op": "copy", "from": "", "path": "/data/whole"}] * 5_000,
    "a long list, from the front": [
        {"op": "add", "path": "/metadata/finalizers", "value": ["a/b"] * 100_000},
        *[{"op": "add", "path": "/metadata/finalizers/0", "value": "c/d"}] * 9_000,
    ],
    "too many": [{"op": "test", "path": "/data", "value": {}}] * 11_000,
    "a long path": [{"op": "remove", "path": "/a" * MEGA}],
    "a hundred thousand elements": [{"op": "add", "path": "/data/list", "value": [[]] * 100_000}],
}


@pytest.mark.parametrize("bomb", JSON_BOMBS)
def test_json_patches_that_bomb(server: ServerProcess, bomb: str) -> None:
    reply = patched(server, f"{MAPS}/one", JSON_BOMBS[bomb], PatchForm.JSON)
    assert reply.told[0] in (400, 413, 422)
    assert len(reply.body) < 100_000


@pytest.mark.parametrize("form", [PatchForm.STRATEGIC, PatchForm.MERGE, PatchForm.APPLY])
def test_patches_with_a_hundred_thousand_elements(server: ServerProcess, form: PatchForm) -> None:
    names = [f"example.com/{n:06}" for n in range(100_000)]
    head = {"apiVersion": "v1", "kind": "ConfigMap"}
    patches: list[dict[str, Any]] = [
        {"metadata": {"finalizers": names}},
        {"metadata": {"$setElementOrder/finalizers": names[::-1]}},
        {"metadata": {"$deleteFromPrimitiveList/finalizers": names}},
        {"data": dict.fromkeys(names, "x")},
        {"metadata": {"labels": dict.fromkeys(names, "x")}},
    ]
    for patch in patches:
        assert patched(server, f"{MAPS}/one", head | patch, form).status < 500
    assert asked(server.config, "GET", f"{MAPS}/one").document["data"] == ONE["data"]


def test_objects_with_a_hundred_thousand_elements(server: ServerProcess) -> None:
    many = range(50_000)
    objects = [
        (PODS, POD | {"spec": {"containers": [{"name": f"c{n}", "image": "x"} for n in many]}}),
        (PODS, POD | {"spec": {"containers": [{}] * 100_000}}),
        (PODS, POD | {"spec": POD["spec"] | {"tolerations": [{"key": f"t{n}", "operator": "Exists"} for n in many]}}),
        (
            NODES,
            {"metadata": {"name": "n"}, "spec": {"taints": [{"key": f"t{n}", "effect": "NoSchedule"} for n in many]}},
        ),
        (EVENTS, {"metadata": {"name": "e"}, "message": "x" * 2 * MEGA, "involvedObject": {}}),
        (JOBS, {"metadata": {"name": "j"}, "spec": {"template": {"spec": {"containers": [None] * 100_000}}}}),
    ]
    for resource, document in objects:
        reply = asked(server.config, "POST", resource.path("default"), encoded(document))
        assert reply.told[0] in (400, 409, 413, 422)
        assert len(reply.body) < 200_000


@pytest.mark.parametrize(
    "text",
    [
        b"data: {" + b"".join(b"k%d: v, " % n for n in range(50_000)) + b"}",
        b"data: [" + b"a," * 100_000 + b"]",
        b"".join(b"k%d: &a%d x\n" % (n, n) for n in range(50_000)),
        b"a: &a [x]\n" + b"".join(b"%c: &%c [%s]\n" % (n, n, b"*%c," % (n - 1) * 9) for n in range(98, 122)),
        b"? " * 500_000,
        b"- " * MEGA,
        b"? a\n: " + b"- " * MEGA,
        b"[ # ]\n" * 300_000,
        b"!!python/object/apply:os.system [true]",
    ],
    ids=["map", "list", "anchors", "aliases", "keys", "sequences", "value", "comments", "objects"],
)
def test_yaml_that_bombs(server: ServerProcess, text: bytes) -> None:
    assert asked(server.config, "POST", MAPS, text, Content_Type="application/yaml").told[0] in (400, 413, 422)


def test_huge_selectors_and_queries(server: ServerProcess) -> None:
    queries = [
        "labelSelector=" + ",".join(f"a{n}" for n in range(8_000)),
        "labelSelector=a+in+(" + ",".join(f"v{n}" for n in range(8_000)) + ")",
        "fieldSelector=" + ",".join(["metadata.name=a"] * 3_000),
        "&".join(f"a{n}=b" for n in range(5_000)),
        "labelSelector=" + "(" * 50_000,
        "limit=" + "9" * 50_000,
        "continue=" + "A" * 50_000,
    ]
    for query in queries:
        assert asked(server.config, "GET", f"{MAPS}?{query}").told == (400, "BadRequest")
    fine = ",".join(f"a{n}!=b" for n in range(1_500))
    assert asked(server.config, "GET", f"{MAPS}?labelSelector={fine}").status == 200
