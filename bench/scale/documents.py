"""Objects as the API server of a large cluster writes them: JSON text, with the fields that the scheduler ignores.

Each is a template that is filled in for every object: the text of 100,000 pods is made in a second or two.
"""

from typing import Any

import msgspec

Document = dict[str, Any]
SLICE = "cloud.example.com/slice"
CREATED = "2026-01-01T08:12:44Z"
_CONTROLLER = {"controller": True, "blockOwnerDeletion": True}
_GPU_TOLERATION = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
_TOKEN_PLACE = "/var/run/secrets/kubernetes.io/serviceaccount"
_EVERY_TAINT = ("not-ready", "unreachable", "disk-pressure", "memory-pressure", "pid-pressure", "unschedulable")


class Template:
    """An object's text with gaps; `%(name)s` in any string of the document is one."""

    def __init__(self, document: Document) -> None:
        self._text = msgspec.json.encode(document).decode()

    def filled(self, **gaps: object) -> bytes:
        return (self._text % gaps).encode()


def daemon_pod(name: str, image_count: int = 1) -> Template:
    """A pod of a DaemonSet, on every node."""
    tolerations = [
        {"key": f"node.kubernetes.io/{t}", "operator": "Exists", "effect": "NoExecute"} for t in _EVERY_TAINT
    ]
    labels = {"app.kubernetes.io/name": name, "controller-revision-hash": "6d9c8b7f5d", "pod-template-generation": "7"}
    own_node = {"key": "metadata.name", "operator": "In", "values": ["%(node)s"]}
    terms = {"nodeSelectorTerms": [{"matchFields": [own_node]}]}
    spec = {
        **_spec([_container(f"{name}-{i}", {"cpu": "100m", "memory": "128Mi"}) for i in range(image_count)]),
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}},
        "hostNetwork": True,
        "priority": 2000001000,
        "priorityClassName": "system-node-critical",
        "tolerations": tolerations,
    }
    return Template(_pod(_owner("apps/v1", "DaemonSet", name), labels, spec, "kube-controller-manager"))


def gang_pod(waiting: bool = False) -> Template:
    """A pod of a JobSet's only Job, with the eight accelerators of its node."""
    labels = {
        "batch.kubernetes.io/controller-uid": "%(job_uid)s",
        "batch.kubernetes.io/job-completion-index": "%(index)s",
        "batch.kubernetes.io/job-name": "%(job)s",
        "controller-uid": "%(job_uid)s",
        "job-name": "%(job)s",
        "jobset.sigs.k8s.io/global-replicas": "1",
        "jobset.sigs.k8s.io/job-global-index": "0",
        "jobset.sigs.k8s.io/job-index": "0",
        "jobset.sigs.k8s.io/job-key": "%(job_key)s",
        "jobset.sigs.k8s.io/jobset-name": "%(jobset)s",
        "jobset.sigs.k8s.io/jobset-uid": "%(jobset_uid)s",
        "jobset.sigs.k8s.io/replicatedjob-name": "w",
        "jobset.sigs.k8s.io/replicatedjob-replicas": "1",
        "jobset.sigs.k8s.io/restart-attempt": "0",
    }
    spec = {**training_spec(), "priority": 100, "hostname": "%(job)s-%(index)s", "subdomain": "%(jobset)s"}
    document = _pod(_owner("batch/v1", "Job", "%(job)s"), labels, spec, "kube-controller-manager", waiting)
    document["metadata"]["annotations"] = {
        "alpha.jobset.sigs.k8s.io/exclusive-topology": SLICE,
        "batch.kubernetes.io/job-completion-index": "%(index)s",
        "jobset.sigs.k8s.io/jobset-name": "%(jobset)s",
        "jobset.sigs.k8s.io/restart-attempt": "0",
    }
    return Template(document)


def worker_pod() -> Template:
    """A pod of a plain Job that prepares data on the processors the others leave idle."""
    labels = {
        "batch.kubernetes.io/controller-uid": "%(job_uid)s",
        "batch.kubernetes.io/job-completion-index": "%(index)s",
        "batch.kubernetes.io/job-name": "%(job)s",
        "controller-uid": "%(job_uid)s",
        "job-name": "%(job)s",
        "team": "data-%(team)s",
    }
    spec = {**small_spec(), "priority": 10, "hostname": "%(job)s-%(index)s"}
    document = _pod(_owner("batch/v1", "Job", "%(job)s"), labels, spec, "kube-controller-manager")
    document["metadata"]["annotations"] = {"batch.kubernetes.io/job-completion-index": "%(index)s"}
    return Template(document)


def training_spec() -> Document:
    shared = {"name": "shared-memory", "emptyDir": {"medium": "Memory", "sizeLimit": "256Gi"}}
    data = {"name": "datasets", "hostPath": {"path": "/mnt/datasets", "type": "Directory"}}
    settings = {"name": "settings", "configMap": {"name": "%(jobset)s-settings", "defaultMode": 420}}
    amounts = {"cpu": "160", "memory": "1600Gi", "nvidia.com/gpu": "8", "rdma/hca": "8"}
    spec = _spec([_container("train", amounts)], (shared, data, settings))
    return {
        **spec,
        "priorityClassName": "training",
        "restartPolicy": "Never",
        "schedulerName": "understudy",
        "tolerations": [
            {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
            *_default_tolerations(),
        ],
    }


def small_spec() -> Document:
    spec = _spec([_container("prepare", {"cpu": "2", "memory": "8Gi"})])
    return {
        **spec,
        "priorityClassName": "batch",
        "restartPolicy": "OnFailure",
        "schedulerName": "understudy",
        "tolerations": [_GPU_TOLERATION, *_default_tolerations()],
    }


def _default_tolerations() -> list[Document]:
    return [
        {"key": f"node.kubernetes.io/{t}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        for t in _EVERY_TAINT[:2]
    ]


def node() -> Template:
    """A node with fifty images, which are most of a node's text."""
    amounts = {"cpu": "192", "ephemeral-storage": "3514826184Ki", "hugepages-2Mi": "0", "memory": "2113416Mi"}
    amounts |= {"nvidia.com/gpu": "8", "pods": "110", "rdma/hca": "8"}
    digest = "c0ffee5a1ad7ea57ab1e0ddba11decade5eed5ca1ab1efacade0ff1ced0dd1e5"
    images = [
        {"names": [f"images.example.com/team-{i}/trainer@sha256:{digest}", f"images.example.com/team-{i}/trainer:v{i}"],
         "sizeBytes": 9_000_000_000 + i}
        for i in range(40)
    ]  # fmt: skip
    return Template(
        {
            "metadata": {
                **_metadata(("kubelet", "kube-controller-manager", "cloud-node-manager"), namespaced=False),
                "labels": {
                    "beta.kubernetes.io/arch": "amd64",
                    "beta.kubernetes.io/os": "linux",
                    "kubernetes.io/arch": "amd64",
                    "kubernetes.io/hostname": "%(name)s",
                    "kubernetes.io/os": "linux",
                    "node.kubernetes.io/instance-type": "gpu-8x",
                    "topology.kubernetes.io/region": "north-1",
                    "topology.kubernetes.io/zone": "north-1-%(zone)s",
                    SLICE: "%(slice)s",
                },
                "annotations": {
                    "csi.volume.kubernetes.io/nodeid": '{"disk.csi.example.com":"%(name)s"}',
                    "node.alpha.kubernetes.io/ttl": "0",
                    "volumes.kubernetes.io/controller-managed-attach-detach": "true",
                },
            },
            "spec": {
                "podCIDR": "10.0.0.0/24",
                "podCIDRs": ["10.0.0.0/24"],
                "providerID": "example:///%(name)s",
                "taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}],
            },
            "status": {
                "capacity": amounts,
                "allocatable": amounts,
                "conditions": [
                    _node_condition("MemoryPressure", "False", "KubeletHasSufficientMemory"),
                    _node_condition("DiskPressure", "False", "KubeletHasNoDiskPressure"),
                    _node_condition("PIDPressure", "False", "KubeletHasSufficientPID"),
                    _node_condition("Ready", "True", "KubeletReady"),
                ],
                "addresses": [
                    {"type": "InternalIP", "address": "10.%(zone)s.0.1"},
                    {"type": "Hostname", "address": "%(name)s"},
                ],
                "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
                "nodeInfo": {
                    "machineID": "%(uid)s",
                    "systemUUID": "%(uid)s",
                    "bootID": "%(uid)s",
                    "kernelVersion": "6.12.9",
                    "osImage": "Linux",
                    "containerRuntimeVersion": "containerd://2.1.4",
                    "kubeletVersion": "v1.37.1",
                    "kubeProxyVersion": "",
                    "operatingSystem": "linux",
                    "architecture": "amd64",
                },
                "images": images,
            },
        }
    )


def lease() -> Template:
    """A lease that lasts longer than usual: no node is to be taken for dead because a busy machine renews late."""
    owner = {"apiVersion": "v1", "kind": "Node", "name": "%(name)s", "uid": "%(uid)s"}
    spec = {"holderIdentity": "%(name)s", "leaseDurationSeconds": 3600, "renewTime": "%(renewed)s"}
    metadata = {**_metadata(("kubelet",)), "ownerReferences": [owner]}
    return Template({"metadata": metadata, "spec": spec})


def claim() -> Template:
    """A claim of those that come and go beside the jobs; only its note changes."""
    notes = {"pv.kubernetes.io/bind-completed": "yes", "bench/note": "0"}
    spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": "standard", "volumeName": "pvc-%(uid)s"}
    metadata = {**_metadata(("kube-controller-manager",)), "annotations": notes}
    return Template({"metadata": metadata, "spec": spec, "status": {"phase": "Bound"}})


def jobset() -> Template:
    job = {"backoffLimit": 0, "completionMode": "Indexed", "completions": 16, "parallelism": 16}
    template = {"metadata": {"labels": {"team": "research"}}, "spec": training_spec()}
    replicated = {"name": "w", "replicas": 1, "template": {"metadata": {}, "spec": {**job, "template": template}}}
    annotations = {"alpha.jobset.sigs.k8s.io/exclusive-topology": SLICE}
    return Template(
        {
            "apiVersion": "jobset.x-k8s.io/v1alpha2",
            "kind": "JobSet",
            "metadata": {**_metadata(("kubectl-apply", "manager")), "annotations": annotations},
            "spec": {"replicatedJobs": [replicated], "startupPolicy": {"startupPolicyOrder": "AnyOrder"}},
            "status": {"restarts": 0, "replicatedJobsStatus": [{"name": "w", "active": 1, "ready": 1, "succeeded": 0}]},
        }
    )


def job(of_jobset: bool) -> Template:
    pods = 16 if of_jobset else 8
    owner = _owner("jobset.x-k8s.io/v1alpha2", "JobSet", "%(jobset)s") if of_jobset else None
    labels = {"jobset.sigs.k8s.io/jobset-name": "%(jobset)s"} if of_jobset else {"team": "data"}
    spec = {
        "backoffLimit": 6,
        "completionMode": "Indexed",
        "completions": pods,
        "parallelism": pods,
        "suspend": False,
        "template": {"metadata": {"labels": labels}, "spec": training_spec() if of_jobset else small_spec()},
    }
    owners = {"ownerReferences": [owner]} if owner else {}
    metadata = {**_metadata(("kube-controller-manager", "manager")), "labels": labels, **owners}
    status = {"active": pods, "ready": pods, "startTime": CREATED, "terminating": 0}
    return Template({"metadata": metadata, "spec": spec, "status": status})


def plain(**fields: Any) -> bytes:
    """A small object of any kind."""
    return msgspec.json.encode(fields)


def _pod(owner: Document, labels: Document, spec: Document, maker: str, waiting: bool = False) -> Document:
    containers = spec["containers"]
    metadata = {**_metadata((maker, "kubelet")), "generateName": "%(prefix)s-", "labels": labels}
    unscheduled = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "lastTransitionTime": CREATED}
    if waiting:
        status: Document = {"phase": "Pending", "qosClass": "Guaranteed", "conditions": [unscheduled]}
    else:
        spec = {"nodeName": "%(node)s", **spec}
        status = _running(containers)
    return {"metadata": {**metadata, "ownerReferences": [owner]}, "spec": spec, "status": status}


def _running(containers: list[Document]) -> Document:
    kinds = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
    conditions = [
        {"type": kind, "status": "True", "lastProbeTime": None, "lastTransitionTime": "%(at)s", "observedGeneration": 1}
        for kind in kinds
    ]
    statuses = [
        {
            "name": container["name"],
            "state": {"running": {"startedAt": "%(at)s"}},
            "lastState": {},
            "ready": True,
            "restartCount": 0,
            "image": container["image"],
            "imageID": f"{container['image']}@sha256:c0ffee5a1ad7ea57ab1e0ddba11decade5eed5ca1ab1efacade0ff1ced0dd1e5",
            "containerID": "containerd://%(uid)s%(uid)s",
            "started": True,
            "volumeMounts": container["volumeMounts"],
        }
        for container in containers
    ]
    return {
        "phase": "Running",
        "conditions": conditions,
        "hostIP": "10.3.0.1",
        "podIP": "10.4.0.1",
        "podIPs": [{"ip": "10.4.0.1"}],
        "startTime": "%(at)s",
        "containerStatuses": statuses,
        "qosClass": "Guaranteed",
    }


def _spec(containers: list[Document], volumes: tuple[Document, ...] = ()) -> Document:
    token = {
        "name": "kube-api-access-%(suffix)s",
        "projected": {
            "sources": [
                {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            ],
            "defaultMode": 420,
        },
    }
    return {
        "volumes": [*volumes, token],
        "containers": containers,
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "serviceAccountName": "default",
        "serviceAccount": "default",
        "securityContext": {},
        "schedulerName": "default-scheduler",
        "enableServiceLinks": True,
        "preemptionPolicy": "PreemptLowerPriority",
    }


def _container(name: str, amounts: dict[str, str]) -> Document:
    index = {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.annotations['batch.kubernetes.io/index']"}}
    return {
        "name": name,
        "image": f"images.example.com/platform/{name}:v1.42.0",
        "command": ["python", "-m", name, "--config", "/etc/settings/run.yaml"],
        "ports": [{"name": "metrics", "containerPort": 9400, "protocol": "TCP"}],
        "env": [
            {"name": "JOB_COMPLETION_INDEX", "valueFrom": index},
            {"name": "NCCL_DEBUG", "value": "WARN"},
            {"name": "OMP_NUM_THREADS", "value": "16"},
            {"name": "PYTHONUNBUFFERED", "value": "1"},
        ],
        "resources": {"limits": amounts, "requests": amounts},
        "volumeMounts": [
            {
                "name": "kube-api-access-%(suffix)s",
                "readOnly": True,
                "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
            }
        ],
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": "IfNotPresent",
    }


def _metadata(managers: tuple[str, ...], namespaced: bool = True) -> Document:
    place = {"namespace": "%(namespace)s"} if namespaced else {}
    fields = {
        "f:metadata": {"f:labels": {".": {}, "f:app": {}, "f:job-name": {}}, "f:ownerReferences": {".": {}}},
        "f:spec": {"f:containers": {'k:{"name":"train"}': {".": {}, "f:image": {}, "f:name": {}, "f:resources": {}}}},
        "f:status": {"f:conditions": {'k:{"type":"Ready"}': {".": {}, "f:lastTransitionTime": {}, "f:status": {}}}},
    }
    managed = [
        {
            "manager": manager,
            "operation": "Update",
            "apiVersion": "v1",
            "time": CREATED,
            "fieldsType": "FieldsV1",
            "fieldsV1": fields,
        }
        for manager in managers
    ]
    return {
        "name": "%(name)s",
        **place,
        "uid": "%(uid)s",
        "resourceVersion": "%(revision)s",
        "generation": 1,
        "creationTimestamp": CREATED,
        "managedFields": managed,
    }


def _owner(api_version: str, kind: str, name: str) -> Document:
    return {"apiVersion": api_version, "kind": kind, "name": name, "uid": "%(owner_uid)s", **_CONTROLLER}


def _node_condition(kind: str, status: str, reason: str) -> Document:
    return {
        "type": kind,
        "status": status,
        "lastHeartbeatTime": "%(at)s",
        "lastTransitionTime": CREATED,
        "reason": reason,
        "message": f"kubelet says that {kind} is {status}",
    }
