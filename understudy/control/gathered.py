"""What is known of one gang, before it is made of that: its pods and its job, as they are seen."""

from collections.abc import Mapping

import msgspec

from understudy.kinds.observed_pod import ObservedPod
from understudy.kinds.ownership import GangRef
from understudy.kinds.pod_groups.definition import POD_GROUP, GroupRef
from understudy.model.gangs import Gang
from understudy.objects.jobs import JobSet, TrainJob, Workload
from understudy.objects.pods import Pod


class Entry(msgspec.Struct, gc=False):
    """A pod, its place, and what it was seen to be, once somebody looked."""

    pod: Pod
    ref: GangRef  # the gang it counts for
    own: GangRef  # its job's, which may be another one
    group: GroupRef | None = None  # the group it names
    seen: ObservedPod | None = None


class Group(msgspec.Struct, gc=False):
    """What is known of one gang. A TrainJob and the JobSet it makes are one group, and the TrainJob speaks for it; what
    it is made of, its JobSet says."""

    entries: list[Entry] = []
    job: Workload | None = None
    train_job: TrainJob | None = None
    made: JobSet | None = None  # by the TrainJob
    done: Mapping[str, frozenset[str]] = {}  # by child Job, the places whose pods have succeeded
    lent: int = 0  # how many pods of the job count for a group of pods, which is the gang then
    passed_over: bool = False  # its pods were not made in time: it counts for nothing until something about it changes
    gang: Gang | None = None  # as handed out last

    @property
    def speaker(self) -> Workload | None:
        return self.train_job or self.job

    @property
    def is_stray(self) -> bool:
        return self.speaker is None and bool(self.entries) and self.entries[0].ref.kind not in ("Pod", POD_GROUP)

    @property
    def is_unfinished(self) -> bool:
        """Whether some of its pods are yet to be made, from a template that may ask for anything."""
        return self.gang is not None and not all(member.exists for member in self.gang.members())
