"""Jobs under their real operators: they start whole, are mended seat by seat, give way whole, and come back.

None of it costs them anything that they may have only so often.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from tests.kube.cluster.api import Api, Object
from tests.kube.cluster.kwok import Nodes
from tests.kube.cluster.processes import wait_until
from tests.kube.cluster.stages import LEAVES_AFTER
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
from tests.kube.scenery import set_priorities
from tests.kube.witness import Witness, uids
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


class Stage:
    def __init__(self, api: Api, nodes: Nodes, witness: Witness, kind: Kind) -> None:
        self.api = api
        self.nodes = nodes
        self.witness = witness
        self.kind = kind
        self.path = api.path(kind.document, witness.namespace)

    def runs(self) -> list[Pod]:
        return self.witness.runs("low", self.kind.pods)

    def is_paused(self) -> bool:
        spec: Any = self.api.get(self.path)["spec"]
        for key in self.kind.suspend:
            spec = spec.get(key) or {}
        return spec is True

    def victim(self, pods: list[Pod]) -> Pod:
        """A worker that has a node for itself."""
        return next(pod for pod in pods if [other.spec.node_name for other in pods].count(pod.spec.node_name) == 1)

    def swapped(self, cause: str, lose: Callable[[str], None]) -> str:
        """The node that was lost; all other pods stay, and no pod is replaced twice."""
        before, ever = self.runs(), self.witness.ever("low")
        lost = self.victim(before)
        lose(lost.spec.node_name)
        after = self.witness.until("it is whole again", lambda: self._elsewhere(lost))
        assert uids(before) - uids(after) == {lost.metadata.uid}
        wait_until(lambda: self._incident(lost.spec.node_name), "the incident is closed", SECONDS)
        incident = self._incident(lost.spec.node_name)
        assert cause in incident["spec"]["cause"]
        assert (incident["status"]["outcome"], incident["status"].get("victimCount", 0)) == ("swapped", 0)
        assert len(self.witness.ever("low") - ever) == 1
        return lost.spec.node_name

    def _elsewhere(self, lost: Pod) -> list[Pod]:
        pods = self.runs()
        return pods if lost.spec.node_name not in {pod.spec.node_name for pod in pods} else []

    def _incident(self, node: str) -> Object:
        """The one that is closed of those that this node brought about."""
        found = self.api.items(f"/apis/understudy.dev/v1alpha1/namespaces/{self.witness.namespace}/incidents")
        return next((one for one in found if one["spec"]["nodes"] == [node] and one["status"].get("runningAt")), {})

    def told(self) -> set[str]:
        """What happened to it in Understudy's words."""
        events = self.api.items(f"/apis/events.k8s.io/v1/namespaces/{self.witness.namespace}/events")
        ours = [event for event in events if event.get("reportingController") == "understudy.dev/scheduler"]
        return {event["reason"] for event in ours if event["regarding"]["name"] == "low"}

    def spent(self) -> Iterator[str]:
        """Of what it may have only so often."""
        status = self.api.get(self.path)["status"]
        if status.get("restarts"):
            yield f"{status['restarts']} restarts"
        for condition in status.get("conditions", ()):
            if condition["type"] in ("Failed", "Restarting") and condition["status"] == "True":
                yield condition["type"]
        for child in self.api.items(f"/apis/batch/v1/namespaces/{self.witness.namespace}/jobs"):
            if child["status"].get("failed"):
                yield f"{child['metadata']['name']}: {child['status']['failed']} failures"


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_mended_gives_way_and_comes_back(api: Api, nodes: Nodes, witness: Witness, kind: str) -> None:
    stage = Stage(api, nodes, witness, KINDS[kind])
    set_priorities(api, [priority_class(name, value) for name, value in CLASSES], witness.namespace)
    nodes.add(*NODES, resources=ONE_GPU)
    runtime = of_class("low", training_runtime("runtime"))
    create_with_runtime(api, of_class("low", stage.kind.document), witness.namespace, runtime)
    witness.until("it runs", stage.runs)

    tainted = stage.swapped("taint", lambda node: taint(api, node, OUT_OF_SERVICE))
    nodes.reboot(tainted)  # else it is held back: what was force-deleted there may still run
    taint(api, tainted)
    silent = stage.swapped("lease", nodes.die)
    nodes.come_back(silent)

    api.create(of_class("high", job("high", size=2)), witness.namespace)
    witness.until("the important one runs", lambda: witness.runs("high", 2))
    witness.until("the other one has left, whole", lambda: not witness.pods("low"))
    assert stage.is_paused()
    api.request("DELETE", api.path(job("high", 2), witness.namespace), {"propagationPolicy": "Background"})
    witness.until("it runs again", stage.runs)
    assert not stage.is_paused()
    assert list(stage.spent()) == []
    wait_until(lambda: stage.told() >= {"HotSwapped", "Preempted", "Resumed"}, "people are told", SECONDS)


def test_a_jobset_pays_nothing_where_the_cluster_was_quicker_to_delete(
    api: Api, nodes: Nodes, witness: Witness
) -> None:
    """A taint drives pods out by itself, and then there is a second in which its Job need not hear of it."""
    made = jobset("low", replicas=1, size=2)
    template = made["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    template["metadata"] = {"annotations": {LEAVES_AFTER: "60s"}}
    stage = Stage(api, nodes, witness, Kind(made, 2, ("suspend",)))
    nodes.add("a", "b", "c", resources=ONE_GPU)
    api.create(made, witness.namespace)
    lost, other = witness.until("it runs", stage.runs)
    api.delete(f"/api/v1/namespaces/{witness.namespace}/pods/{lost.metadata.name}")
    taint(api, lost.spec.node_name, OUT_OF_SERVICE)

    def is_whole() -> list[Pod]:
        pods = stage.runs()
        return pods if lost.spec.node_name not in {pod.spec.node_name for pod in pods} else []

    assert other.metadata.uid in uids(witness.until("it is whole again", is_whole))
    assert list(stage.spent()) == []


def test_an_elastic_job_goes_on_with_fewer_and_grows_back(api: Api, nodes: Nodes, witness: Witness) -> None:
    nodes.add("a", "b", "c", resources=ONE_GPU)
    api.create(elastic(workers=3), witness.namespace)
    before = witness.until("it runs", lambda: witness.runs("low", 3))
    lost, *rest = before
    taint(api, lost.spec.node_name, OUT_OF_SERVICE)

    def goes_on() -> bool:
        """The operator makes the third pod again, and it waits."""
        return uids(witness.seated("low")) == uids(rest) and len(witness.pods("low")) == 3

    witness.until("the others go on", goes_on)
    nodes.reboot(lost.spec.node_name)
    taint(api, lost.spec.node_name)
    after = witness.until("it is three again", lambda: witness.runs("low", 3))
    assert uids(rest) < uids(after)
    assert "runPolicy" not in api.get(api.path(elastic(3), witness.namespace))["spec"]
