"""The simulated API server answers as Kubernetes does, where the loops depend on it."""

from typing import Any

import pytest

from understudy.objects.resources import JOBS, NODES, PODS
from understudy.ports import ChangeType, PatchForm, PodBinding, PodEviction, Ref, Refused
from understudy.simulate.api_server import ApiServer, Version


class Watcher:
    def __init__(self) -> None:
        self.heard: list[tuple[ChangeType, str]] = []

    def wants(self, _: Version) -> bool:
        return True

    def push(self, change: ChangeType, version: Version) -> None:
        self.heard.append((change, version.name[1]))


def a_server() -> ApiServer:
    return ApiServer(lambda: 1_000_000.0, (PODS, NODES, JOBS))


def a_pod(server: ApiServer, name: str = "a", node: str = "", **meta: Any) -> Version:
    spec: dict[str, Any] = {"containers": [], "terminationGracePeriodSeconds": 5}
    if node:
        spec["nodeName"] = node
    head = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **meta}}
    return server.create(PODS, {**head, "spec": spec}, "test")


def ref(pod: Version) -> Ref:
    return Ref(PODS, *pod.name)


def test_a_patch_of_another_version_is_a_conflict() -> None:
    server = a_server()
    pod = a_pod(server)
    old = {"metadata": {"resourceVersion": str(pod.revision), "labels": {"x": "1"}}}
    server.patch(ref(pod), old, "", PatchForm.MERGE, "test")
    with pytest.raises(Refused, match="has been changed") as refused:
        server.patch(ref(pod), old, "", PatchForm.MERGE, "test")
    assert refused.value.code == 409


def test_a_patch_that_changes_nothing_is_no_event() -> None:
    server, watcher = a_server(), Watcher()
    pod = a_pod(server, labels={"x": "1"})
    server.watchers[PODS.key].append(watcher)
    server.patch(ref(pod), {"metadata": {"labels": {"x": "1"}}}, "", PatchForm.MERGE, "test")
    assert watcher.heard == []


def test_a_pod_with_a_seat_leaves_with_grace_and_one_without_at_once() -> None:
    server = a_server()
    seated, waiting = a_pod(server, "seated", "n"), a_pod(server, "waiting")
    for pod in (seated, waiting):
        server.delete(ref(pod), None, pod.uid, "", "test")
    assert server.get(ref(waiting)) is None
    leaving = server.found(ref(seated))
    assert leaving.leaving
    assert leaving.metadata["deletionGracePeriodSeconds"] == 5
    server.delete(ref(seated), 0, seated.uid, "", "kubelet")
    assert server.get(ref(seated)) is None


def test_a_finalizer_holds_an_object_until_it_is_taken_away() -> None:
    server, watcher = a_server(), Watcher()
    pod = a_pod(server, finalizers=["f"])
    server.watchers[PODS.key].append(watcher)
    server.delete(ref(pod), 0, "", "", "test")
    assert server.found(ref(pod)).leaving
    server.patch(ref(pod), {"metadata": {"finalizers": []}}, "", PatchForm.MERGE, "test")
    assert server.get(ref(pod)) is None
    assert watcher.heard[-1] == (ChangeType.DELETED, "a")


def test_a_gang_is_bound_whole_or_not_at_all() -> None:
    server = a_server()
    one, other = a_pod(server, "one"), a_pod(server, "other", "elsewhere")
    seatings = [PodBinding("one", one.uid, "n"), PodBinding("other", other.uid, "n")]
    with pytest.raises(Refused):
        server.bind("default", seatings, "test")
    assert server.found(ref(one)).node == ""


def test_a_binding_of_a_bound_pod_is_refused() -> None:
    server = a_server()
    pod = a_pod(server, node="n")
    with pytest.raises(Refused):
        server.bind_one(ref(pod), {"metadata": {"uid": pod.uid}, "target": {"name": "n"}}, "test")


def test_a_departure_skips_a_pod_with_another_uid() -> None:
    server = a_server()
    pod = a_pod(server, node="n")
    condition = {"type": "DisruptionTarget", "status": "True"}
    server.depart("default", [PodEviction("a", "another", condition), PodEviction("gone", "x", condition)], "test")
    assert not server.found(ref(pod)).leaving
    server.depart("default", [PodEviction("a", pod.uid, condition)], "test")
    assert server.found(ref(pod)).leaving
