"""Sequences of requests, of any method, whose last answer the embedded server and a real kube-apiserver give alike."""

import json
from collections.abc import Iterator
from typing import Any

from tests.embedded.server.conformance_requests import (
    APPLY,
    MERGE,
    NAMESPACE,
    Asked,
    Document,
    Judged,
    config_map,
    pod,
)

ONE = "/configmaps/judged"
WHO_AM_I = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
RBAC = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{NAMESPACE}"
BUDGETS = f"/apis/policy/v1/namespaces/{NAMESPACE}/poddisruptionbudgets"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GROUP = f"{NAMESPACE}.example.com"
BOB = {"Impersonate-User": "bob"}
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def _get(path: str, **headers: str) -> Asked:
    return Asked(path, None, "GET", headers=headers)


def _put(path: str, body: Document) -> Asked:
    return Asked(path, body, "PUT")


def _revisions() -> Iterator[tuple[str, Judged]]:
    def mapped(revision: str, value: str = "new") -> Document:
        return config_map(metadata={"resourceVersion": revision}, data={"a": value})

    made = Asked("/configmaps", config_map(data={"a": "old"}))
    modified = "the object has been modified"
    yield "a new object of revision 0", Judged(Asked("/configmaps", mapped("0")), 201)
    changed = {"data": {"a": "new"}}
    yield "replaced at revision 0", Judged(_put(ONE, mapped("0")), 200, before=(made,), answer=changed)
    yield "replaced at no revision", Judged(_put(ONE, mapped("")), 200, before=(made,), answer=changed)
    yield "replaced at an old revision", Judged(_put(ONE, mapped("1")), 409, modified, (made,))
    budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "judged"}}
    budget["spec"] = {"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}}
    for revision in ("0", ""):
        body = {**budget, "metadata": {"name": "judged", "resourceVersion": revision}}
        needed = "metadata.resourceVersion: Invalid value"
        yield (
            f"a budget replaced at revision {revision!r}",
            Judged(_put(f"{BUDGETS}/judged", body), 422, needed, (Asked(BUDGETS, budget),)),
        )
    patched = Asked(ONE, {"metadata": {"resourceVersion": "1"}}, "PATCH", MERGE)
    yield "patched at an old revision", Judged(patched, 409, modified, (made,))
    absent = _put("/configmaps/judged", mapped(""))
    yield "no object replaced", Judged(absent, 404, 'configmaps "judged" not found')


def _secrets() -> Iterator[tuple[str, Judged]]:
    def secret(text: str) -> Asked:
        body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "judged"}, "data": {"a": text}}
        return Asked("/secrets", body)

    plain = {"data": {"a": "aGVsbG8="}}
    yield "base64 with line breaks", Judged(secret("aGVs\nbG8=\n"), 201, answer=plain)
    yield "base64 with carriage returns", Judged(secret("aGVs\r\nbG8="), 201, answer=plain)
    yield "base64 with a space", Judged(secret("aGVs bG8="), 400, "illegal base64 data")


def _definition(*versions: Document) -> Asked:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    names = {"plural": "gadgets", "singular": "gadget", "kind": "Gadget"}
    offered = [{"served": True, "storage": False, "schema": schema, **version} for version in versions]
    spec = {"group": GROUP, "scope": "Namespaced", "names": names, "versions": offered}
    head = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    return Asked(DEFINITIONS, {**head, "metadata": {"name": f"gadgets.{GROUP}"}, "spec": spec})


def _deprecations() -> Iterator[tuple[str, Judged]]:
    old, new = {"name": "v1beta1", "deprecated": True}, {"name": "v1", "storage": True}
    worded = {**old, "deprecationWarning": "take another"}
    place = f"/apis/{GROUP}/%s/namespaces/{NAMESPACE}/gadgets"
    gone = (Asked(f"{DEFINITIONS}/gadgets.{GROUP}", None, "DELETE"),)
    said = f"{GROUP}/v1beta1 Gadget is deprecated; use {GROUP}/v1 Gadget"
    for name, versions, asked, warning in (
        ("listed", (old, new), "v1beta1", said),
        ("listed in words of its own", (worded, new), "v1beta1", "take another"),
        ("not asked for", (old, new), "v1", ""),
    ):
        where = place % asked
        before = (_definition(*versions), _get(where))
        yield f"a deprecated version {name}", Judged(_get(where), 200, before=before, warning=warning, after=gone)
    unused = _definition({**new, "deprecationWarning": "never said"})
    yield "a warning without a deprecation", Judged(unused, 422, "can only be set for deprecated versions")


def _apply(manager: str, force: bool = False, **fields: Any) -> Asked:
    query = f"fieldManager={manager}" + "&force=true" * force
    return Asked(f"{ONE}?{query}", config_map(**fields), "PATCH", APPLY)


def _applies() -> Iterator[tuple[str, Judged]]:
    first = _apply("first", data={"a": "1", "b": "1"})
    one = [{"manager": "first", "operation": "Apply", "apiVersion": "v1"}]
    yield "applied", Judged(first, 201, answer={"metadata": {"managedFields": one}})
    yield "applied again", Judged(first, 200, before=(first,), answer={"metadata": {"managedFields": one}})
    less = _apply("first", data={"b": "1"})
    yield "applied without a field", Judged(less, 200, before=(first,), answer={"data": {"a": None, "b": "1"}})
    other = _apply("second", data={"a": "2"})
    conflict = 'Apply failed with 1 conflict: conflict with "first": .data.a'
    yield "applied by another", Judged(other, 409, conflict, (first,))
    forced = _apply("second", force=True, data={"a": "2"})
    both = [*one, {"manager": "second", "operation": "Apply"}]
    taken = {"data": {"a": "2", "b": "1"}, "metadata": {"managedFields": both}}
    yield "applied by another by force", Judged(forced, 200, before=(first,), answer=taken)
    back = 'Apply failed with 1 conflict: conflict with "second": .data.a'
    yield "applied after a field was taken", Judged(first, 409, back, (first, forced))
    yield "applied without a manager", Judged(_apply(""), 422, "is required for apply patch")
    with_fields = _apply("first", metadata={"managedFields": [{"manager": "x"}]})
    yield "applied with managed fields", Judged(with_fields, 400, "metadata.managedFields must be nil")


def _moves_to_the_server() -> Iterator[tuple[str, Judged]]:
    """kubectl apply, then kubectl apply --server-side: the fields of the former are the latter's."""

    def labelled(value: str) -> Document:
        return config_map(metadata={"labels": {"app": value}}, data={"a": value})

    def on_the_client(value: str) -> Asked:
        configuration = json.dumps(labelled(value))
        body = labelled(value)
        body["metadata"]["annotations"] = {LAST_APPLIED: configuration}
        return Asked("/configmaps?fieldManager=kubectl-client-side-apply", body)

    def on_the_server(value: str) -> Asked:
        return Asked(f"{ONE}?fieldManager=kubectl", labelled(value), "PATCH", APPLY)

    made, moved = on_the_client("1"), on_the_server("1")
    for name, before, value in (
        ("unchanged", (made,), "1"),
        ("changed", (made,), "2"),
        ("unchanged, then changed", (made, moved), "2"),
        ("twice unchanged", (made, moved, moved), "1"),
    ):
        answer = {"data": {"a": value}, "metadata": {"labels": {"app": value}}}
        yield f"moved to the server {name}", Judged(on_the_server(value), 200, before=before, answer=answer)


def _impersonation() -> Iterator[tuple[str, Judged]]:
    listed = 'User "bob" cannot list resource "configmaps" in API group "" in the namespace "$namespace"'
    as_bob = Asked("/configmaps", None, "GET", headers=BOB)
    yield "a list as another user", Judged(as_bob, 403, f"configmaps is forbidden: {listed}")
    group = {"Impersonate-Group": "system:masters"}
    yield "a list as a group without a user", Judged(Asked("/configmaps", None, "GET", headers=group), 400)
    made = Asked("/pods", pod(), headers=BOB)
    yield "a pod made as another user", Judged(made, 403, 'User "bob" cannot create resource "pods"')
    rights = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}]
    role = Asked(f"{RBAC}/roles", {"metadata": {"name": "judged"}, "rules": rights})
    subject = {"kind": "User", "name": "bob", "apiGroup": "rbac.authorization.k8s.io"}
    reference = {"kind": "Role", "name": "judged", "apiGroup": "rbac.authorization.k8s.io"}
    binding = Asked(
        f"{RBAC}/rolebindings", {"metadata": {"name": "judged"}, "subjects": [subject], "roleRef": reference}
    )
    yield "a list as another user who may", Judged(as_bob, 200, before=(role, binding, as_bob))
    review: Document = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    told = {"status": {"userInfo": {"username": "bob", "groups": ["system:authenticated"]}}}
    yield "another user's own name", Judged(Asked(WHO_AM_I, review, headers=BOB), 201, answer=told)
    account = f"system:serviceaccount:{NAMESPACE}:robot"
    groups = ["system:serviceaccounts", f"system:serviceaccounts:{NAMESPACE}", "system:authenticated"]
    robot = {"Impersonate-User": account}
    told = {"status": {"userInfo": {"username": account, "groups": groups}}}
    yield "a service account's own name", Judged(Asked(WHO_AM_I, review, headers=robot), 201, answer=told)


def _autoscalers() -> Iterator[tuple[str, Judged]]:
    place = f"/apis/autoscaling/%s/namespaces/{NAMESPACE}/horizontalpodautoscalers"
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "judged"}
    sizes = {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 5}
    aimed = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}
    old = {**sizes, "targetCPUUtilizationPercentage": 80}
    new = {**sizes, "metrics": [{"type": "Resource", "resource": aimed}]}
    head = {"kind": "HorizontalPodAutoscaler", "metadata": {"name": "judged"}}
    for made, asked in (("v1", "v2"), ("v2", "v1"), ("v1", "v1"), ("v2", "v2")):
        spec = {"v1": old, "v2": new}
        body = {"apiVersion": f"autoscaling/{made}", **head, "spec": spec[made]}
        answer = {"apiVersion": f"autoscaling/{asked}", "spec": spec[asked]}
        yield (
            f"an autoscaler of {made} read as {asked}",
            Judged(_get(f"{place % asked}/judged"), 200, before=(Asked(place % made, body),), answer=answer),
        )


STORIES = dict(
    [
        *_revisions(),
        *_secrets(),
        *_deprecations(),
        *_applies(),
        *_moves_to_the_server(),
        *_impersonation(),
        *_autoscalers(),
    ]
)
