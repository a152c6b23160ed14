"""Requests that the embedded server and a real kube-apiserver have to answer alike."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

MEBIBYTE = 1024 * 1024
NAMESPACE = "$namespace"  # in paths, bodies and words: the namespace that the requests are sent to
APPLY, MERGE = "application/apply-patch+yaml", "application/merge-patch+json"
JSON = "application/json"
Document = dict[str, Any]


class Asked(NamedTuple):
    path: str  # from /api or /apis on, or below the namespace
    body: Document | None = None
    method: str = "POST"
    content_type: str = JSON
    headers: Mapping[str, str] = {}

    def at(self, namespace: str) -> "Asked":
        whole = self.path.startswith(("/api/", "/apis/"))
        path = self.path if whole else f"/api/v1/namespaces/{NAMESPACE}{self.path}"
        return Asked(*(named(value, namespace) for value in self._replace(path=path)))


class Judged(NamedTuple):
    asked: Asked
    code: int
    words: str = ""  # part of the message
    before: tuple[Asked, ...] = ()  # must go well
    answer: Any = None  # fields of the object that is answered
    warning: str | None = ""  # part of a Warning header; '': there is none; None: there may be one
    after: tuple[Asked, ...] = ()  # what deletes objects outside the namespace


def named(value: Any, namespace: str) -> Any:
    match value:
        case str():
            return value.replace(NAMESPACE, namespace)
        case dict():
            return {named(key, namespace): named(inner, namespace) for key, inner in value.items()}
        case list():
            return [named(inner, namespace) for inner in value]
    return value


def contains(answer: Any, wanted: Any) -> bool:
    """Whether all wanted fields are there. Lists have as many items."""
    match wanted:
        case dict():
            return isinstance(answer, dict) and all(contains(answer.get(key), value) for key, value in wanted.items())
        case list():
            return isinstance(answer, list) and len(answer) == len(wanted) and all(map(contains, answer, wanted))
    return bool(answer == wanted)


def pod(name: str = "judged", mount: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    container: dict[str, Any] = {"name": "main", "image": "busybox"}
    if mount is not None:
        container["volumeMounts"] = [{"name": "v", **mount}]
    body = {"containers": [container], **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": body}


def config_map(**fields: Any) -> dict[str, Any]:
    metadata = {"name": "judged", **fields.pop("metadata", {})}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **fields}


def binding(node: str, name: str = "judged", **metadata: str) -> Asked:
    body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name, **metadata}}
    return Asked("/pods/judged/binding", {**body, "target": {"kind": "Node", "name": node}})


def _volume(**source: Any) -> Asked:
    return Asked("/pods", pod(volumes=[{"name": "v", **source}]))


def _mounted(**mount: str) -> Asked:
    return Asked("/pods", pod(mount=mount, volumes=[{"name": "v", "emptyDir": {}}]))


def _files(path: str) -> dict[str, Asked]:
    """Every place in which a pod names a file of a volume."""
    keys = {"name": "m", "items": [{"key": "k", "path": path}]}
    facts = {"items": [{"path": path, "fieldRef": {"fieldPath": "metadata.name"}}]}
    projections = {"configMap": keys, "secret": keys, "downwardAPI": facts, "serviceAccountToken": {"path": path}}
    return {
        "configMap": _volume(configMap=keys),
        "secret": _volume(secret={"secretName": "m", "items": keys["items"]}),
        "downwardAPI": _volume(downwardAPI=facts),
        **{f"projected {name}": _volume(projected={"sources": [{name: one}]}) for name, one in projections.items()},
    }


def _paths() -> Iterator[tuple[str, Judged]]:
    wrong = {
        "../x": "path: Invalid value: \"../x\": must not contain '..'",
        "a/../x": "path: Invalid value: \"a/../x\": must not contain '..'",
        "/x": 'path: Invalid value: "/x": must be a relative path',
        "..x": "path: Invalid value: \"..x\": must not start with '..'",
        "": "path: Required value",
    }
    for path, words in wrong.items():
        for name, asked in _files(path).items():
            yield f"a file of {name} at {path!r}", Judged(asked, 422, words)
    for name, asked in _files("a/./b..c").items():
        yield f"a file of {name} within", Judged(asked, 201)
    for name in ("subPath", "subPathExpr"):
        yield f"{name} above", Judged(_mounted(mountPath="/m", **{name: "a/../.."}), 422, f"{name}: Invalid value")
        yield f"{name} absolute", Judged(_mounted(mountPath="/m", **{name: "/a"}), 422, "must be a relative path")
        yield f"{name} within", Judged(_mounted(mountPath="/m", **{name: "..a/b"}), 201)
    yield "no mountPath", Judged(_mounted(mountPath=""), 422, "mountPath: Required value")
    for path in ("a/b", "../a", "/a/../b", "/a:b"):
        yield f"mountPath {path}", Judged(_mounted(mountPath=path), 201)


def _sources() -> Iterator[tuple[str, Judged]]:
    one = {"name": "m", "items": [{"key": "k", "path": "a"}]}
    projected = {
        "two in one": (
            [{"configMap": one, "secret": {"name": "m"}}],
            "may not specify more than 1 volume type per source",
        ),
        "a config map without a name": ([{"configMap": {}}], "configMap.name: Required value"),
        "a secret without a name": ([{"secret": {}}], "secret.name: Required value"),
        "one file twice": ([{"configMap": one}, {"secret": one}], "conflicting duplicate paths"),
        "a short token": ([{"serviceAccountToken": {"path": "a", "expirationSeconds": 10}}], "less than 10 minutes"),
    }
    for name, (sources, words) in projected.items():
        yield f"projected: {name}", Judged(_volume(projected={"sources": sources}), 422, words)
    yield "projected: nothing", Judged(_volume(projected={"sources": [{}]}), 201, warning=None)
    name_field, amount = {"fieldPath": "metadata.name"}, {"containerName": "main", "resource": "limits.cpu"}
    facts: dict[str, tuple[dict[str, Any], str]] = {
        "neither": ({}, "one of fieldRef and resourceFieldRef is required"),
        "both": ({"fieldRef": name_field, "resourceFieldRef": amount}, "can not be specified simultaneously"),
        "another field": ({"fieldRef": {"fieldPath": "spec.nodeName"}}, "fieldPath: Unsupported value"),
        "another amount": ({"resourceFieldRef": amount | {"resource": "limits.x"}}, "resource: Unsupported value"),
        "no container": ({"resourceFieldRef": {"resource": "limits.cpu"}}, "containerName: Required value"),
    }
    for name, (fact, words) in facts.items():
        yield f"downward API: {name}", Judged(_volume(downwardAPI={"items": [{"path": "a", **fact}]}), 422, words)
    label = {"fieldRef": {"fieldPath": "metadata.labels['a']"}}
    yield "downward API: a label", Judged(_volume(downwardAPI={"items": [{"path": "a", **label}]}), 201)


def _bindings() -> Iterator[tuple[str, Judged]]:
    made, bound = Asked("/pods", pod()), binding("node-a")
    said = 'pods/binding "judged": pod judged is already assigned to node "node-a"'
    gated = Asked("/pods", pod(schedulingGates=[{"name": "example.com/wait"}]))
    yield "bound", Judged(bound, 201, before=(made,))
    yield "bound again", Judged(bound, 409, said, (made, bound))
    yield "bound elsewhere", Judged(binding("node-b"), 409, said, (made, bound))
    yield "another pod of the name bound", Judged(binding("node-a", uid="another"), 409, "Precondition failed", (made,))
    yield "a binding of another name", Judged(binding("node-a", "other"), 400, "name in URL does not match", (made,))
    yield "a gated pod bound", Judged(bound, 409, "has non-empty .spec.schedulingGates", (gated,))
    yield "no pod bound", Judged(bound, 404, 'pods "judged" not found')


def _sizes() -> Iterator[tuple[str, Judged]]:
    def maps(**fields: Any) -> Asked:
        return Asked("/configmaps", config_map(**fields))

    def labels(count: int) -> Asked:
        return maps(metadata={"labels": {f"l{n:06}": "x" for n in range(count)}})

    # There is no bound on the number of labels: only on the size of a request, and of an object.
    yield "ten thousand labels", Judged(labels(10_000), 201)
    yield "a request of more than 3 MiB", Judged(labels(230_000), 413, "limit is 3145728")
    yield "as much data as fits", Judged(maps(data={"a": "x" * MEBIBYTE}), 201)
    yield "too much data", Judged(maps(data={"a": "x" * (MEBIBYTE + 1)}), 422, "may not be more than 1048576 bytes")
    yield "annotations as large as allowed", Judged(maps(metadata={"annotations": {"a": "x" * (2**18 - 1)}}), 201)
    yield (
        "annotations too large",
        Judged(maps(metadata={"annotations": {"a": "x" * 2**18}}), 422, "may not be more than 262144 bytes"),
    )


JUDGED = dict([*_paths(), *_sources(), *_bindings(), *_sizes()])
