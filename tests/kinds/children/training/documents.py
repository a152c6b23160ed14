"""Training jobs in memory: what a test is about is named, the rest is as plain as can be."""

from typing import Any

from tests.kinds.children.world import World, moment
from tests.objects.documents import Document, metadata
from understudy.kinds.children.actions import CreateChild
from understudy.kinds.children.training.spec import TrainingKind
from understudy.kinds.training_operator import jaxjob, paddlejob, pytorchjob, tfjob, xgboostjob
from understudy.objects.resources import PODS, SERVICES

KINDS: dict[str, TrainingKind] = {
    kind.name: kind for kind in (module.RULES for module in (pytorchjob, tfjob, xgboostjob, paddlejob, jaxjob))
}


def role(replicas: int = 1, restart: str = "", container: Document | None = None, **pod: Any) -> Document:
    """`container` is what the one that trains has beside its name."""
    policy = {"restartPolicy": restart} if restart else {}
    trains = {"image": "trainer:1", **(container or {})}
    return {"replicas": replicas, **policy, "template": {"spec": {"containers": [trains], **pod}}}


def training(kind: str, roles: dict[str, Document], policy: Document | None = None, **spec: Any) -> Document:
    """`policy` is its runPolicy."""
    known = KINDS[kind]
    for one in roles.values():
        one["template"]["spec"]["containers"][0].setdefault("name", known.container)
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": kind,
        "metadata": metadata("train"),
        "spec": {known.field: roles, "runPolicy": policy or {}, **spec},
    }


class Training(World):
    """A training job that was looked at once."""

    def __init__(
        self, kind: str, roles: dict[str, Document], policy: Document | None = None, spread: bool = False, **spec: Any
    ) -> None:
        """`spread`: every pod gets a node of its own, named after it; else all share one."""
        super().__init__(training(kind, roles, policy, **spec))
        self.container = KINDS[kind].container
        self.spread = spread
        self.look()

    def _create(self, create: CreateChild) -> None:
        super()._create(create)
        if self.spread and create.resource == PODS:
            name = create.document["metadata"]["name"]
            self.pods[name]["spec"]["nodeName"] = f"node of {name}"

    @property
    def services(self) -> dict[str, Document]:
        return self.children[SERVICES.key]

    def states(self) -> list[str]:
        """What is true, the latest last."""
        return [one["type"] for one in self.status.get("conditions", ()) if one["status"] == "True"]

    def condition(self, kind: str) -> Document:
        return next(one for one in self.status["conditions"] if one["type"] == kind)

    def figures(self, role: str) -> dict[str, int]:
        return {key: value for key, value in self.status["replicaStatuses"][role].items() if key != "selector"}

    def finish(self, pod: str, code: int = 0) -> None:
        """The container that trains ends, and with it the pod."""
        ended = {"exitCode": code, "finishedAt": moment(self.now)}
        statuses = [{"name": self.container, "restartCount": 0, "state": {"terminated": ended}}]
        self.end(pod, code, containerStatuses=statuses)

    def restarted(self, pod: str, times: int) -> None:
        """In place."""
        last = {"terminated": {"exitCode": 1, "finishedAt": moment(self.now)}}
        status = {"name": self.container, "restartCount": times, "lastState": last}
        self.pods[pod]["status"]["containerStatuses"] = [status]

    def disrupt(self, pod: str, reason: str = "PreemptionByScheduler") -> None:
        """It is told why, and then to go."""
        told = {"type": "DisruptionTarget", "status": "True", "reason": reason, "lastTransitionTime": moment(self.now)}
        self.pods[pod]["status"].setdefault("conditions", []).append(told)
        self.delete(pod)

    def suspend(self, yes: bool = True) -> None:
        self.parent["spec"]["runPolicy"]["suspend"] = yes
        self.look()


def variables(kind: str, roles: dict[str, Document], pod: str, **spec: Any) -> dict[str, Any]:
    """What the container that trains is told in one of the pods."""
    made = Training(kind, roles, **spec).pods[pod]["spec"]["containers"][0]
    return {one["name"]: one["value"] if "value" in one else one["valueFrom"] for one in made.get("env", ())}


def torch(master: str = "Never", worker: str = "OnFailure", workers: int = 2, **policy: Any) -> Training:
    """As Arena writes them, and running. What is None in the policy is not given."""
    given = {key: value for key, value in policy.items() if value is not None}
    world = Training("PyTorchJob", {"Master": role(1, master), "Worker": role(workers, worker)}, given)
    world.run()
    world.look()
    return world
