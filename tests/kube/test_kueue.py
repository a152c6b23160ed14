"""Beside the real Kueue: Kueue decides when a job may run, and Understudy where."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from tests.kube.cluster import programs, releases
from tests.kube.cluster.api import Api, Object
from tests.kube.cluster.kwok import SLICE, Nodes
from tests.kube.cluster.processes import wait_until
from tests.kube.cluster.running import Cluster, cluster
from tests.kube.cluster.settings import Settings
from tests.kube.cluster_observer import ClusterObserver, uids
from tests.kube.command_line import Shell
from tests.kube.jobs import (
    CLASSES,
    ONE_GPU,
    OUT_OF_SERVICE,
    SECONDS,
    job,
    jobset,
    of_class,
    pod_spec,
    pod_specs,
    priority_class,
    taint,
)
from tests.kube.scenario_manifests import set_priorities
from understudy.objects.pods import Pod

QUEUE = "team"
KINDS: dict[str, Callable[[str], Object]] = {"Job": lambda name: job(name, 4), "JobSet": jobset}
HOSTNAME = "kubernetes.io/hostname"


@pytest.fixture(scope="module")
def kube() -> Iterator[Cluster]:
    """Its own cluster, since Kueue acts on all jobs and pods of a cluster."""
    if not programs.at_hand():
        pytest.skip(programs.HOW_TO)
    if programs.missing((releases.KUEUE,)):
        pytest.skip(f"Kueue is not built: {releases.BUILD_EXTRAS}=1 make test-kube does that, once")
    with cluster(Settings(operators=("jobset", "kueue"), lease_seconds=12)) as running:
        yield running


class Queue:
    """A Kueue queue: the accelerators that the jobs of a namespace share."""

    def __init__(self, api: Api, namespace: str, gpus: int, topology: bool = False) -> None:
        self.api = api
        self.namespace = namespace
        self._name = namespace  # a queue of all namespaces, with one in ours that leads to it
        if topology:
            self._make("Topology", self._name, {"levels": [{"nodeLabel": SLICE}, {"nodeLabel": HOSTNAME}]})
        labels = {"nodeLabels": {"pool": "queued"}, "topologyName": self._name} if topology else {}
        self._make("ResourceFlavor", self._name, labels)
        resource = {"name": "nvidia.com/gpu", "nominalQuota": str(gpus)}
        group = {
            "coveredResources": ["nvidia.com/gpu"],
            "flavors": [{"name": self._name, "resources": [resource]}],
        }
        shared = {
            "namespaceSelector": {},
            "preemption": {"withinClusterQueue": "LowerPriority"},
            "resourceGroups": [group],
        }
        self._make("ClusterQueue", self._name, shared)
        self._make("LocalQueue", QUEUE, {"clusterQueue": self._name}, namespace)

    def _make(self, kind: str, name: str, spec: Object, namespace: str = "") -> None:
        document = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": {"name": name}, "spec": spec}
        self.api.create(document, namespace)

    def submit(self, document: Object, priority: str = "low") -> str:
        document["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": QUEUE}
        for spec in pod_specs(document):
            spec["priorityClassName"] = priority
        self.api.create(document, self.namespace)
        return self.api.path(document, self.namespace)

    def finish(self, path: str) -> None:
        self.api.request("DELETE", path, {"propagationPolicy": "Background"})

    def workload(self, path: str) -> Object:
        """Kueue's Workload of a job."""
        uid = self.api.get(path)["metadata"]["uid"]
        found = self.api.items(f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{self.namespace}/workloads")
        return next((one for one in found if one["metadata"]["ownerReferences"][0]["uid"] == uid), {})

    def is_admitted(self, path: str) -> bool:
        conditions = self.workload(path).get("status", {}).get("conditions", [])
        return any(one["type"] == "Admitted" and one["status"] == "True" for one in conditions)

    def is_suspended(self, path: str) -> bool:
        return bool(self.api.get(path)["spec"]["suspend"])

    def clear(self) -> None:
        for kind, name in (("clusterqueues", self._name), ("resourceflavors", self._name), ("topologies", self._name)):
            self.api.delete(f"/apis/kueue.x-k8s.io/v1beta2/{kind}/{name}")


Opener = Callable[..., Queue]


@pytest.fixture
def opened(api: Api, observer: ClusterObserver) -> Iterator[Opener]:
    """A function that creates a queue with a number of accelerators. The queues are deleted after the test."""
    set_priorities(api, [priority_class(name, value) for name, value in CLASSES], observer.namespace)
    made: list[Queue] = []

    def open_one(gpus: int, **more: Any) -> Queue:
        made.append(Queue(api, observer.namespace, gpus, **more))
        return made[-1]

    yield open_one
    for queue in made:
        queue.clear()


def writers_of_suspend(api: Api, path: str) -> set[str]:
    """The field managers that own `suspend`."""
    fields = api.get(path)["metadata"]["managedFields"]
    return {entry["manager"] for entry in fields if "f:suspend" in entry["fieldsV1"].get("f:spec", {})}


@pytest.mark.parametrize("kind", KINDS)
def test_it_waits_for_its_turn_and_is_then_seated_whole(
    nodes: Nodes, observer: ClusterObserver, opened: Opener, shell: Shell, kind: str
) -> None:
    nodes.add("a", "b", "c", "d", "e", "f", resources=ONE_GPU)  # room for more than the queue allows
    queue = opened(gpus=4)
    first = queue.submit(KINDS[kind]("first"))
    observer.until("the first runs", lambda: observer.runs("first", 4))
    second = queue.submit(jobset("second", replicas=1, size=2))
    wait_until(lambda: "Kueue says: " in shell.shows("why", "second"), "Kueue has said why it waits", SECONDS)
    told = shell.shows("why", "second")
    assert "JobSet" in told
    assert "waits in Kueue's queue team" in told
    assert "quota for nvidia.com/gpu" in told
    assert "is queued by Kueue" in shell.run("resume", "second").err
    assert queue.is_suspended(second)
    assert observer.ever("second") == set()
    queue.finish(first)
    observer.until("the second runs", lambda: observer.runs("second", 2))
    assert not any("understudy" in one for one in writers_of_suspend(queue.api, second))


@pytest.mark.parametrize("kind", KINDS)
def test_kueue_may_take_its_turn_away(nodes: Nodes, observer: ClusterObserver, opened: Opener, kind: str) -> None:
    nodes.add("a", "b", "c", "d", "e", "f", resources=ONE_GPU)
    queue = opened(gpus=4)
    low = queue.submit(KINDS[kind]("low"))
    before = observer.until("it runs", lambda: observer.runs("low", 4))
    high = queue.submit(jobset("high", replicas=1, size=2), "high")
    observer.until("the important one runs", lambda: observer.runs("high", 2))
    assert queue.is_suspended(low)
    assert not observer.pods("low")
    queue.finish(high)
    after = observer.until("it runs again", lambda: observer.runs("low", 4))
    assert not uids(before) & uids(after)
    assert not any("understudy" in one for one in writers_of_suspend(queue.api, low))


@pytest.mark.parametrize("kind", KINDS)
def test_it_gives_way_to_who_is_not_queued_and_keeps_its_turn(
    nodes: Nodes, observer: ClusterObserver, opened: Opener, kind: str
) -> None:
    nodes.add("a", "b", "c", "d", resources=ONE_GPU)
    queue = opened(gpus=4)
    low = queue.submit(KINDS[kind]("low"))
    observer.until("it runs", lambda: observer.runs("low", 4))
    high = of_class("high", job("high", size=2))
    queue.api.create(high, observer.namespace)
    observer.until("the important one runs", lambda: observer.runs("high", 2))
    observer.until("the other one waits, whole", lambda: len(observer.pods("low")) == 4 and not observer.seated("low"))
    assert queue.is_admitted(low)
    assert not queue.is_suspended(low)
    queue.finish(queue.api.path(high, observer.namespace))
    observer.until("it runs again", lambda: observer.runs("low", 4))
    status = queue.api.get(low)["status"]
    assert (status.get("failed", 0), status.get("restarts", 0)) == (0, 0)
    assert not any("understudy" in one for one in writers_of_suspend(queue.api, low))


def test_a_lost_node_costs_it_one_seat_and_not_its_turn(
    api: Api, nodes: Nodes, observer: ClusterObserver, opened: Opener
) -> None:
    nodes.add("a", "b", "c", "d", "spare", resources=ONE_GPU)
    queue = opened(gpus=4)
    path = queue.submit(jobset("low"))
    before = observer.until("it runs", lambda: observer.runs("low", 4))
    lost = before[0]
    taint(api, lost.spec.node_name, OUT_OF_SERVICE)

    def mended() -> list[Pod]:
        pods = observer.runs("low", 4)
        return pods if lost.metadata.uid not in uids(pods) else []

    after = observer.until("it is whole again", mended)
    assert uids(before) - uids(after) == {lost.metadata.uid}
    assert queue.is_admitted(path)


def test_where_kueue_places_by_topology_it_is_seated_there(
    nodes: Nodes, observer: ClusterObserver, opened: Opener
) -> None:
    for name in ("left-0", "left-1", "right-0", "right-1"):
        nodes.add(name, labels={SLICE: name.partition("-")[0], "pool": "queued"}, resources=ONE_GPU)
    queue = opened(gpus=4, topology=True)
    for name in ("first", "second"):
        made = job(name, 2)
        made["spec"]["template"]["metadata"] = {"annotations": {"kueue.x-k8s.io/podset-required-topology": SLICE}}
        queue.submit(made)
    observer.until("both run", lambda: observer.runs("first", 2) and observer.runs("second", 2))
    placed = [observer.pods("first"), observer.pods("second")]
    domains = [observer.domains(pods, SLICE) for pods in placed]
    assert [len(found) for found in domains] == [1, 1]
    assert domains[0] != domains[1]
    for seated in (one for pods in placed for one in pods):
        assert seated.spec.node_selector[HOSTNAME] == seated.spec.node_name


def group_of_pods(name: str, size: int) -> Sequence[Object]:
    """Kueue removes its scheduling gate from all pods of a group together."""
    return [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": f"{name}-{index}",
                "labels": {"kueue.x-k8s.io/queue-name": QUEUE, "kueue.x-k8s.io/pod-group-name": name},
                "annotations": {"kueue.x-k8s.io/pod-group-total-count": str(size)},
            },
            "spec": {**pod_spec(), "priorityClassName": "low"},
        }
        for index in range(size)
    ]


def test_pods_behind_its_gate_wait_and_start_together(
    api: Api, nodes: Nodes, observer: ClusterObserver, opened: Opener
) -> None:
    nodes.add("a", "b", "c", "d", "e", "f", resources=ONE_GPU)
    queue = opened(gpus=4)
    first = queue.submit(job("first", 4))
    observer.until("the first runs", lambda: observer.runs("first", 4))
    for pod in group_of_pods("group", 2):
        api.create(pod, observer.namespace)

    def together() -> list[Pod]:
        return [one for one in observer.all_pods() if one.metadata.name.startswith("group-")]

    observer.until("they are there", lambda: len(together()) == 2)
    assert all(one.spec.scheduling_gates for one in together())
    queue.finish(first)
    observer.until("they run", lambda: [one.status.phase for one in together()] == ["Running"] * 2)
    for one in together():  # Kueue has a finalizer on them, which it takes off as long as their group is there
        api.delete(f"/api/v1/namespaces/{observer.namespace}/pods/{one.metadata.name}")
    observer.until("they are gone", lambda: not together())
