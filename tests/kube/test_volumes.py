"""Volumes that are provisioned for the node of their first pod, on a real cluster: claims get the node, pods wait."""

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.kube.cluster.api import Api, Object
from tests.kube.cluster.kwok import Nodes
from tests.kube.cluster.processes import wait_until
from tests.kube.cluster_observer import ClusterObserver, uids
from tests.kube.jobs import ONE_GPU, OUT_OF_SERVICE, SECONDS, jobset, pod_spec, taint
from understudy.objects.pods import Pod
from understudy.objects.volumes import SELECTED_NODE

HOSTNAME = "kubernetes.io/hostname"
CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
MAKER = "disks.example"
GLANCE = 0.1


class Maker:
    """Stands in for the driver of a storage system: makes a volume for each claim that names a node, on that node."""

    def __init__(self, api: Api, namespace: str) -> None:
        self.api = api
        self.name = namespace  # of the class, too
        self.claims = f"/api/v1/namespaces/{namespace}/persistentvolumeclaims"
        self.made: list[str] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        late = {"provisioner": MAKER, "volumeBindingMode": "WaitForFirstConsumer"}
        self._make("storage.k8s.io/v1", "StorageClass", namespace, **late)

    def _make(self, version: str, kind: str, name: str, **fields: Any) -> None:
        self.api.create({"apiVersion": version, "kind": kind, "metadata": {"name": name}, **fields})

    def wanted(self) -> Object:
        """The spec of a claim."""
        requests = {"requests": {"storage": "1Gi"}}
        return {"storageClassName": self.name, "accessModes": ["ReadWriteMany"], "resources": requests}

    def start(self) -> None:
        self._thread.start()

    def _run(self) -> None:
        with contextlib.closing(self.api):  # the connection of this thread
            self._look_after_claims()

    def _look_after_claims(self) -> None:
        while not self._over.wait(GLANCE):
            for claim in self.api.items(self.claims):
                node = claim["metadata"].get("annotations", {}).get(SELECTED_NODE)
                if node and not claim["spec"].get("volumeName") and claim["metadata"]["uid"] not in self.made:
                    self._make_volume(claim, node)

    def _make_volume(self, claim: Object, node: str) -> None:
        meta = claim["metadata"]
        expression = {"key": HOSTNAME, "operator": "In", "values": [node]}
        spec = {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteMany"],
            "storageClassName": self.name,
            "persistentVolumeReclaimPolicy": "Retain",
            "csi": {"driver": MAKER, "volumeHandle": meta["uid"]},
            "claimRef": {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                **{key: meta[key] for key in ("namespace", "name", "uid")},
            },
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}},
        }
        self._make("v1", "PersistentVolume", meta["uid"], spec=spec)
        self.made.append(meta["uid"])

    def close(self) -> None:
        self._over.set()
        if self._thread.ident is not None:
            self._thread.join()
        for volume in self.made:
            self.api.delete(f"/api/v1/persistentvolumes/{volume}")
        self.api.delete(f"{CLASSES}/{self.name}")


@pytest.fixture
def maker(api: Api, observer: ClusterObserver) -> Iterator[Maker]:
    made = Maker(api, observer.namespace)
    yield made
    made.close()


def with_volume(maker: Maker, claim: str = "") -> Object:
    """A pod with the volume of this claim, else with one of its own."""
    own = {"ephemeral": {"volumeClaimTemplate": {"spec": maker.wanted()}}}
    shared = {"persistentVolumeClaim": {"claimName": claim}}
    return {**pod_spec(), "volumes": [{"name": "data", **(shared if claim else own)}]}


def test_a_claim_is_told_the_node_and_its_pods_start_when_the_volume_is_there(
    api: Api, nodes: Nodes, observer: ClusterObserver, maker: Maker
) -> None:
    nodes.add("a", "b", resources={**ONE_GPU, "nvidia.com/gpu": "2"})
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}, "spec": maker.wanted()}
    api.create(claim, observer.namespace)
    api.create(jobset("train", replicas=1, size=2, spec=with_volume(maker, "data")), observer.namespace)

    def selected() -> str:
        return str(api.get(f"{maker.claims}/data")["metadata"].get("annotations", {}).get(SELECTED_NODE, ""))

    wait_until(lambda: selected() in ("a", "b"), "the claim is told a node", SECONDS)
    observer.until("its pods are there", lambda: len(observer.pods("train")) == 2)
    assert observer.seated("train") == []
    maker.start()
    pods = observer.until("it runs", lambda: observer.runs("train", 2))
    assert {pod.spec.node_name for pod in pods} == {selected()}, "where its volume can be reached"


def test_who_has_a_volume_of_his_own_gets_a_new_one_where_he_is_made_again(
    api: Api, nodes: Nodes, observer: ClusterObserver, maker: Maker
) -> None:
    maker.start()
    nodes.add("a", "b", "spare", resources=ONE_GPU)
    api.create(jobset("train", replicas=1, size=2, spec=with_volume(maker)), observer.namespace)
    before = observer.until("it runs", lambda: observer.runs("train", 2))
    lost, kept = before
    taint(api, lost.spec.node_name, OUT_OF_SERVICE)

    def mended() -> list[Pod]:
        pods = observer.runs("train", 2)
        return pods if lost.metadata.uid not in uids(pods) else []

    after = observer.until("it is whole again", mended)
    assert kept.metadata.uid in uids(after)
    assert len(maker.made) == 3
