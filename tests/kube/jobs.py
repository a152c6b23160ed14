"""Jobs as users write them, reduced to the fields that the tests of a real cluster need."""

from collections.abc import Iterator

from tests.kube.cluster.api import Api, ApiError, Object
from tests.kube.cluster.processes import wait_until

SECONDS = 60.0
ONE_GPU = {"cpu": "64", "memory": "256Gi", "pods": "110", "nvidia.com/gpu": "1"}
CLASSES = (("low", 100), ("high", 1000))
OUT_OF_SERVICE = {"key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown", "effect": "NoExecute"}


def pod_spec(scheduler: str = "understudy", container: str = "main", gpus: int = 1) -> Object:
    limits = {"limits": {"nvidia.com/gpu": str(gpus)}} if gpus else {}
    return {
        "schedulerName": scheduler,
        "restartPolicy": "Never",
        "containers": [{"name": container, "image": "none", "resources": limits}],
    }


def pod(name: str, scheduler: str = "understudy") -> Object:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": pod_spec(scheduler)}


def jobset(name: str, replicas: int = 2, size: int = 2, spec: Object | None = None) -> Object:
    job = {
        "parallelism": size,
        "completions": size,
        "completionMode": "Indexed",
        "backoffLimit": 0,
        "template": {"spec": spec or pod_spec()},
    }
    replicated = {"name": "workers", "replicas": replicas, "template": {"spec": job}}
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": name},
        "spec": {"replicatedJobs": [replicated]},
    }


def pytorchjob(name: str, workers: int = 2, container: str = "pytorch") -> Object:
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": name},
        "spec": {
            "pytorchReplicaSpecs": {
                "Master": {"replicas": 1, "template": {"spec": pod_spec(container=container)}},
                "Worker": {"replicas": workers, "template": {"spec": pod_spec(container=container)}},
            }
        },
    }


def mpijob(name: str, workers: int = 2) -> Object:
    return {
        "apiVersion": "kubeflow.org/v2beta1",
        "kind": "MPIJob",
        "metadata": {"name": name},
        "spec": {
            "slotsPerWorker": 1,
            "mpiReplicaSpecs": {
                "Launcher": {"replicas": 1, "template": {"spec": pod_spec(gpus=0)}},
                "Worker": {"replicas": workers, "template": {"spec": pod_spec()}},
            },
        },
    }


def training_runtime(name: str) -> Object:
    """The fields that all TrainJobs share: one pod a node."""
    labels = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
    replicated = {
        "name": "node",
        "template": {"metadata": {"labels": labels}, "spec": {"template": {"spec": pod_spec(container="node")}}},
    }
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainingRuntime",
        "metadata": {"name": name, "labels": {"trainer.kubeflow.org/framework": "torch"}},
        "spec": {
            "mlPolicy": {"numNodes": 1, "torch": {"numProcPerNode": "auto"}},
            "template": {"spec": {"replicatedJobs": [replicated]}},
        },
    }


def trainjob(name: str, nodes: int = 2, runtime: str = "runtime") -> Object:
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": name},
        "spec": {
            "runtimeRef": {"apiGroup": "trainer.kubeflow.org", "kind": "TrainingRuntime", "name": runtime},
            "trainer": {"numNodes": nodes, "resourcesPerNode": {"limits": {"nvidia.com/gpu": "1"}}},
        },
    }


def create_with_runtime(api: Api, document: Object, namespace: str, runtime: Object) -> None:
    """Trainer refuses a TrainJob until its watch has seen the runtime."""
    api.create(runtime, namespace)

    def is_taken() -> bool:
        try:
            api.create(document, namespace)
        except ApiError as error:
            if "runtimeRef" not in error.message:
                raise
            return False
        return True

    wait_until(is_taken, f"{document['metadata']['name']} is taken", SECONDS)


def job(name: str, size: int) -> Object:
    spec = {"parallelism": size, "completions": size, "template": {"spec": pod_spec()}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec}


def pod_specs(job: Object) -> Iterator[Object]:
    """The pods of all roles, for any kind of job."""
    spec = job["spec"]
    if job["kind"] == "TrainingRuntime":
        spec = spec["template"]["spec"]
    if "template" in spec:
        yield spec["template"]["spec"]
    for replicated in spec.get("replicatedJobs", ()):
        yield replicated["template"]["spec"]["template"]["spec"]
    for roles in (value for key, value in spec.items() if key.endswith("ReplicaSpecs")):
        yield from (role["template"]["spec"] for role in roles.values())


def of_class(name: str, job: Object) -> Object:
    for spec in pod_specs(job):
        spec["priorityClassName"] = name
    return job


def priority_class(name: str, value: int) -> Object:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
    }


def taint(api: Api, node: str, *taints: Object) -> None:
    """Replaces the taints of a node."""
    api.patch(f"/api/v1/nodes/{node}", {"spec": {"taints": list(taints) or None}})


def pods(api: Api, namespace: str) -> list[Object]:
    return api.items(f"/api/v1/namespaces/{namespace}/pods")


def wait_for_pods(api: Api, namespace: str, count: int) -> list[Object]:
    wait_until(lambda: len(pods(api, namespace)) >= count, f"{count} pods", SECONDS)
    return pods(api, namespace)


def wait_for_phase(api: Api, namespace: str, name: str, phase: str) -> Object:
    path = f"/api/v1/namespaces/{namespace}/pods/{name}"
    wait_until(lambda: api.get(path)["status"].get("phase") == phase, f"{name} is {phase}", SECONDS)
    return api.get(path)
