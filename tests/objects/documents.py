"""Kubernetes objects as plain documents, with the few fields a test cares about and defaults for the rest."""

from typing import Any

Document = dict[str, Any]

MADE = "2026-01-01T00:00:00Z"
MADE_AT = 1_767_225_600.0


def metadata(name: str, **fields: Any) -> Document:
    return {"name": name, "namespace": "default", "creationTimestamp": MADE, **fields}


def container(requests: Document | None = None, **fields: Any) -> Document:
    return {"name": "main", "image": "trainer:1", "resources": {"requests": requests or {}}, **fields}


def pod_spec(requests: Document | None = None, **fields: Any) -> Document:
    return {"containers": [container(requests)], **fields}


def template(requests: Document | None = None, labels: Document | None = None, **fields: Any) -> Document:
    return {"metadata": {"labels": labels or {}}, "spec": pod_spec(requests, **fields)}


def pod(
    name: str, node: str = "", meta: Document | None = None, status: Document | None = None, **spec: Any
) -> Document:
    """A pod; with a node it runs there."""
    seat = {"nodeName": node} if node else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata(name, **(meta or {})),
        "spec": {"containers": [container({"cpu": "1"})], **spec, **seat},
        "status": {"phase": "Running" if node else "Pending", **(status or {})},
    }


def owner(kind: str, name: str) -> list[Document]:
    return [{"apiVersion": "v1", "kind": kind, "name": name, "uid": f"uid-{name}", "controller": True}]


def node(name: str, meta: Document | None = None, **spec_or_status: Any) -> Document:
    """A node with 8 cpus; `conditions` and `allocatable` go to its status, everything else to its spec."""
    status = {"allocatable": {"cpu": "8", "pods": "110"}}
    status |= {key: spec_or_status.pop(key) for key in ("conditions", "allocatable") if key in spec_or_status}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, **(meta or {})},
        "spec": spec_or_status,
        "status": status,
    }


def lease(name: str, renewed: str, duration: int = 40) -> Document:
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": name, "namespace": "kube-node-lease"},
        "spec": {"renewTime": renewed, "leaseDurationSeconds": duration},
    }


def priority_class(name: str, value: int, **fields: Any) -> Document:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
        **fields,
    }


def job(name: str, meta: Document | None = None, status: Document | None = None, **spec: Any) -> Document:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata(name, **(meta or {})),
        "spec": {"template": template({"cpu": "1"}), **spec},
        "status": status or {},
    }


def replicated_job(name: str, replicas: int, pods: int, meta: Document | None = None, **pod_fields: Any) -> Document:
    spec = {"parallelism": pods, "completions": pods, "template": template({"cpu": "1"}, **pod_fields)}
    return {"name": name, "replicas": replicas, "template": {"metadata": meta or {}, "spec": spec}}


def jobset(name: str, *jobs: Document, meta: Document | None = None, **fields: Any) -> Document:
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": metadata(name, **(meta or {})),
        "spec": {"replicatedJobs": list(jobs), "suspend": fields.pop("suspend", False)},
        **fields,
    }


def jobset_pod(jobset: str, job: str, replica: int, index: int, node: str = "", **fields: Any) -> Document:
    """A pod as JobSet and the Job controller would make it; `fields` as for `pod`."""
    name = f"{jobset}-{job}-{replica}"
    labels = {
        "jobset.sigs.k8s.io/jobset-name": jobset,
        "jobset.sigs.k8s.io/replicatedjob-name": job,
        "jobset.sigs.k8s.io/job-index": str(replica),
        "batch.kubernetes.io/job-name": name,
        "batch.kubernetes.io/job-completion-index": str(index),
    }
    meta = {"labels": labels, "ownerReferences": owner("Job", name), **fields.pop("meta", {})}
    return pod(f"{name}-{index}-{fields.pop('suffix', 'x7k2p')}", node, meta, **fields)


def training_job(kind: str, field: str, roles: dict[str, int], meta: Document | None = None, **spec: Any) -> Document:
    replicas = {role: {"replicas": count, "template": template({"cpu": "1"})} for role, count in roles.items()}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": kind,
        "metadata": metadata("train", **(meta or {})),
        "spec": {field: replicas, **spec},
    }
