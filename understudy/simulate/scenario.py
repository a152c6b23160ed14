"""A scenario as a value: nodes, jobs, the events of users and faults, late messages. It is stored as JSON.

Each decision of a seed is one entry, so that a failing scenario can be shrunk by leaving entries out.
"""

import msgspec

SLICE = "simulate.understudy.dev/slice"  # the topology label of nodes
ACCELERATOR = "nvidia.com/gpu"


class NodePlan(msgspec.Struct, frozen=True, omit_defaults=True):
    name: str
    slice: str  # the value of its topology label
    accelerators: int = 4
    skew: float = 0.0  # seconds by which its clock is ahead
    spare: bool = False
    spot: bool = False


class JobPlan(msgspec.Struct, frozen=True, omit_defaults=True):
    """`parts` replicated jobs of `size` pods each; kinds without parts have one."""

    name: str
    kind: str  # Job, JobSet, PyTorchJob, MPIJob, TrainJob
    size: int = 1
    parts: int = 1
    accelerators: int = 1  # of each pod
    priority: int = 0
    preempts: bool = True
    topology: str = ""  # exclusive, required: each part sits in one slice
    stages: str = ""  # InOrder, dependsOn, WaitForWorkersReady; of an MPIJob also v1alpha1, its first version
    minimum: int = 0  # members it needs to run; 0: all of them
    claim: str = ""  # the name of a PersistentVolumeClaim that every pod mounts
    duration: float = 0.0  # seconds after which its processes succeed; 0: they run for ever
    grace: int = 10
    saves_within: float = 0.0  # seconds in which it saves a checkpoint when it is asked; 0: it never reports any
    answers: bool = True  # False: it reports a first checkpoint, and none when it is asked
    tolerates: bool = True  # the taints of unreachable nodes, for five minutes
    capacity: str = ""  # spot, on-demand, prefer-spot
    max_spot: int = -1  # how many members may sit on spot nodes; -1: all of them
    one_kind: bool = False  # its members do not mix kinds of capacity


class Event(msgspec.Struct, frozen=True, omit_defaults=True):
    """An action of a user or a fault. The meaning of `target`, `seconds` and `number` depends on `does`."""

    at: float
    does: str
    target: str = ""
    seconds: float = 0.0
    number: int = 0


class Lateness(msgspec.Struct, frozen=True, omit_defaults=True):
    """Messages of a channel take up to so many seconds. Without a resource: requests and answers."""

    process: str
    resource: str = ""
    seconds: float = 1.0
    coalesces: bool = False


class Scenario(msgspec.Struct, frozen=True, omit_defaults=True):
    seed: int
    mode: str = "embedded"  # or kube
    noise: int = 0  # seeds the small delays of all messages and actors
    faults_until: float = 100.0  # seconds; afterwards faults are healed and messages are prompt
    nodes: tuple[NodePlan, ...] = ()
    jobs: tuple[JobPlan, ...] = ()
    events: tuple[Event, ...] = ()
    late: tuple[Lateness, ...] = ()
    outside: bool = False  # in embedded mode: simulated operators make the pods, not the product's controllers
    shuffled: bool = False  # callbacks of the event loop that are ready together run in an order that `noise` draws
    operator_pace: float = 0.2  # seconds between two actions of a simulated operator


def read(text: bytes) -> Scenario:
    return msgspec.json.decode(text, type=Scenario)


def written(scenario: Scenario) -> bytes:
    return msgspec.json.format(msgspec.json.encode(scenario), indent=1) + b"\n"
