"""Jobs and pods, grouped by gang as they change, into model gangs; only changed gangs are formed again."""

from collections.abc import Iterable, Iterator

import msgspec

from understudy.control.view.forming_pause import FormingPauses, only_waits, pause_after_forming
from understudy.control.view.gang_parts import GangParts, GangPod, PassedOver, PodName, UnseenJobs
from understudy.control.view.invalid_objects import InvalidObjects
from understudy.control.view.pod_groups import PodGroupIndex
from understudy.kinds.annotations import WARM_FOR
from understudy.kinds.completion_indexes import parse_indexes
from understudy.kinds.context import Context
from understudy.kinds.gang_ref import GangRef, job_key
from understudy.kinds.gangs.group_gang import group_gang
from understudy.kinds.gangs.job_gang import gang_of, gang_of_invalid_job, gang_of_jobless_pods
from understudy.kinds.gangs.lone_pod import gang_of_one, is_live, is_unchanged, lone_gang
from understudy.kinds.job import is_plain_single
from understudy.kinds.job_kind import JobKind
from understudy.kinds.observed_pod import ObservedPod, observe_pod
from understudy.kinds.ownership import owner_of, pods_key
from understudy.kinds.pod_groups.definition import POD_GROUP, GroupDefinition, GroupRef
from understudy.kinds.pod_groups.lookup import group_named
from understudy.kinds.registry import KINDS
from understudy.model.gangs import Gang
from understudy.objects.errors import BadObject
from understudy.objects.jobs import Job, Workload
from understudy.objects.meta import seconds
from understudy.objects.pod_groups import AnyGroup
from understudy.objects.pods import Pod
from understudy.objects.volumes import claim_names


class GangIndex:
    """The gangs of the cluster. `changes` forms the changed ones again.

    With `invalid_objects`, an invalid gang is recorded there and only its seats count; without, it is an error."""

    def __init__(self, context: Context, invalid_objects: InvalidObjects | None = None, job_lag: float = 0.0) -> None:
        self._context = context
        self._invalid_objects = invalid_objects
        self._unseen_jobs = UnseenJobs(job_lag)
        self._groups: dict[str, GangParts] = {}
        self._claimants: dict[tuple[str, str], set[PodName]] = {}  # the pods that name a claim
        self._unfinished: dict[str, set[str]] = {}  # by namespace, the groups with pods that do not exist yet
        self._entries: dict[PodName, GangPod] = {}
        self._pod_groups = PodGroupIndex()
        self._dirty: dict[str, None] = {}
        self._grown: dict[str, None] = {}  # groups of which only waiting pods came, went or changed
        self._pauses = FormingPauses()
        self._maybe_empty: set[str] = set()  # groups that lost an object, and may be empty
        self.looked_at = False  # whether a gang was formed yet

    def pods(self) -> Iterator[Pod]:
        return (entry.pod for entry in self._entries.values())

    def pod(self, namespace: str, name: str) -> Pod | None:
        entry = self._entries.get((namespace, name))
        return entry.pod if entry is not None else None

    def group(self, key: str) -> GangParts:
        """The parts of a gang; empty if the gang does not exist."""
        return self._groups.get(pods_key(key)) or GangParts()

    def pass_over(self, found: PassedOver) -> None:
        key = pods_key(found.gang)
        if key in self._groups and found.still_holds(self._groups[key]):
            self._group(key).passed_over = True

    @property
    def touched(self) -> bool:
        return bool(self._dirty or self._grown)

    def put_pod(self, pod: Pod) -> None:
        meta = pod.metadata
        home = (meta.namespace, meta.name)
        own = owner_of(pod)
        group = group_of(pod, own)
        entry = self._entries.get(home)
        if group is not None or (entry is not None and entry.group is not None):
            self._set_group(home, group, own)
        ref = own if group is None else self._pod_groups.ref(group, own)
        if entry is not None and (entry.ref.key, entry.own.key) == (ref.key, own.key):
            if not is_unchanged(pod, entry.pod):
                entry.ref, entry.own, entry.group, entry.seen = ref, own, group, None
                self._mark(ref.key, only_waits(pod, entry.pod))
            self._book_claims(home, entry.pod, pod)
            entry.pod = pod
            return
        if entry is not None:
            self._drop(entry)
        self._book_claims(home, entry.pod if entry is not None else None, pod)
        new = self._entries[home] = GangPod(pod, ref, own, group)
        self._add(new, minor=entry is None and only_waits(pod, pod))

    def remove_pod(self, pod: Pod) -> None:
        home = (pod.metadata.namespace, pod.metadata.name)
        entry = self._entries.pop(home, None)
        if entry is not None:
            self._drop(entry, minor=only_waits(entry.pod, entry.pod))
            self._book_claims(home, entry.pod, None)
            if entry.group is not None:
                self._set_group(home, None, entry.own)

    def _book_claims(self, home: PodName, before: Pod | None, now: Pod | None) -> None:
        """Most pods have no claims."""
        if before is not None and before.spec.volumes:
            for claim in claim_names(before.spec, home[1]):
                named = self._claimants[home[0], claim]
                named.discard(home)
                if not named:
                    del self._claimants[home[0], claim]
        if now is not None and now.spec.volumes:
            for claim in claim_names(now.spec, home[1]):
                self._claimants.setdefault((home[0], claim), set()).add(home)

    def put_group(self, group: AnyGroup) -> None:
        self._touch(self._pod_groups.put(group))

    def remove_group(self, group: AnyGroup) -> None:
        self._touch(self._pod_groups.remove(group))

    def _touch(self, pods: Iterable[PodName]) -> None:
        for home in pods:
            self._dirty[self._entries[home].ref.key] = None

    def _set_group(self, home: PodName, group: GroupRef | None, own: GangRef) -> None:
        """A pod that joins or leaves a group may make it a gang of its own, or a part of the job's again: the other
        pods change their gang too."""
        for other in self._pod_groups.set_group(home, group, own):
            entry = self._entries[other]
            assert entry.group is not None
            self._drop(entry)
            entry.ref, entry.seen = self._pod_groups.ref(entry.group, entry.own), None
            self._add(entry)

    def put_job(self, job: Workload) -> None:
        meta = job.metadata
        if meta.owner_references and (owner := meta.controller) is not None and owner.kind in KINDS:
            if _is_sole_child(job, KINDS[owner.kind]):
                self._group(pods_key(job_key(job))).made = job
            elif isinstance(job, Job) and KINDS[owner.kind].has_child_jobs:
                self._put_child(f"{owner.kind}/{meta.namespace}/{owner.name}", job)
            return  # a child: its parent represents the gang
        group = self._group(pods_key(job_key(job)))
        outer = KINDS[job.kind].child is not None
        known = group.outer_job if outer else group.job
        if known is None or known.spec != job.spec:
            group.passed_over = False
        if outer:
            group.outer_job = job
        else:
            group.job = job

    def _put_child(self, key: str, job: Job, gone: bool = False) -> None:
        """A pod that has succeeded is not created again, even if its object was deleted: its Job counts it."""
        name, group = job.metadata.name, self._groups.get(key)
        done = frozenset(f"{name}-{index}" for index in parse_indexes(job.status.completed_indexes) if not gone)
        if done != (group.done.get(name, frozenset()) if group is not None else frozenset()):
            found = self._group(key)
            found.done = {**found.done, name: done}

    def remove_job(self, job: Workload) -> None:
        owner = job.metadata.controller
        parent = KINDS.get(owner.kind) if owner is not None else None
        if owner is not None and parent is not None and parent.has_child_jobs and isinstance(job, Job):
            self._put_child(f"{owner.kind}/{job.metadata.namespace}/{owner.name}", job, gone=True)
        key = pods_key(job_key(job))
        if (group := self._groups.get(key)) is None:
            return
        if KINDS[job.kind].child is not None:
            group.outer_job = None
        else:
            group.job = group.made = None
        self._dirty[key] = None
        self._maybe_empty.add(key)

    def touch_all(self) -> None:
        """After a change that may affect all gangs: all are formed again, if any was formed yet."""
        if not self.looked_at:
            return
        for entry in self._entries.values():
            entry.seen = None
        self._dirty = dict.fromkeys(self._groups)

    def touch_claimants(self, namespace: str, claim: str) -> None:
        """After a change of a claim or its volume: gangs whose pods name it are formed again, also those whose pods may
        name it once they exist."""
        for home in self._claimants.get((namespace, claim), ()):
            entry = self._entries[home]
            entry.seen = None
            self._dirty[entry.ref.key] = None
        self._dirty.update(dict.fromkeys(self._unfinished.get(namespace, ())))

    def next_look(self) -> float | None:
        moments = (self._unseen_jobs.next_look(), self._pauses.next_look())
        return min((at for at in moments if at is not None), default=None)

    def catch_up(self, gangs: Iterable[str]) -> bool:
        """The changes of these gangs are left out no longer. Returns whether there are any."""
        late = self._pauses.ended({pods_key(gang) for gang in gangs})
        self._dirty.update(dict.fromkeys(late))
        return bool(late)

    def changes(self, now: float) -> dict[str, Gang | None]:
        """The groups whose gang has changed. `settle` records the new gangs."""
        self.looked_at = True
        changed: dict[str, Gang | None] = {}
        self._dirty.update(dict.fromkeys(self._unseen_jobs.due(now)))
        self._dirty.update(dict.fromkeys(key for key in self._pauses.due(now) if key in self._groups))
        for key in self._grown:
            if key not in self._dirty and not self._pauses.goes_on(key, self._groups[key], now):
                self._dirty[key] = None
        self._pauses.ended(self._dirty)
        for key in self._dirty:
            group = self._groups[key]
            gang = self._formed(key, group, now)
            group.formed_at = now
            if gang is not group.gang and (group.gang is None or gang != group.gang):
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
            group.paused = pause_after_forming(gang)
            waiting = self._unfinished.setdefault(_namespace(key), set())
            (waiting.add if group.is_unfinished else waiting.discard)(key)
        for key in self._maybe_empty:
            group = self._groups[key]
            if not (group.entries or group.lent) and group.top_level_job is None and group.made is None:
                del self._groups[key]
                self._unfinished.get(_namespace(key), set()).discard(key)
                self._unseen_jobs.claimed(key)
        self._maybe_empty.clear()
        self._dirty, self._grown = {}, {}
        return gone

    def _group(self, key: str) -> GangParts:
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = GangParts()
        self._dirty[key] = None
        return group

    def _mark(self, key: str, minor: bool) -> None:
        (self._grown if minor else self._dirty)[key] = None

    def _add(self, entry: GangPod, minor: bool = False) -> None:
        key = entry.ref.key
        group = self._groups.setdefault(key, GangParts())
        group.entries[entry.pod.metadata.namespace, entry.pod.metadata.name] = entry
        group.passed_over = False
        self._mark(key, minor)
        self._count_for_other_gang(entry, 1)

    def _drop(self, entry: GangPod, minor: bool = False) -> None:
        self._count_for_other_gang(entry, -1)
        key = entry.ref.key
        group = self._groups[key]
        del group.entries[entry.pod.metadata.namespace, entry.pod.metadata.name]
        group.passed_over = False
        self._mark(key, minor)
        self._maybe_empty.add(key)

    def _count_for_other_gang(self, entry: GangPod, count: int) -> None:
        """Records on a job how many of its pods count for another gang."""
        if entry.own.key != entry.ref.key and entry.own.kind != "Pod":
            self._group(entry.own.key).lent += count
            self._maybe_empty.add(entry.own.key)

    def _formed(self, key: str, group: GangParts, now: float) -> Gang | None:
        try:
            gang = self._form(group)
            if group.is_stray:
                gang = self._unseen_jobs.with_awaited_job(key, gang, self._is_owned(group), now)
            else:
                self._unseen_jobs.claimed(key)
        except BadObject as error:
            if self._invalid_objects is None:
                raise
            self._invalid_objects.found(key, error)
            return gang_of_invalid_job(((entry.pod, entry.ref) for entry in group.entries.values()), self._context)
        if self._invalid_objects is not None:
            self._invalid_objects.over(key)
        if group.passed_over and gang is not None:
            if gang.seated():
                return msgspec.structs.replace(gang, stalled=True)
            if not gang.holds:
                return msgspec.structs.replace(gang, managed=False)
            group.passed_over = False  # its seats have ended; what is held for it is given up like any hold
        return gang

    def _is_owned(self, group: GangParts) -> bool:
        """Whether any of its pods is owned by a job that is not known."""
        for entry in group.entries.values():
            owner = entry.pod.metadata.controller
            if owner is not None and owner.kind in KINDS:
                known = self._groups.get(pods_key(f"{owner.kind}/{entry.pod.metadata.namespace}/{owner.name}"))
                if known is None or known.top_level_job is None:
                    return True
        return False

    def _form(self, group: GangParts) -> Gang | None:
        entries = group.entries
        job = group.top_level_job if not group.lent else None
        entry = group.first
        if len(entries) == 1 and entry is not None and entry.group is None:
            if job is None and entry.ref.kind == "Pod":
                return lone_gang(entry.pod, entry.ref, self._context)
            if isinstance(job, Job) and is_live(entry.pod) and is_plain_single(job):
                created = seconds(job.metadata.creation_timestamp) or 0.0
                return gang_of_one(entry.pod, entry.ref, created, self._context)
        seen = self._observed_pods(group)
        if entry is not None and entry.ref.kind == POD_GROUP and (named := entry.group) is not None:
            return group_gang(self._pod_groups.definition(named), seen, self._context)
        if job is not None:
            if group.made is not None and (child := KINDS[job.kind].child) is not None:
                job = child.gang_source(job, group.made)
            done = frozenset().union(*group.done.values())
            return gang_of(job, self._context, seen, self._groups_of(entries.values()), done)
        return gang_of_jobless_pods(seen, self._context) if seen else None

    def _groups_of(self, entries: Iterable[GangPod]) -> dict[str, GroupDefinition]:
        """What the pod groups of a job's pods require, by island."""
        found = {}
        for entry in entries:
            if entry.group is not None:
                definition = self._pod_groups.definition(entry.group)
                if entry.group.binding or not definition.absent:
                    found[entry.ref.island] = definition
        return found

    def _observed_pods(self, group: GangParts) -> list[ObservedPod]:
        found = []
        for entry in group.entries.values():
            if entry.seen is None:
                entry.seen = observe_pod(entry.pod, entry.ref, self._context)
            found.append(entry.seen)
        return found


def group_of(pod: Pod, own: GangRef) -> GroupRef | None:
    """DaemonSet pods, static pods and understudies are in no group, whatever their annotations say."""
    if own.infrastructure or WARM_FOR in pod.metadata.annotations:
        return None
    return group_named(pod.metadata, pod.spec)


def _is_sole_child(job: Workload, parent: JobKind) -> bool:
    return parent.child is not None and parent.child.resource.kind == job.kind


def _namespace(key: str) -> str:
    return key.split("/", 2)[1]
