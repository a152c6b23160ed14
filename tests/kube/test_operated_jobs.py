"""Jobs under their real operators: they start whole, are repaired pod by pod, are preempted whole, and come back.

Nothing of that counts against a limit such as backoffLimit.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from tests.kube.cluster.api import Api, Object
from tests.kube.cluster.kwok import Nodes
from tests.kube.cluster.processes import wait_until
from tests.kube.cluster.stages import LEAVES_AFTER
from tests.kube.cluster_observer import ClusterObserver, uids
from tests.kube.jobs import (
    CLASSES,
    ONE_GPU,
    OUT_OF_SERVICE,
    SECONDS,
    create_with_runtime,
    job,
    jobset,
    mpijob,
    of_class,
    priority_class,
    pytorchjob,
    taint,
    training_runtime,
    trainjob,
)
from tests.kube.scenario_manifests import set_priorities
from understudy.objects.pods import Pod

NODES = ("a", "b", "c", "d", "e")


class Kind(NamedTuple):
    document: Object
    pods: int
    suspend: tuple[str, ...]  # the way to its field


def elastic(workers: int) -> Object:
    made = pytorchjob("low", workers)
    made["spec"]["elasticPolicy"] = {"minReplicas": 2, "maxReplicas": workers, "rdzvBackend": "c10d", "maxRestarts": 3}
    del made["spec"]["pytorchReplicaSpecs"]["Master"]
    return made


KINDS = {
    "JobSet": Kind(jobset("low", replicas=2, size=2), 4, ("suspend",)),
    "MPIJob": Kind(mpijob("low", workers=4), 5, ("runPolicy", "suspend")),
    "PyTorchJob": Kind(pytorchjob("low", workers=3), 4, ("runPolicy", "suspend")),
    "TrainJob": Kind(trainjob("low", nodes=4), 4, ("suspend",)),
}


class OperatedJob:
    def __init__(self, api: Api, nodes: Nodes, observer: ClusterObserver, kind: Kind) -> None:
        self.api = api
        self.nodes = nodes
        self.observer = observer
        self.kind = kind
        self.path = api.path(kind.document, observer.namespace)

    def runs(self) -> list[Pod]:
        return self.observer.runs("low", self.kind.pods)

    def is_paused(self) -> bool:
        spec: Any = self.api.get(self.path)["spec"]
        for key in self.kind.suspend:
            spec = spec.get(key) or {}
        return spec is True

    def victim(self, pods: list[Pod]) -> Pod:
        """A worker that is alone on its node."""
        return next(pod for pod in pods if [other.spec.node_name for other in pods].count(pod.spec.node_name) == 1)

    def swapped(self, cause: str, lose: Callable[[str], None]) -> str:
        """Makes the node of a worker fail and checks the swap: the other pods stay, and one pod replaces the lost one.
        Returns the lost node."""
        before, ever = self.runs(), self.observer.ever("low")
        lost = self.victim(before)
        lose(lost.spec.node_name)
        after = self.observer.until("it is whole again", lambda: self._elsewhere(lost))
        assert uids(before) - uids(after) == {lost.metadata.uid}
        wait_until(lambda: self._incident(lost.spec.node_name), "the incident is closed", SECONDS)
        incident = self._incident(lost.spec.node_name)
        assert cause in incident["spec"]["cause"]
        assert (incident["status"]["outcome"], incident["status"].get("victimCount", 0)) == ("swapped", 0)
        assert len(self.observer.ever("low") - ever) == 1
        return lost.spec.node_name

    def _elsewhere(self, lost: Pod) -> list[Pod]:
        pods = self.runs()
        return pods if lost.spec.node_name not in {pod.spec.node_name for pod in pods} else []

    def _incident(self, node: str) -> Object:
        """The closed incident of this node."""
        found = self.api.items(f"/apis/understudy.dev/v1alpha1/namespaces/{self.observer.namespace}/incidents")
        return next((one for one in found if one["spec"]["nodes"] == [node] and one["status"].get("runningAt")), {})

    def told(self) -> set[str]:
        """Understudy's events on the job."""
        events = self.api.items(f"/apis/events.k8s.io/v1/namespaces/{self.observer.namespace}/events")
        ours = [event for event in events if event.get("reportingController") == "understudy.dev/scheduler"]
        return {event["reason"] for event in ours if event["regarding"]["name"] == "low"}

    def spent(self) -> Iterator[str]:
        """Restarts and failures that are recorded on the job."""
        status = self.api.get(self.path)["status"]
        if status.get("restarts"):
            yield f"{status['restarts']} restarts"
        for condition in status.get("conditions", ()):
            if condition["type"] in ("Failed", "Restarting") and condition["status"] == "True":
                yield condition["type"]
        for child in self.api.items(f"/apis/batch/v1/namespaces/{self.observer.namespace}/jobs"):
            if child["status"].get("failed"):
                yield f"{child['metadata']['name']}: {child['status']['failed']} failures"


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_mended_gives_way_and_comes_back(api: Api, nodes: Nodes, observer: ClusterObserver, kind: str) -> None:
    operated = OperatedJob(api, nodes, observer, KINDS[kind])
    set_priorities(api, [priority_class(name, value) for name, value in CLASSES], observer.namespace)
    nodes.add(*NODES, resources=ONE_GPU)
    runtime = of_class("low", training_runtime("runtime"))
    create_with_runtime(api, of_class("low", operated.kind.document), observer.namespace, runtime)
    observer.until("it runs", operated.runs)

    tainted = operated.swapped("taint", lambda node: taint(api, node, OUT_OF_SERVICE))
    nodes.reboot(tainted)  # else it is held back: what was force-deleted there may still run
    taint(api, tainted)
    silent = operated.swapped("lease", nodes.die)
    nodes.come_back(silent)

    api.create(of_class("high", job("high", size=2)), observer.namespace)
    observer.until("the important one runs", lambda: observer.runs("high", 2))
    observer.until("the other one has left, whole", lambda: not observer.pods("low"))
    assert operated.is_paused()
    api.request("DELETE", api.path(job("high", 2), observer.namespace), {"propagationPolicy": "Background"})
    observer.until("it runs again", operated.runs)
    assert not operated.is_paused()
    assert list(operated.spent()) == []
    wait_until(lambda: operated.told() >= {"HotSwapped", "Preempted", "Resumed"}, "people are told", SECONDS)


def test_a_jobset_pays_nothing_where_the_cluster_was_quicker_to_delete(
    api: Api, nodes: Nodes, observer: ClusterObserver
) -> None:
    """A NoExecute taint deletes pods without Understudy, and the Job may see that a second later."""
    made = jobset("low", replicas=1, size=2)
    template = made["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    template["metadata"] = {"annotations": {LEAVES_AFTER: "60s"}}
    operated = OperatedJob(api, nodes, observer, Kind(made, 2, ("suspend",)))
    nodes.add("a", "b", "c", resources=ONE_GPU)
    api.create(made, observer.namespace)
    lost, other = observer.until("it runs", operated.runs)
    api.delete(f"/api/v1/namespaces/{observer.namespace}/pods/{lost.metadata.name}")
    taint(api, lost.spec.node_name, OUT_OF_SERVICE)

    def is_whole() -> list[Pod]:
        pods = operated.runs()
        return pods if lost.spec.node_name not in {pod.spec.node_name for pod in pods} else []

    assert other.metadata.uid in uids(observer.until("it is whole again", is_whole))
    assert list(operated.spent()) == []


def test_an_elastic_job_goes_on_with_fewer_and_grows_back(api: Api, nodes: Nodes, observer: ClusterObserver) -> None:
    nodes.add("a", "b", "c", resources=ONE_GPU)
    api.create(elastic(workers=3), observer.namespace)
    before = observer.until("it runs", lambda: observer.runs("low", 3))
    lost, *rest = before
    taint(api, lost.spec.node_name, OUT_OF_SERVICE)

    def goes_on() -> bool:
        """The operator creates the third pod again, and it waits."""
        return uids(observer.seated("low")) == uids(rest) and len(observer.pods("low")) == 3

    observer.until("the others go on", goes_on)
    nodes.reboot(lost.spec.node_name)
    taint(api, lost.spec.node_name)
    after = observer.until("it is three again", lambda: observer.runs("low", 3))
    assert uids(rest) < uids(after)
    assert "runPolicy" not in api.get(api.path(elastic(3), observer.namespace))["spec"]
