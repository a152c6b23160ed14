"""MPIJobs of all versions for tests: what a test is about is named, the rest is as plain as can be."""

from typing import Any

from tests.kinds.children.world import World
from tests.objects.documents import Document

VERSIONS = ("v1alpha1", "v1", "v2beta1")
OPERATED = ("v1", "v2beta1")  # those with roles and conditions


def template(**container: Any) -> Document:
    return {"spec": {"containers": [{"name": "mpi", "image": "horovod", **container}]}}


def mpijob(version: str, workers: int = 2, **spec: Any) -> Document:
    """Run policies are named like fields of the spec, and go where the version has them."""
    names = (
        "backoffLimit",
        "cleanPodPolicy",
        "activeDeadlineSeconds",
        "ttlSecondsAfterFinished",
        "suspend",
        "managedBy",
    )
    policy = {name: spec.pop(name) for name in names if name in spec}
    restarts = {"restartPolicy": spec.pop("restartPolicy")} if "restartPolicy" in spec else {}
    command = {"command": ["mpirun", "train"]}
    if version == "v1alpha1":
        body: Document = {"replicas": workers, "template": template(**command), **policy}
    else:
        launcher = {"replicas": 1, "template": template(**command), **restarts}
        worker = {"replicas": workers, "template": template(), **restarts}
        body = {"mpiReplicaSpecs": {"Launcher": launcher, "Worker": worker}, "runPolicy": policy}
    metadata = {"name": "train", "namespace": "default", "uid": "parent-uid"}
    return {
        "apiVersion": f"kubeflow.org/{version}", "kind": "MPIJob", "metadata": metadata, "spec": {**body, **spec}
    }  # fmt: skip


def begun(version: str, workers: int = 2, **spec: Any) -> World:
    world = World(mpijob(version, workers, **spec))
    world.look()
    return world


def running(version: str, workers: int = 2, **spec: Any) -> World:
    """With a launcher and all workers at work."""
    world = begun(version, workers, **spec)
    world.run()
    world.look()
    launcher_runs(world)
    world.look()
    return world


def launcher_runs(world: World) -> None:
    if "train-launcher" in world.jobs:
        world.jobs["train-launcher"]["status"] = {"active": 1, "ready": 1}
    else:
        world.run("train-launcher")


def launcher_rests(world: World) -> None:
    """Its last pod is gone, and the next is yet to be made."""
    world.jobs["train-launcher"]["status"] = {"active": 0, "ready": 0}


def launcher_ends(world: World, code: int = 0, reason: str = "BackoffLimitExceeded") -> None:
    """For good, where it is a Job."""
    if "train-launcher" not in world.jobs:
        world.end("train-launcher", code)
        return
    kind = "Failed" if code else "Complete"
    condition = {"type": kind, "status": "True", "reason": reason, "message": "that is why"}
    figures = {"failed": 1} if code else {"succeeded": 1}
    world.jobs["train-launcher"]["status"] = {**figures, "conditions": [condition]}


def lose(world: World, name: str) -> None:
    """To the cluster: it is not the pod's fault."""
    mark = {"type": "DisruptionTarget", "status": "True", "reason": "DeletionByUnderstudy"}
    world.end(name, 143, conditions=[mark])


def state(world: World) -> str:
    """The last word of its status."""
    said = [one["type"] for one in world.status.get("conditions", ()) if one["status"] == "True"]
    return str(world.status.get("launcherStatus") or (said or [""])[-1])
