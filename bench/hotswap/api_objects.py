"""Pods and nodes as the API tells of them: bytes into as much as it takes to follow a gang through an incident."""

from typing import Any

import msgspec

from bench.hotswap.replay import JobState, PodState, seats_in

# The label that names a pod's job, the outermost job first.
JOB_LABELS = ("jobset.sigs.k8s.io/jobset-name", "training.kubeflow.org/job-name", "batch.kubernetes.io/job-name")
CHILD_JOB = "batch.kubernetes.io/job-name"
INDEX = "batch.kubernetes.io/job-completion-index"
WARM_FOR = "understudy.dev/warm-for"  # on an understudy that holds itself ready: the gang it does that for
STEPS_IN = "understudy.dev/steps-in"  # on a pod: the uid of the understudy that became it, with its processes
HOLDS = "understudy.dev/holds"  # on a job: the seats that are held for its members
UNREACHABLE = "node.kubernetes.io/unreachable"

Place = tuple[str, str]  # (namespace, what a member is called whatever its pod's name)


class Meta(msgspec.Struct, frozen=True, rename="camel", gc=False):
    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = "0"
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    deletion_timestamp: str = ""


class Condition(msgspec.Struct, frozen=True, gc=False):
    type: str
    status: str


class _Container(msgspec.Struct, frozen=True, gc=False):
    state: dict[str, Any] = {}


class _PodSpec(msgspec.Struct, frozen=True, rename="camel", gc=False):
    node_name: str = ""


class _PodStatus(msgspec.Struct, frozen=True, rename="camel", gc=False):
    phase: str = ""
    nominated_node_name: str = ""
    conditions: list[Condition] = []
    container_statuses: list[_Container] = []


class Pod(msgspec.Struct, frozen=True, gc=False):
    metadata: Meta
    spec: _PodSpec = _PodSpec()
    status: _PodStatus = _PodStatus()

    @property
    def uid(self) -> str:
        return self.metadata.uid

    @property
    def node(self) -> str:
        return self.spec.node_name

    @property
    def is_understudy(self) -> bool:
        return WARM_FOR in self.metadata.annotations

    @property
    def body(self) -> str:
        """The uid by which the pod's processes are known."""
        return self.metadata.annotations.get(STEPS_IN, self.uid)

    @property
    def gang(self) -> str:
        """The name of the pod's job; '' for a pod without a job, and for an understudy."""
        labels = {} if self.is_understudy else self.metadata.labels
        return next((labels[label] for label in JOB_LABELS if label in labels), "")

    @property
    def place(self) -> Place:
        """The place of the member in its gang, which outlives the pod: an index of a Job, else the name."""
        labels, space = self.metadata.labels, self.metadata.namespace
        if INDEX in labels:
            return space, f"{labels.get(CHILD_JOB, '')}/{labels[INDEX]}"
        return space, self.metadata.name

    @property
    def leads(self) -> bool:
        """Whether the other members meet at this one."""
        return self.metadata.labels.get(INDEX, "") == "0" or self.metadata.name.endswith("-master-0")

    @property
    def over(self) -> bool:
        return self.status.phase in ("Failed", "Succeeded")

    @property
    def stays(self) -> bool:
        return not self.metadata.deletion_timestamp and not self.over

    @property
    def runs(self) -> bool:
        found = self.status.container_statuses
        return self.stays and bool(found) and all("running" in one.state for one in found)

    def observed(self, gone: bool) -> PodState:
        return PodState(
            revision=int(self.metadata.resource_version),
            uid=self.uid,
            name=self.metadata.name,
            gang=self.gang,
            place=held_name(self.place),
            node=self.node,
            nominated=self.status.nominated_node_name,
            phase=self.status.phase,
            leaving=bool(self.metadata.deletion_timestamp),
            running=self.runs,
            gone=gone,
        )

    @property
    def disrupted(self) -> bool:
        return any(one.type == "DisruptionTarget" and one.status == "True" for one in self.status.conditions)


def held_name(place: Place) -> str:
    """The name of a place in the annotation that holds seats."""
    return place[1].replace("/", "-")


class Pods(msgspec.Struct, frozen=True, gc=False):
    items: list[Pod]


class _Taint(msgspec.Struct, frozen=True, gc=False):
    key: str


class _NodeSpec(msgspec.Struct, frozen=True, gc=False):
    taints: list[_Taint] = []


class _NodeStatus(msgspec.Struct, frozen=True, gc=False):
    conditions: list[Condition] = []


class Node(msgspec.Struct, frozen=True, gc=False):
    metadata: Meta
    spec: _NodeSpec = _NodeSpec()
    status: _NodeStatus = _NodeStatus()

    @property
    def well(self) -> bool:
        ready = any(one.type == "Ready" and one.status == "True" for one in self.status.conditions)
        return ready and not any(taint.key == UNREACHABLE for taint in self.spec.taints)


class _JobStatus(msgspec.Struct, frozen=True, gc=False):
    conditions: list[Condition] = []


class _JobSpec(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """The fields of a Job, a JobSet and a PyTorchJob from which the number of pods follows."""

    suspend: bool = False
    parallelism: int = 1
    replicated_jobs: list["_ReplicatedJob"] = []
    pytorch_replica_specs: dict[str, "_Role"] = {}

    @property
    def pods(self) -> int:
        if self.replicated_jobs:
            return sum(job.replicas * job.template.spec.pods for job in self.replicated_jobs)
        return sum(role.replicas for role in self.pytorch_replica_specs.values()) or self.parallelism


class _Role(msgspec.Struct, frozen=True, gc=False):
    replicas: int = 1


class _JobTemplate(msgspec.Struct, frozen=True, gc=False):
    spec: _JobSpec = _JobSpec()


class _ReplicatedJob(msgspec.Struct, frozen=True, gc=False):
    replicas: int = 1
    template: _JobTemplate = _JobTemplate()


class Job(msgspec.Struct, frozen=True, gc=False):
    """A job of any kind."""

    metadata: Meta
    spec: _JobSpec = _JobSpec()
    status: _JobStatus = _JobStatus()

    @property
    def held(self) -> frozenset[str]:
        """The members for which a seat is held."""
        return frozenset(place for place, _ in seats_in(self.metadata.annotations.get(HOLDS, "")))

    def observed(self, kind: str, gone: bool) -> JobState:
        return JobState(
            revision=int(self.metadata.resource_version),
            kind=kind,
            name=self.metadata.name,
            holds=tuple(sorted(self.held)),
            suspended=self.spec.suspend,
            gone=gone,
        )

    @property
    def failed(self) -> bool:
        return any(one.type == "Failed" and one.status == "True" for one in self.status.conditions)


class Jobs(msgspec.Struct, frozen=True, gc=False):
    items: list[Job]


class _About(msgspec.Struct, frozen=True, gc=False):
    kind: str = ""
    name: str = ""


class Event(msgspec.Struct, frozen=True, rename="camel", gc=False):
    metadata: Meta
    reason: str = ""
    message: str = ""
    count: int | None = None
    involved_object: _About = _About()


pod = msgspec.json.Decoder(Pod).decode
pods = msgspec.json.Decoder(Pods).decode
node = msgspec.json.Decoder(Node).decode
job = msgspec.json.Decoder(Job).decode
jobs = msgspec.json.Decoder(Jobs).decode
event = msgspec.json.Decoder(Event).decode
