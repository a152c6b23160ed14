"""What is known of one gang before a model gang is formed: its pods, its job, and whether the job was seen."""

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from understudy.kinds.gang_ref import GangRef
from understudy.kinds.gangs.lone_pod import is_live
from understudy.kinds.observed_pod import ObservedPod
from understudy.kinds.pod_groups.definition import POD_GROUP, GroupRef
from understudy.model.gangs import Gang
from understudy.objects.jobs import Workload
from understudy.objects.pods import Pod

PodName = tuple[str, str]  # (namespace, name)


class GangPod(msgspec.Struct, gc=False):
    """A pod, its gang, and its observed state once that was needed."""

    pod: Pod
    ref: GangRef  # the gang it counts for
    own: GangRef  # the gang of its job, which may be another one
    group: GroupRef | None = None  # the pod group it names
    seen: ObservedPod | None = None


class GangParts(msgspec.Struct, gc=False):
    """The parts of one gang. A TrainJob and the JobSet it creates are one gang: the TrainJob represents it, and the
    JobSet says which members it has."""

    entries: dict[PodName, GangPod] = {}
    job: Workload | None = None
    outer_job: Workload | None = None  # of a kind that leaves its pods to a child, as a TrainJob
    made: Workload | None = None  # this child
    done: Mapping[str, frozenset[str]] = {}  # by child Job, the indexes whose pods have succeeded
    lent: int = 0  # number of the job's pods that count for a pod group, which is a gang of its own then
    passed_over: bool = False  # its pods were not created in time: it is left out until something about it changes
    gang: Gang | None = None  # as it was returned last
    formed_at: float = -math.inf
    paused: float = 0.0  # seconds for which changes of its waiting pods may be left out after it was formed

    @property
    def first(self) -> GangPod | None:
        return next(iter(self.entries.values()), None)

    @property
    def top_level_job(self) -> Workload | None:
        return self.outer_job or self.job

    @property
    def is_stray(self) -> bool:
        first = self.first
        return self.top_level_job is None and first is not None and first.ref.kind not in ("Pod", POD_GROUP)

    @property
    def is_unfinished(self) -> bool:
        """Whether some of its pods do not exist yet: their template may require anything."""
        return self.gang is not None and not all(member.exists for member in self.gang.members())


class PassedOver(NamedTuple):
    """A gang whose pods were not created in time when a plan was applied: the next plans leave it out."""

    gang: str
    pods: frozenset[str]  # their uids
    spec: object  # the spec of its job

    @staticmethod
    def of(gang: str, pods: Iterable[Pod], job: Workload | None) -> "PassedOver":
        return PassedOver(gang, frozenset(pod.metadata.uid for pod in pods), job.spec if job is not None else None)

    def still_holds(self, parts: GangParts) -> bool:
        """False when a pod was created or deleted since, or the job changed its spec."""
        return self == PassedOver.of(self.gang, (entry.pod for entry in parts.entries.values()), parts.top_level_job)


class UnseenJobs:
    def __init__(self, lag: float = 0.0) -> None:
        """`lag` are the seconds by which one kind may be seen later than another; 0: changes of all kinds are seen in
        order."""
        self._lag = lag
        self._until: dict[str, float] = {}  # gangs without a job, and when they count as gangs without it
        self._waiting: set[str] = set()

    def due(self, now: float) -> list[str]:
        """The gangs whose time has come since the last call."""
        found = [key for key in self._waiting if self._until[key] <= now]
        self._waiting.difference_update(found)
        return found

    def with_awaited_job(self, key: str, gang: Gang | None, owned: bool, now: float) -> Gang | None:
        """A gang whose job is not known yet must wait for it. A gang with seats is left as it is: its job may have just
        been deleted.

        Pods that are `owned` by a missing job are never seated: either the job will be seen, or the pods are garbage,
        of which some may be collected already. Other pods may belong to no job."""
        if gang is None or not self._lag or gang.seated():
            return gang
        if not owned:
            if self._until.setdefault(key, now + self._lag) <= now:
                return gang
            self._waiting.add(key)
        return replace(gang, awaits=(*gang.awaits, f"{gang.title} has not been seen, only pods of it"))

    def claimed(self, key: str) -> None:
        """The job is known, or no pod is left."""
        if self._until.pop(key, None) is not None:
            self._waiting.discard(key)

    def next_look(self) -> float | None:
        return min((self._until[key] for key in self._waiting), default=None)


def is_seatable(pod: Pod) -> bool:
    """A pod with a scheduling gate is not bound, whichever controller set the gate."""
    return wants_a_seat(pod) and not pod.spec.scheduling_gates


def wants_a_seat(pod: Pod) -> bool:
    return not pod.spec.node_name and is_live(pod)
