"""Jobs of a scenario: their documents, the members that have to sit together, and their state in the simulated API."""

from typing import NamedTuple

from understudy.kinds.annotations import PREFIX
from understudy.kinds.pod_labels import EXCLUSIVE
from understudy.kinds.training_operator.pytorchjob import PYTORCH_JOBS
from understudy.objects.resources import (
    DEFINITIONS,
    JOB_SETS,
    JOBS,
    MPI_JOBS,
    MPI_JOBS_V1ALPHA1,
    TRAIN_JOBS,
    Resource,
)
from understudy.simulate.api_server import Version
from understudy.simulate.patches import Document
from understudy.simulate.scenario import ACCELERATOR, SLICE, JobPlan

JOB_LABEL = "simulate-job"
RUNTIME = "simulated"
UNREACHABLE = "node.kubernetes.io/unreachable"
RESOURCES: dict[str, Resource] = {
    "Job": JOBS,
    "JobSet": JOB_SETS,
    "PyTorchJob": PYTORCH_JOBS,
    "MPIJob": MPI_JOBS,
    "TrainJob": TRAIN_JOBS,
}
FIRST_VERSION = "v1alpha1"  # of MPIJob: it cannot be suspended, and its launcher waits until its workers are ready
PRIORITIES = (0, 10, 20, 30)


class MemberSlot(NamedTuple):
    """One member: the name of its slot, its island, and when its pod is created."""

    name: str
    island: str
    stage: int
    accelerators: int


def resource_of(plan: JobPlan) -> Resource:
    """In the version in which the cluster serves it."""
    return MPI_JOBS_V1ALPHA1 if plan.stages == FIRST_VERSION else RESOURCES[plan.kind]


def class_name(priority: int, preempts: bool) -> str:
    return f"priority-{priority}" + ("" if preempts else "-never")


def priority_classes() -> list[Document]:
    return [
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": class_name(priority, preempts)},
            "value": priority,
            **({} if preempts else {"preemptionPolicy": "Never"}),
        }
        for priority in PRIORITIES
        for preempts in (True, False)
    ]


def definition_of(resource: Resource) -> Document:
    """The CustomResourceDefinition by which the garbage collector knows a kind."""
    return {
        "apiVersion": DEFINITIONS.api_version,
        "kind": DEFINITIONS.kind,
        "metadata": {"name": resource.key},
        "spec": {
            "group": resource.group,
            "names": {"plural": resource.plural, "kind": resource.kind},
            "scope": "Namespaced",
            "versions": [{"name": resource.version, "storage": True}],
        },
    }


def key_of(plan: JobPlan) -> str:
    return f"{plan.kind}/default/{plan.name}"


def slots_of(plan: JobPlan) -> list[MemberSlot]:
    """With exclusive placement, JobSet's webhook requires the first pod of each part to have a node before others are
    created."""
    name, amount = plan.name, plan.accelerators
    if plan.kind == "PyTorchJob":
        others = [MemberSlot(f"{name}-worker-{i}", name, 0, amount) for i in range(plan.size - 1)]
        return [MemberSlot(f"{name}-master-0", name, 0, amount), *others]
    if plan.kind == "MPIJob":
        late = 1 if plan.stages else 0
        workers = [MemberSlot(f"{name}-worker-{i}", name, 0, amount) for i in range(plan.size)]
        return [MemberSlot(f"{name}-launcher", name, late, 0), *workers]
    if plan.kind == "Job":
        return [MemberSlot(f"{name}-{i}", name, 0, amount) for i in range(plan.size)]
    staged = plan.topology == "exclusive"
    found: list[MemberSlot] = []
    for number, (part, replicas) in enumerate(parts_of(plan)):
        for replica in range(replicas):
            island = f"{name}-{part}-{replica}"
            before = 2 * number if plan.stages in ("InOrder", "dependsOn") else 0
            found += [
                MemberSlot(f"{island}-{index}", island, before + bool(staged and index), amount)
                for index in range(plan.size)
            ]
    return found


def parts_of(plan: JobPlan) -> list[tuple[str, int]]:
    """The replicated jobs of a JobSet, and how many child Jobs each has."""
    if plan.kind == "TrainJob":
        return [("node", 1)]
    if plan.stages in ("InOrder", "dependsOn"):
        return [(f"p{number}", 1) for number in range(plan.parts)]
    return [("w", plan.parts)]


def minimum_of(plan: JobPlan, size: int) -> int:
    return plan.minimum or size


def document_of(plan: JobPlan, scheduler: str) -> Document:
    makers = {"Job": _job, "JobSet": _jobset, "PyTorchJob": _pytorchjob, "MPIJob": _mpijob, "TrainJob": _trainjob}
    resource = resource_of(plan)
    annotations: dict[str, str] = {}
    if plan.topology:
        native = plan.kind in ("JobSet", "TrainJob") and plan.topology == "exclusive"
        annotations[EXCLUSIVE if native else f"{PREFIX}{plan.topology}-topology"] = SLICE
    if plan.minimum:
        annotations[f"{PREFIX}min-members"] = str(plan.minimum)
    annotations |= _capacity_rules(plan)
    return {
        "apiVersion": resource.api_version,
        "kind": plan.kind,
        "metadata": {"name": plan.name, "namespace": "default", "annotations": annotations},
        "spec": makers[plan.kind](plan, scheduler),
    }


def _capacity_rules(plan: JobPlan) -> dict[str, str]:
    rules = {"capacity": plan.capacity, "capacity-mix": "one-kind" if plan.one_kind else ""}
    if plan.max_spot >= 0:
        rules["max-spot-members"] = str(plan.max_spot)
    return {PREFIX + name: text for name, text in rules.items() if text}


def _template(plan: JobPlan, scheduler: str, container: str, accelerators: int) -> Document:
    amounts = {"cpu": "1", **({ACCELERATOR: str(accelerators)} if accelerators else {})}
    spec: Document = {
        "schedulerName": scheduler,
        "priorityClassName": class_name(plan.priority, plan.preempts),
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": plan.grace,
        "containers": [{"name": container, "image": "none", "resources": {"requests": amounts, "limits": amounts}}],
    }
    if plan.tolerates:
        toleration = {"key": UNREACHABLE, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        spec["tolerations"] = [toleration]
    if plan.claim:
        spec["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": plan.claim}}]
    return {"metadata": {"labels": {JOB_LABEL: plan.name}}, "spec": spec}


def _job(plan: JobPlan, scheduler: str) -> Document:
    template = _template(plan, scheduler, "main", plan.accelerators)
    numbers = {"parallelism": plan.size, "completions": plan.size, "completionMode": "Indexed", "backoffLimit": 1000}
    return {**numbers, "template": template}


def _jobset(plan: JobPlan, scheduler: str) -> Document:
    jobs: list[Document] = []
    for name, replicas in parts_of(plan):
        job: Document = {"name": name, "replicas": replicas, "template": {"spec": _job(plan, scheduler)}}
        if plan.stages == "dependsOn" and jobs:
            job["dependsOn"] = [{"name": jobs[-1]["name"], "status": "Ready"}]
        jobs.append(job)
    startup = {"startupPolicy": {"startupPolicyOrder": "InOrder"}} if plan.stages == "InOrder" else {}
    return {"replicatedJobs": jobs, "failurePolicy": {"maxRestarts": 1000}, **startup}


def _pytorchjob(plan: JobPlan, scheduler: str) -> Document:
    template = _template(plan, scheduler, "pytorch", plan.accelerators)
    roles = {"Master": {"replicas": 1, "restartPolicy": "OnFailure", "template": template}}
    if plan.size > 1:
        roles["Worker"] = {"replicas": plan.size - 1, "restartPolicy": "OnFailure", "template": template}
    return {"pytorchReplicaSpecs": roles, "runPolicy": {"backoffLimit": 1000}}


def _mpijob(plan: JobPlan, scheduler: str) -> Document:
    if plan.stages == FIRST_VERSION:
        template = _template(plan, scheduler, "main", plan.accelerators)
        return {"replicas": plan.size, "backoffLimit": 1000, "launcherResources": {}, "template": template}
    launcher = {"replicas": 1, "template": _template(plan, scheduler, "main", 0)}
    template = _template(plan, scheduler, "main", plan.accelerators)
    workers = {"replicas": plan.size, "restartPolicy": "OnFailure", "template": template}
    policy = {"launcherCreationPolicy": plan.stages} if plan.stages else {}
    return {"mpiReplicaSpecs": {"Launcher": launcher, "Worker": workers}, **policy}


def _trainjob(plan: JobPlan, _: str) -> Document:
    """The runtime describes its pods."""
    return {"runtimeRef": {"name": f"{RUNTIME}-{plan.name}"}, "trainer": {"numNodes": plan.size}}


def runtime_of(plan: JobPlan, scheduler: str) -> Document:
    """The ClusterTrainingRuntime of one TrainJob."""
    labels = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
    spec = {**_job(plan, scheduler), "template": _template(plan, scheduler, "node", plan.accelerators)}
    job = {"name": "node", "template": {"metadata": {"labels": labels}, "spec": spec}}
    return {
        "apiVersion": TRAIN_JOBS.api_version,
        "kind": "ClusterTrainingRuntime",
        "metadata": {"name": f"{RUNTIME}-{plan.name}"},
        "spec": {"mlPolicy": {"numNodes": plan.size}, "template": {"spec": {"replicatedJobs": [job]}}},
    }


class GangState:
    """The state of one job in the simulated API."""

    def __init__(self, plan: JobPlan) -> None:
        self.plan = plan
        self.key = key_of(plan)
        self.slots = {slot.name: slot for slot in slots_of(plan)}
        self.needed = minimum_of(plan, len(self.slots))
        self.elastic = self.needed < len(self.slots)
        # The launcher of an MPIJob may wait until its workers run again: then it belongs to a later stage.
        launcher = f"{plan.name}-launcher" if plan.kind == "MPIJob" else ""
        self.first = {name for name, slot in self.slots.items() if slot.stage == 0 and name != launcher}
        self.there = False  # submitted, and not deleted
        self.suspended = False  # by its user
        self.requeued = False  # suspended by the scheduler: its pods leave, and are missing on purpose
        self.pods: dict[str, tuple[str, Version]] = {}  # uid -> slot, version
        self.holds: dict[str, str] = {}
        self.done: set[str] = set()  # slots whose processes have succeeded
        self.made_at = float("-inf")  # when all pods of its first stage last existed and one was lost
        self.begun = False  # whether all pods of its first stage had seats since it last had none
        self.partly_since: float | None = None
        self.waits: str = ""  # the last message of a Waiting event

    def next_stage(self) -> set[str]:
        """Slots of the earliest stage that is not done."""
        left = [slot for name, slot in self.slots.items() if name not in self.done]
        lowest = min((slot.stage for slot in left), default=0)
        return {slot.name for slot in left if slot.stage == lowest}

    @property
    def can_be_suspended(self) -> bool:
        return self.plan.stages != FIRST_VERSION

    def seats(self) -> dict[str, str]:
        """Slot -> node, of pods that are not about to leave."""
        return {slot: pod.node for slot, pod in self.pods.values() if pod.takes_room and not pod.leaving}

    def made(self) -> set[str]:
        """Slots whose pods exist."""
        return {slot for slot, pod in self.pods.values() if not pod.leaving and pod.phase != "Failed"} | self.done

    def seated(self) -> set[str]:
        return {slot for slot, pod in self.pods.values() if pod.takes_room and not pod.leaving} | self.done
