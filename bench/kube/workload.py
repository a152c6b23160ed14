"""Creates the workload in the cluster: nodes in slices, priorities, and gangs of pods; the same for every scheduler."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import msgspec

from tests.kube.cluster.kwok import node
from tests.kube.cluster.running import Cluster
from understudy.client import KubeClient
from understudy.control.concurrency import run_all
from understudy.objects.resources import PODS, PRIORITY_CLASSES, Resource
from understudy.ports import Ref

NAMESPACE = "bench"
SLICE = "bench.understudy.dev/slice"  # the label whose value the nodes of a slice share
PER_SLICE = 16
TPU, PER_NODE = "google.com/tpu", 4  # a pod takes a node's all, so a gang of 16 takes a slice
POD_GROUPS = Resource("scheduling.k8s.io", "v1beta1", "podgroups", "PodGroup")
LOW, HIGH = "bench-low", "bench-high"


class Gang(msgspec.Struct, frozen=True):
    """Sixteen pods that belong into one slice. `grouped`: said so by a PodGroup; else they are only pods."""

    name: str
    priority: str
    scheduler: str
    grouped: bool
    size: int = PER_SLICE

    def pods(self) -> list[str]:
        return [f"{self.name}-{number}" for number in range(self.size)]


def nodes(count: int) -> list[dict[str, Any]]:
    offered = {"cpu": "96", "memory": "384Gi", "pods": "110", TPU: str(PER_NODE)}
    return [node(f"node-{number}", {SLICE: f"slice-{number // PER_SLICE}"}, offered) for number in range(count)]


def create(cluster: Cluster, count: int) -> None:
    """Creates what all contenders share and none of them changes: a namespace, two priorities, and nodes."""
    cluster.namespace(NAMESPACE)
    for name, value in ((LOW, 100), (HIGH, 1000)):
        head = {"apiVersion": PRIORITY_CLASSES.api_version, "kind": PRIORITY_CLASSES.kind}
        cluster.api.create({**head, "metadata": {"name": name}, "value": value})
    cluster.nodes.create(nodes(count))


async def submit(client: KubeClient, gang: Gang) -> None:
    """Raises Refused where an object of the same name is there already: it is not the one that is wanted."""
    if gang.grouped:
        await _create(client, POD_GROUPS, NAMESPACE, _group(gang))
    await run_all(partial(_create, client, PODS, NAMESPACE, pod) for pod in _pods(gang))


def _group(gang: Gang) -> dict[str, Any]:
    """The annotation makes the slice exclusive. A scheduler that does not know it finds no room there anyway."""
    return {
        "metadata": {
            "name": gang.name,
            "namespace": NAMESPACE,
            "annotations": {"understudy.dev/exclusive-topology": SLICE},
        },
        "spec": {
            "schedulingPolicy": {"gang": {"minCount": gang.size}},
            "schedulingConstraints": {"topology": [{"key": SLICE}]},
            "disruptionMode": {"all": {}},
            "priorityClassName": gang.priority,
        },
    }


def _pods(gang: Gang) -> Iterator[dict[str, Any]]:
    asked = {TPU: str(PER_NODE), "cpu": "1"}
    for name in gang.pods():
        spec: dict[str, Any] = {
            "schedulerName": gang.scheduler,
            "priorityClassName": gang.priority,
            "terminationGracePeriodSeconds": 1,
            "containers": [{"name": "main", "image": "train", "resources": {"requests": asked, "limits": asked}}],
        }
        if gang.grouped:
            spec["schedulingGroup"] = {"podGroupName": gang.name}
        yield {"metadata": {"name": name, "namespace": NAMESPACE, "labels": {"gang": gang.name}}, "spec": spec}


async def _create(client: KubeClient, resource: Resource, namespace: str, body: dict[str, Any]) -> None:
    await client.create(Ref(resource, namespace), {"apiVersion": resource.api_version, "kind": resource.kind, **body})
