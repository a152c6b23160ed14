"""Beside the real Kueue: it says when a job may run, and Understudy where. Neither does the work of the other."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from tests.kube.cluster import programs, releases
from tests.kube.cluster.api import Api, Object
from tests.kube.cluster.kwok import SLICE, Nodes
from tests.kube.cluster.processes import wait_until
from tests.kube.cluster.running import Cluster, cluster
from tests.kube.cluster.settings import Settings
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
from tests.kube.scenery import set_priorities
from tests.kube.shell import Shell
from tests.kube.witness import Witness, uids
from understudy.objects.pods import Pod

QUEUE = "team"
KINDS: dict[str, Callable[[str], Object]] = {"Job": lambda name: job(name, 4), "JobSet": jobset}
HOSTNAME = "kubernetes.io/hostname"


@pytest.fixture(scope="module")
def kube() -> Iterator[Cluster]:
    """A cluster of its own: Kueue has a look at every job and pod there is."""
    if not programs.at_hand():
        pytest.skip(programs.HOW_TO)
    if programs.missing((releases.KUEUE,)):
        pytest.skip(f"Kueue is not built: {releases.BUILD_EXTRAS}=1 make test-kube does that, once")
    with cluster(Settings(operators=("jobset", "kueue"), lease_seconds=12)) as running:
        yield running


class Queue:
    """Accelerators that the jobs of a namespace share, and the jobs that wait for them."""

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
        """What Kueue has written down about a job."""
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
def opened(api: Api, witness: Witness) -> Iterator[Opener]:
    """Opens a queue with as many accelerators."""
    set_priorities(api, [priority_class(name, value) for name, value in CLASSES], witness.namespace)
    made: list[Queue] = []

    def open_one(gpus: int, **more: Any) -> Queue:
        made.append(Queue(api, witness.namespace, gpus, **more))
        return made[-1]

    yield open_one
    for queue in made:
        queue.clear()


def writers_of_suspend(api: Api, path: str) -> set[str]:
    """Who has a say in whether it is suspended."""
    fields = api.get(path)["metadata"]["managedFields"]
    return {entry["manager"] for entry in fields if "f:suspend" in entry["fieldsV1"].get("f:spec", {})}


@pytest.mark.parametrize("kind", KINDS)
def test_it_waits_for_its_turn_and_is_then_seated_whole(
    nodes: Nodes, witness: Witness, opened: Opener, shell: Shell, kind: str
) -> None:
    nodes.add("a", "b", "c", "d", "e", "f", resources=ONE_GPU)  # room for more than the queue allows
    queue = opened(gpus=4)
    first = queue.submit(KINDS[kind]("first"))
    witness.until("the first runs", lambda: witness.runs("first", 4))
    second = queue.submit(jobset("second", replicas=1, size=2))
    wait_until(lambda: "Kueue says: " in shell.shows("why", "second"), "Kueue has said why it waits", SECONDS)
    told = shell.shows("why", "second")
    assert "JobSet" in told
    assert "waits in Kueue's queue team" in told
    assert "quota for nvidia.com/gpu" in told
    assert "is queued by Kueue" in shell.run("resume", "second").err
    assert queue.is_suspended(second)
    assert witness.ever("second") == set()
    queue.finish(first)
    witness.until("the second runs", lambda: witness.runs("second", 2))
    assert not any("understudy" in one for one in writers_of_suspend(queue.api, second))


@pytest.mark.parametrize("kind", KINDS)
def test_kueue_may_take_its_turn_away(nodes: Nodes, witness: Witness, opened: Opener, kind: str) -> None:
    nodes.add("a", "b", "c", "d", "e", "f", resources=ONE_GPU)
    queue = opened(gpus=4)
    low = queue.submit(KINDS[kind]("low"))
    before = witness.until("it runs", lambda: witness.runs("low", 4))
    high = queue.submit(jobset("high", replicas=1, size=2), "high")
    witness.until("the important one runs", lambda: witness.runs("high", 2))
    assert queue.is_suspended(low)
    assert not witness.pods("low")
    queue.finish(high)
    after = witness.until("it runs again", lambda: witness.runs("low", 4))
    assert not uids(before) & uids(after)
    assert not any("understudy" in one for one in writers_of_suspend(queue.api, low))


@pytest.mark.parametrize("kind", KINDS)
def test_it_gives_way_to_who_is_not_queued_and_keeps_its_turn(
    nodes: Nodes, witness: Witness, opened: Opener, kind: str
) -> None:
    nodes.add("a", "b", "c", "d", resources=ONE_GPU)
    queue = opened(gpus=4)
    low = queue.submit(KINDS[kind]("low"))
    witness.until("it runs", lambda: witness.runs("low", 4))
    high = of_class("high", job("high", size=2))
    queue.api.create(high, witness.namespace)
    witness.until("the important one runs", lambda: witness.runs("high", 2))
    witness.until("the other one waits, whole", lambda: len(witness.pods("low")) == 4 and not witness.seated("low"))
    assert queue.is_admitted(low)
    assert not queue.is_suspended(low)
    queue.finish(queue.api.path(high, witness.namespace))
    witness.until("it runs again", lambda: witness.runs("low", 4))
    status = queue.api.get(low)["status"]
    assert (status.get("failed", 0), status.get("restarts", 0)) == (0, 0)
    assert not any("understudy" in one for one in writers_of_suspend(queue.api, low))


def test_a_lost_node_costs_it_one_seat_and_not_its_turn(
    api: Api, nodes: Nodes, witness: Witness, opened: Opener
) -> None:
    nodes.add("a", "b", "c", "d", "spare", resources=ONE_GPU)
    queue = opened(gpus=4)
    path = queue.submit(jobset("low"))
    before = witness.until("it runs", lambda: witness.runs("low", 4))
    lost = before[0]
    taint(api, lost.spec.node_name, OUT_OF_SERVICE)

    def mended() -> list[Pod]:
        pods = witness.runs("low", 4)
        return pods if lost.metadata.uid not in uids(pods) else []

    after = witness.until("it is whole again", mended)
    assert uids(before) - uids(after) == {lost.metadata.uid}
    assert queue.is_admitted(path)


def test_where_kueue_places_by_topology_it_is_seated_there(nodes: Nodes, witness: Witness, opened: Opener) -> None:
    for name in ("left-0", "left-1", "right-0", "right-1"):
        nodes.add(name, labels={SLICE: name.partition("-")[0], "pool": "queued"}, resources=ONE_GPU)
    queue = opened(gpus=4, topology=True)
    for name in ("first", "second"):
        made = job(name, 2)
        made["spec"]["template"]["metadata"] = {"annotations": {"kueue.x-k8s.io/podset-required-topology": SLICE}}
        queue.submit(made)
    witness.until("both run", lambda: witness.runs("first", 2) and witness.runs("second", 2))
    placed = [witness.pods("first"), witness.pods("second")]
    domains = [witness.domains(pods, SLICE) for pods in placed]
    assert [len(found) for found in domains] == [1, 1]
    assert domains[0] != domains[1]
    for seated in (one for pods in placed for one in pods):
        assert seated.spec.node_selector[HOSTNAME] == seated.spec.node_name


def group_of_pods(name: str, size: int) -> Sequence[Object]:
    """Pods without an owner: Kueue lets them through its gate together."""
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


def test_pods_behind_its_gate_wait_and_start_together(api: Api, nodes: Nodes, witness: Witness, opened: Opener) -> None:
    nodes.add("a", "b", "c", "d", "e", "f", resources=ONE_GPU)
    queue = opened(gpus=4)
    first = queue.submit(job("first", 4))
    witness.until("the first runs", lambda: witness.runs("first", 4))
    for pod in group_of_pods("group", 2):
        api.create(pod, witness.namespace)

    def together() -> list[Pod]:
        return [one for one in witness.everybody() if one.metadata.name.startswith("group-")]

    witness.until("they are there", lambda: len(together()) == 2)
    assert all(one.spec.scheduling_gates for one in together())
    queue.finish(first)
    witness.until("they run", lambda: [one.status.phase for one in together()] == ["Running"] * 2)
    for one in together():  # Kueue has a finalizer on them, which it takes off as long as their group is there
        api.delete(f"/api/v1/namespaces/{witness.namespace}/pods/{one.metadata.name}")
    witness.until("they are gone", lambda: not together())
