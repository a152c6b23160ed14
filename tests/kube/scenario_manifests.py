"""Scenarios on a real cluster: converts manifests, nodes and priorities for it, and deletes them afterwards."""

import re
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tests.kube.cluster import kwok
from tests.kube.cluster.api import Api, ApiError, Object
from tests.kube.cluster.processes import HOST, wait_until
from tests.scenarios.scenario_file import Scenario
from tests.scenarios.snapshot_world import key_of
from understudy.kinds.annotations import WARM_FOR

SECONDS = 60.0
_COMPLAINT = re.compile(r"\b(WARNING|ERROR|CRITICAL)\b|Traceback|Error\b")
_CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
# The operator here has MPIJob in a later version, in which the same fields mean the same.
_LATER = {("kubeflow.org/v1", "MPIJob"): "kubeflow.org/v2beta1"}


# What cannot be played here, and why.


def _brings_pods_of_jobs(scenario: Scenario) -> bool:
    keys = [(key_of(document), document["kind"]) for document in scenario.manifests()]
    return any(kind == "Pod" and not key.startswith(("Pod/", "PodGroup/")) for key, kind in keys)


def _brings_orphans(scenario: Scenario) -> bool:
    return any(document["metadata"].get("ownerReferences") for document in scenario.manifests())


def _brings_understudies(scenario: Scenario) -> bool:
    return any(WARM_FOR in document["metadata"].get("annotations", {}) for document in scenario.manifests())


OBSTACLES: tuple[tuple[Callable[[Scenario], bool], str], ...] = (
    (_brings_pods_of_jobs, "the pods of a job are made by its operator here, not given"),
    (_brings_orphans, "what belongs to an owner that does not exist is swept away here"),
    (_brings_understudies, "it is the agent of an embedded cluster that lets understudies step in; no kubelet can"),
)


def why_not(scenario: Scenario, api: Api) -> str:
    """Why a scenario is not possible in this world; empty if it is."""
    found = [words for is_in_the_way, words in OBSTACLES if is_in_the_way(scenario)]
    strange = [document for document in scenario.manifests() if not _is_served(api, document)]
    found += {f"this cluster knows no {document['kind']} of {document['apiVersion']}": None for document in strange}
    return "; ".join(found)


def _is_served(api: Api, document: Object) -> bool:
    group = {**document, "apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup"}  # a field of pods comes with it
    try:
        api.place({**document, "apiVersion": _version(document)})
        if "schedulingGroup" in document.get("spec", {}):
            api.place(group)
    except ApiError:
        return False
    return True


def _version(document: Object) -> str:
    return _LATER.get((document["apiVersion"], document["kind"]), str(document["apiVersion"]))


# Manifests


def manifest(document: Object, namespace: str) -> Object:
    """The manifest for Understudy, in this namespace, with the fields that Kubernetes requires."""
    metadata = {**document["metadata"], "namespace": namespace}
    restart = {} if document["kind"] in ("PyTorchJob", "Pod") else {"restartPolicy": "Never"}
    made: Object = _with_pods(document, {**restart, "schedulerName": "understudy"})
    return {**made, "apiVersion": _version(document), "metadata": metadata}


def _with_pods(value: Any, fields: Object) -> Any:
    """The same with these fields in every pod spec that does not have them."""
    match value:
        case {"containers": list()}:
            return {**fields, **value}
        case dict():
            return {key: _with_pods(inner, fields) for key, inner in value.items()}
        case list():
            return [_with_pods(inner, fields) for inner in value]
        case _:
            return value


def node(wanted: Object) -> Object:
    resources = {name: str(amount) for name, amount in wanted["status"]["allocatable"].items()}
    made = kwok.node(wanted["metadata"]["name"], wanted["metadata"]["labels"], resources)
    return {**made, "spec": {"taints": wanted["spec"]["taints"]}}


# The cluster


def set_priorities(api: Api, classes: Iterable[Object], namespace: str) -> None:
    """Existing classes with the right values stay. After a change, waits until the admission of pods uses it."""
    known = {one["metadata"]["name"]: one for one in api.items(_CLASSES)}
    for wanted in classes:
        name = wanted["metadata"]["name"]
        if name in known and any(known[name].get(field) != value for field, value in _said(wanted)):
            api.delete(f"{_CLASSES}/{name}")
            del known[name]
        if name not in known:
            api.create(wanted)
            wait_until(lambda w=wanted: _counts(api, w, namespace), f"priority {name} counts", SECONDS)  # type: ignore[misc]


def _said(wanted: Object) -> list[tuple[str, Any]]:
    return [(field, value) for field, value in wanted.items() if field not in ("apiVersion", "kind", "metadata")]


def _counts(api: Api, wanted: Object, namespace: str) -> bool:
    spec = {"priorityClassName": wanted["metadata"]["name"], "containers": [{"name": "c", "image": "none"}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "probe"}, "spec": spec}
    try:
        made = api.request("POST", f"/api/v1/namespaces/{namespace}/pods?dryRun=All", pod)
    except ApiError:
        return False
    return bool(made["spec"]["priority"] == wanted["value"])


def remove_pods(api: Api, namespace: str) -> None:
    """Also those with finalizers."""
    path = f"/api/v1/namespaces/{namespace}/pods"
    for pod in api.items(path):
        own = f"{path}/{pod['metadata']['name']}"
        if pod["metadata"].get("finalizers"):
            try:
                api.patch(own, {"metadata": {"finalizers": None}})
            except ApiError:
                continue
        api.delete(own, grace=0)


def answers(port: int, page: str) -> bool:
    try:
        with urllib.request.urlopen(f"http://{HOST}:{port}{page}", timeout=5) as answer:
            return bool(answer.status == 200)
    except urllib.error.HTTPError:
        return False


def complaints(log: Iterable[str]) -> Iterator[str]:
    return (line for line in log if _COMPLAINT.search(line))
