"""Lists of any length, page by page; labels that find the pods of each kind."""

import asyncio
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest

from understudy.cli.queries.events import count_preemptions
from understudy.cli.queries.lists import list_events, list_nodes, list_pods, pod_selectors, pods_of_job, pods_on_nodes

POD = {"metadata": {"name": "a", "namespace": "default"}, "spec": {"containers": []}}


class Pages:
    """An API server that answers with these pages, whatever it is asked."""

    def __init__(self, *pages: list[dict[str, Any]]) -> None:
        self.pages = list(pages)
        self.asked: list[tuple[str, dict[str, list[str]]]] = []

    async def request(self, _method: str, path: str) -> bytes:
        parts = urlsplit(path)
        self.asked.append((parts.path, parse_qs(parts.query)))
        page = self.pages.pop(0) if self.pages else []
        return msgspec.json.encode({"metadata": {"continue": "more" if self.pages else ""}, "items": page})


def named(name: str) -> dict[str, Any]:
    return {**POD, "metadata": {"name": name, "uid": name}}


def test_every_page_of_a_list_is_read() -> None:
    server: Any = Pages([named("a"), named("b")], [named("c")])
    assert [one.metadata.name for one in asyncio.run(list_pods(server, "default"))] == ["a", "b", "c"]
    assert server.asked == [
        ("/api/v1/namespaces/default/pods", {"limit": ["1000"]}),
        ("/api/v1/namespaces/default/pods", {"limit": ["1000"], "continue": ["more"]}),
    ]


@pytest.mark.parametrize(
    ("kind", "asked"),
    [
        ("Job", ["job-name=train"]),
        ("JobSet", ["jobset.sigs.k8s.io/jobset-name=train"]),
        ("TrainJob", ["jobset.sigs.k8s.io/jobset-name=train"]),
        ("PyTorchJob", ["training.kubeflow.org/job-name=train"]),
        ("JAXJob", ["training.kubeflow.org/job-name=train"]),
        ("MPIJob", ["training.kubeflow.org/job-name=train", "mpi_job_name=train"]),
    ],
)
def test_the_pods_of_a_job_are_found_by_the_labels_of_its_kind(kind: str, asked: list[str]) -> None:
    assert pod_selectors(kind, "train") == asked
    server: Any = Pages()
    asyncio.run(pods_of_job(server, "default", kind, "train"))
    assert [query["labelSelector"][0] for _, query in server.asked] == asked


def test_a_pod_that_carries_both_labels_is_one_pod() -> None:
    class Same(Pages):
        async def request(self, _method: str, path: str) -> bytes:
            self.asked.append((path, {}))
            return msgspec.json.encode({"metadata": {}, "items": [named("a")]})

    server: Any = Same()
    assert len(asyncio.run(pods_of_job(server, "default", "MPIJob", "train"))) == 1
    assert len(server.asked) == 2


def test_one_node_s_pods_are_asked_for_alone() -> None:
    server: Any = Pages()
    asyncio.run(pods_on_nodes(server, ["n-1"]))
    asyncio.run(pods_on_nodes(server, ["n-1", "n-2"]))
    assert [query.get("fieldSelector") for _, query in server.asked] == [["spec.nodeName=n-1"], None]


def test_a_real_cluster_leaves_out_kinds_and_writes_nulls() -> None:
    event = {"metadata": {"name": "e", "creationTimestamp": None}, "involvedObject": {}, "eventTime": None}
    server: Any = Pages([{**event, "firstTimestamp": None, "lastTimestamp": None, "source": {}}])
    [found] = asyncio.run(list_events(server, "default"))
    assert (found.at, found.times) == (0.0, 1)
    nodes: Any = Pages([{"metadata": {"name": "n"}, "spec": {}, "status": {}}])
    assert [node.metadata.name for node in asyncio.run(list_nodes(nodes))] == ["n"]


def test_setbacks_are_counted_by_job() -> None:
    def event(kind: str, uid: str, count: int) -> dict[str, Any]:
        return {"metadata": {"name": uid}, "involvedObject": {"kind": kind, "uid": uid}, "count": count}

    class ByReason(Pages):
        async def request(self, _method: str, path: str) -> bytes:
            events = [event("Job", "j", 2), event("Pod", "p", 1)] if "Preempted" in path else [event("Job", "j", 1)]
            return msgspec.json.encode({"metadata": {}, "items": events})

    server: Any = ByReason()
    assert asyncio.run(count_preemptions(server, "default")) == {"j": 3}
