"""Jobs and pods, gathered by gang as they come and go, into model gangs; only what was touched is made anew."""

from collections.abc import Iterator

from understudy.kinds import KINDS, gang_of
from understudy.kinds.context import Context
from understudy.kinds.orphans import orphan_gang
from understudy.kinds.ownership import GangRef, owner_of
from understudy.kinds.pod import lone_gang
from understudy.kinds.sightings import Sighting, sighted
from understudy.model.gangs import Gang
from understudy.objects.jobs import Workload
from understudy.objects.pods import Pod

PodName = tuple[str, str]  # (namespace, name)


class Group:
    """What is known of one gang. A TrainJob and the JobSet it makes are one group, and the TrainJob speaks for it."""

    __slots__ = ("gang", "jobs", "pods", "seen")

    def __init__(self) -> None:
        self.jobs: dict[str, Workload] = {}  # by kind
        self.pods: dict[str, tuple[Pod, GangRef]] = {}
        self.seen: dict[str, Sighting] = {}  # of the pods, as far as they were looked at
        self.gang: Gang | None = None  # as handed out last


class GangBook:
    """The gangs of the cluster. `changes` makes anew what was touched."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._groups: dict[str, Group] = {}
        self._homes: dict[PodName, str] = {}  # pod -> group
        self._dirty: dict[str, None] = {}

    def pods(self) -> Iterator[Pod]:
        return (pod for group in self._groups.values() for pod, _ in group.pods.values())

    @property
    def touched(self) -> bool:
        return bool(self._dirty)

    def put_pod(self, pod: Pod) -> None:
        ref = owner_of(pod)
        key, name = ref.key, pod.metadata.name
        home = (pod.metadata.namespace, name)
        if (old := self._homes.get(home)) is not None and old != key:
            self._drop(old, name)
        self._homes[home] = key
        group = self._group(key)
        group.pods[name] = (pod, ref)
        group.seen.pop(name, None)

    def remove_pod(self, pod: Pod) -> None:
        if (key := self._homes.pop((pod.metadata.namespace, pod.metadata.name), None)) is not None:
            self._drop(key, pod.metadata.name)

    def put_job(self, job: Workload) -> None:
        owner = job.metadata.controller
        if owner is not None and owner.kind in KINDS:  # a child: its parent speaks for the gang
            return
        self._group(_group_key(job)).jobs[job.kind] = job

    def remove_job(self, job: Workload) -> None:
        key = _group_key(job)
        if key in self._groups and self._groups[key].jobs.pop(job.kind, None) is not None:
            self._dirty[key] = None

    def touch_all(self) -> None:
        """After a change of the context: everything is looked at again."""
        for group in self._groups.values():
            group.seen.clear()
        self._dirty = dict.fromkeys(self._groups)

    def changes(self) -> dict[str, Gang | None]:
        """The groups whose gang is not what it was. `settle` makes them known."""
        changed: dict[str, Gang | None] = {}
        for key in self._dirty:
            group = self._groups[key]
            gang = self._made(group)
            if gang != group.gang:
                changed[key] = gang
        return changed

    def settle(self, changed: dict[str, Gang | None]) -> list[str]:
        """Returns the keys of the gangs that are gone."""
        gone = []
        for key, gang in changed.items():
            group = self._groups[key]
            if group.gang is not None and (gang is None or gang.key != group.gang.key):
                gone.append(group.gang.key)
            group.gang = gang
        for key in self._dirty:
            group = self._groups[key]
            if not group.pods and not group.jobs:
                del self._groups[key]
        self._dirty = {}
        return gone

    def _group(self, key: str) -> Group:
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = Group()
        self._dirty[key] = None
        return group

    def _drop(self, key: str, name: str) -> None:
        group = self._groups[key]
        del group.pods[name]
        group.seen.pop(name, None)
        self._dirty[key] = None

    def _made(self, group: Group) -> Gang | None:
        seen = self._sightings(group)
        if group.jobs:
            job = group.jobs.get("TrainJob") or next(iter(group.jobs.values()))
            return gang_of(job, self._context, seen)
        if not seen:
            return None
        ref = seen[0].ref
        if ref.kind == "Pod":
            return lone_gang(seen[0], self._context)
        return orphan_gang(seen, self._context)

    def _sightings(self, group: Group) -> list[Sighting]:
        seen = group.seen
        for name, (pod, ref) in group.pods.items():
            if name not in seen:
                seen[name] = sighted(pod, ref, self._context)
        return list(seen.values())


def _group_key(job: Workload) -> str:
    kind = "JobSet" if job.kind == "TrainJob" else job.kind
    return f"{kind}/{job.metadata.namespace}/{job.metadata.name}"
