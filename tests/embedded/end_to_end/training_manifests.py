"""Training jobs for clusters that really run, and what can be seen of them."""

from typing import Any

from tests.embedded.cluster_monitor import ClusterMonitor, Document
from tests.embedded.end_to_end.test_jobs import condition
from tests.embedded.real_cluster import KINDS

CONTAINERS = {
    "PyTorchJob": ("pytorchReplicaSpecs", "pytorch"),
    "TFJob": ("tfReplicaSpecs", "tensorflow"),
    "XGBoostJob": ("xgbReplicaSpecs", "xgboost"),
    "PaddleJob": ("paddleReplicaSpecs", "paddle"),
    "JAXJob": ("jaxReplicaSpecs", "jax"),
}


def role(program: str | list[str], replicas: int = 1, restart: str = "", priority: str = "", gpus: int = 0) -> Document:
    """As many replicas that run a program, of the shell if it is a text."""
    command = ["sh", "-c", program] if isinstance(program, str) else program
    limits = {"nvidia.com/gpu": str(gpus)} if gpus else {}
    spec: Document = {"containers": [{"image": "any", "command": command, "resources": {"limits": limits}}]}
    if priority:
        spec["priorityClassName"] = priority
    return {"replicas": replicas, **({"restartPolicy": restart} if restart else {}), "template": {"spec": spec}}


def training(kind: str, name: str, roles: dict[str, Document], policy: Document | None = None, **spec: Any) -> Document:
    """`policy` is its runPolicy."""
    field, container = CONTAINERS[kind]
    for one in roles.values():
        one["template"]["spec"]["containers"][0]["name"] = container
    body = {field: roles, "runPolicy": policy or {}, **spec}
    return {"apiVersion": "kubeflow.org/v1", "kind": kind, "metadata": {"name": name}, "spec": body}


def torch(name: str, master: Document, worker: Document, **policy: Any) -> Document:
    return training("PyTorchJob", name, {"Master": master, "Worker": worker}, policy)


def has(monitor: ClusterMonitor, name: str, state: str, kind: str = "PyTorchJob") -> Document:
    """The condition, if it is true."""
    return condition(monitor.find(KINDS["kubeflow.org/v1", kind], name), state)


def status_of(monitor: ClusterMonitor, name: str, kind: str = "PyTorchJob") -> Document:
    found: Document = (monitor.find(KINDS["kubeflow.org/v1", kind], name) or {}).get("status", {})
    return found
