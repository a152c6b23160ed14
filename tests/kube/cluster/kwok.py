"""Simulated nodes: KWOK as a process, and nodes that a test creates, makes fail and brings back."""

import contextlib
import datetime
import uuid
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

import msgspec

from tests.kube.cluster import releases
from tests.kube.cluster.api import Api, Object
from tests.kube.cluster.control_plane import ControlPlane
from tests.kube.cluster.processes import Process, running, wait_until
from tests.kube.cluster.programs import have
from tests.kube.cluster.stages import ATTENDED, stages

RESOURCES = {"cpu": "64", "memory": "256Gi", "pods": "110", "nvidia.com/gpu": "8"}
SLICE = "cloud.google.com/gke-nodepool"  # the label whose values are slices, as in our examples
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
READY_SECONDS = 60.0
USER = "kwok"
_TOGETHER = 8
_ALIVE = "fake"


def deletion_policy() -> list[Object]:
    """KWOK deletes a pod by its name, and sometimes twice, which may hit a new pod of that name. A kubelet names
    the uid. So deletions by KWOK of pods that are not being deleted are refused."""
    name, group = "kwok-deletes-terminating-pods", "admissionregistration.k8s.io/v1"
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["DELETE"], "resources": ["pods"]}
    policy = {
        "matchConstraints": {"resourceRules": [rule]},
        "matchConditions": [{"name": "kwok", "expression": f"request.userInfo.username == '{USER}'"}],
        "validations": [{"expression": "has(oldObject.metadata.deletionTimestamp)"}],
    }
    binding = {"policyName": name, "validationActions": ["Deny"]}
    meta = {"name": name}
    return [
        {"apiVersion": group, "kind": "ValidatingAdmissionPolicy", "metadata": meta, "spec": policy},
        {"apiVersion": group, "kind": "ValidatingAdmissionPolicyBinding", "metadata": meta, "spec": binding},
    ]


@contextlib.contextmanager
def kwok(plane: ControlPlane, lease_seconds: int) -> Iterator[Process]:
    config = plane.folder / "kwok.yaml"
    config.write_bytes(b"---\n".join(msgspec.yaml.encode(stage) for stage in stages()))
    command = [
        str(have(releases.KWOK)),
        f"--config={config}",
        f"--kubeconfig={plane.kubeconfig(USER)}",
        f"--manage-nodes-with-label-selector={ATTENDED}={_ALIVE}",
        "--manage-all-nodes=false",
        f"--node-lease-duration-seconds={lease_seconds}",
        "--node-port=0",
    ]
    with running(command, plane.log("kwok"), {"KWOK_WORKDIR": str(plane.folder / "kwok")}) as process:
        yield process


class Nodes:
    """The nodes of a cluster, by name. Added nodes are ready, without taints and with a lease."""

    def __init__(self, api: Api, processes: Sequence[Process] = ()) -> None:
        self.api = api
        self.processes = processes

    def add(
        self, *names: str, labels: Mapping[str, str] | None = None, resources: Mapping[str, str] | None = None
    ) -> None:
        self.create([node(name, labels or {}, resources or RESOURCES) for name in names])

    def add_slices(
        self, slices: int, size: int, prefix: str = "slice", resources: Mapping[str, str] | None = None
    ) -> list[str]:
        """Nodes slice-0-0, slice-0-1 ... with the name of their slice as a label."""
        documents = [
            node(f"{prefix}-{slice_}-{i}", {SLICE: f"{prefix}-{slice_}"}, resources or RESOURCES)
            for slice_ in range(slices)
            for i in range(size)
        ]
        self.create(documents)
        return [document["metadata"]["name"] for document in documents]

    def create(self, documents: Sequence[Object], wait: bool = True) -> None:
        with ThreadPoolExecutor(_TOGETHER) as pool:
            list(pool.map(self._post, _shares(documents)))
        if wait:
            self.wait_ready({document["metadata"]["name"] for document in documents})

    def wait_ready(self, names: set[str]) -> None:
        """With many nodes it asks rarely: listing thousands of nodes often would slow down the server."""
        seconds, every = READY_SECONDS + len(names) / 10, 0.05 + len(names) / 1000
        wait_until(lambda: self._ready(names), f"{len(names)} nodes are ready", seconds, self.processes, every)

    def _post(self, documents: Sequence[Object]) -> None:
        for document in documents:
            self.api.request("POST", "/api/v1/nodes", document)
        self.api.close()

    def _ready(self, names: set[str]) -> bool:
        if not names <= {lease["metadata"]["name"] for lease in self.api.items(LEASES)}:
            return False
        nodes = {node["metadata"]["name"]: node for node in self.api.items("/api/v1/nodes")}
        return all(name in nodes and _usable(nodes[name]) for name in names)

    def get(self, name: str) -> Object:
        return self.api.get(f"/api/v1/nodes/{name}")

    def readiness(self, name: str) -> str:
        """True, False or Unknown, as its condition says."""
        return _condition(self.get(name))

    def die(self, *names: str) -> None:
        """Silently: the lease stays as it is, and pods are no longer attended to, from the moment KWOK hears of it.

        Nothing but KWOK's label changes."""
        self._label(names, None)

    def come_back(self, *names: str) -> None:
        self._label(names, _ALIVE)

    def reboot(self, *names: str) -> None:
        """The nodes return as rebooted machines."""
        for name in names:
            self.api.patch(f"/api/v1/nodes/{name}/status", {"status": {"nodeInfo": {"bootID": str(uuid.uuid4())}}})
        self.come_back(*names)

    def _label(self, names: Sequence[str], value: str | None) -> None:
        for name in names:
            self.api.patch(f"/api/v1/nodes/{name}", {"metadata": {"labels": {ATTENDED: value}}})

    def remove(self, *names: str) -> None:
        """Deletes the nodes at once, with their pods and leases."""
        for name in names:
            self.api.delete(f"/api/v1/nodes/{name}")
            for pod in self.api.items(f"/api/v1/pods?fieldSelector={quote(f'spec.nodeName={name}')}"):
                metadata = pod["metadata"]
                self.api.delete(f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}", grace=0)
            self.api.delete(f"{LEASES}/{name}")


def node(name: str, labels: Mapping[str, str], resources: Mapping[str, str]) -> Object:
    """A node as a kubelet registers it, but ready, and with the fields that controllers would add."""
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
    platform = {f"{beta}kubernetes.io/{key}": value for beta in ("", "beta.") for key, value in _PLATFORM.items()}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {"kubernetes.io/hostname": name, **platform, ATTENDED: _ALIVE, **labels},
            "annotations": {"node.alpha.kubernetes.io/ttl": "0"},
        },
        "status": {
            "capacity": dict(resources),
            "allocatable": dict(resources),
            "conditions": [{**ready, "lastHeartbeatTime": now, "lastTransitionTime": now}],
            "nodeInfo": {**_INFO, "bootID": str(uuid.uuid4())},
        },
    }


_PLATFORM = {"os": "linux", "arch": "amd64"}
_UNKNOWN = (
    "containerRuntimeVersion",
    "kernelVersion",
    "kubeProxyVersion",
    "machineID",
    "osImage",
    "systemUUID",
)
_INFO = {
    **dict.fromkeys(_UNKNOWN, ""),
    "operatingSystem": "linux",
    "architecture": "amd64",
    "kubeletVersion": releases.APISERVER.release,
}


def end_pod(api: Api, namespace: str, name: str, *, code: int = 0) -> None:
    """Ends the containers of the pod with this exit code."""
    path = f"/api/v1/namespaces/{namespace}/pods/{name}"
    pod = api.get(path)
    reason = "Error" if code else "Completed"
    ended = [
        {
            "name": container["name"], "image": container["image"], "imageID": "", "ready": False, "restartCount": 0,
            "state": {"terminated": {"exitCode": code, "reason": reason}},
        }
        for container in pod["spec"]["containers"]
    ]  # fmt: skip
    conditions = [{"type": kind, "status": "False", "reason": "PodCompleted"} for kind in ("Ready", "ContainersReady")]
    kept = [one for one in pod["status"].get("conditions", []) if one["type"] not in ("Ready", "ContainersReady")]
    status = {
        "phase": "Failed" if code else "Succeeded",
        "containerStatuses": ended,
        "conditions": kept + conditions,
    }
    api.patch(f"{path}/status", {"status": status})


def _shares(documents: Sequence[Object]) -> list[Sequence[Object]]:
    return [documents[i::_TOGETHER] for i in range(_TOGETHER) if documents[i::_TOGETHER]]


def _usable(node: Object) -> bool:
    return _condition(node) == "True" and not node["spec"].get("taints")


def _condition(node: Object) -> str:
    conditions = node["status"].get("conditions", [])
    return next((one["status"] for one in conditions if one["type"] == "Ready"), "")
