"""Sees everything that happens in a cluster, through the API, and checks at every change that the rules are kept.

Tests wait for what they expect to see; no test sleeps for a fixed time.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Any, TypeVar

import msgspec

from bench.hotswap.replay import JobState, PodState, replayed
from tests.chaos.api_objects import observe_job, observe_pod
from tests.decide import reference_rules
from understudy.control.view.cluster_view import ClusterView
from understudy.control.view.invalid_objects import InvalidObjects
from understudy.decide.policy import Policy
from understudy.embedded.loop_settings import EMBEDDED_DEFAULTS
from understudy.kinds.decoding import decode_json
from understudy.kinds.ownership import owner_of
from understudy.kinds.registry import CONTROLLERS
from understudy.model.gangs import Gang
from understudy.model.snapshot import Snapshot
from understudy.objects import resources
from understudy.objects.errors import BadObject
from understudy.objects.pods import Pod
from understudy.objects.resources import EVENTS, LEASES, PODS, Resource
from understudy.ports import Change, ChangeType, Cluster, Refused

Document = dict[str, Any]
Found = TypeVar("Found")

PATIENCE = 90.0  # seconds; what is waited for takes a fraction of one on a machine that has nothing else to do
_LOOK = 0.02
LONGEST_SWAP = 60.0  # seconds that a gang may lack seats; what explains it takes a few

_SEEN_ONLY = (EVENTS, resources.SERVICES, resources.CONFIG_MAPS)  # the view has no use for these
_UNREMARKABLE = (LEASES, EVENTS)  # they come while nothing happens
EVERYWHERE = (
    resources.PRIORITY_CLASSES,
    resources.NAMESPACES,
    resources.BUDGETS,
    resources.NODES,
    LEASES,
    PODS,
    *_SEEN_ONLY,
)
_JOBS = tuple(controller.resource for controller in CONTROLLERS)
FOLLOWED = (
    *EVERYWHERE,
    *_JOBS,
    *(resource for controller in CONTROLLERS for resource in controller.reads),
)
_JOB_LABELS = ("batch.kubernetes.io/job-name", "jobset.sigs.k8s.io/jobset-name", "training.kubeflow.org/job-name")


class ClusterMonitor:
    def __init__(
        self, cluster: Cluster, more: Iterable[Resource], policy: Policy, view: ClusterView | None = None
    ) -> None:
        """Looks at `more` than what every cluster has; with a view of its own, at nothing but what every cluster has
        that runs Kubernetes."""
        self._cluster = cluster
        followed = FOLLOWED if view is None else EVERYWHERE
        self._documents: dict[Resource, dict[tuple[str, str], Document]] = {r: {} for r in (*followed, *more)}
        self._unsynced = set(self._documents)
        self._changed = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self.view = view or ClusterView(policy, limits=EMBEDDED_DEFAULTS.limits, invalid_objects=InvalidObjects())
        self.wrong: list[str] = []
        self.more_rules: list[Callable[[], Iterable[str]]] = []  # each tells what is wrong whenever pods change
        self.stirred_at = time.monotonic()  # when something happened last
        self.places: dict[str, str] = {}  # of every pod that was ever seen, its place in its gang
        self._sights: dict[str, list[PodState | JobState]] = {}  # by the name of the job
        self._sizes: dict[str, dict[str, int]] = {}  # by the name of the job and the key of the gang
        self._partial_since: dict[str, float] = {}

    @contextlib.asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        self._tasks = [asyncio.create_task(self._follow(resource)) for resource in self._documents]
        try:
            await self.until("everything there is", lambda: not self._unsynced)
            yield
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    # What is to be seen

    def all(self, resource: Resource) -> list[Document]:
        return [document for _, document in sorted(self._documents[resource].items())]

    def find(self, resource: Resource, name: str, namespace: str = "default") -> Document | None:
        return self._documents[resource].get((namespace if resource.namespaced else "", name))

    def pods_of(self, job: str) -> list[Document]:
        """The pods of a job of any kind, or the pod of that name; without those on their way out."""
        return [
            pod
            for pod in self.all(PODS)
            if "deletionTimestamp" not in pod["metadata"]
            and (pod["metadata"]["name"] == job or job in map(pod["metadata"].get("labels", {}).get, _JOB_LABELS))
        ]

    def told(self, reason: str, kind: str, name: str) -> list[str]:
        """The messages of events about objects whose names begin so."""
        abouts = [(event["involvedObject"], event) for event in self.all(EVENTS) if event["reason"] == reason]
        return [e["message"] for about, e in abouts if about["kind"] == kind and about["name"].startswith(name)]

    def snapshot(self) -> Snapshot:
        return self.view.snapshot(time.time())

    def partial_starts(self) -> list[str]:
        """Gangs of which a process ran before all members had seats or held ones, at any time, by the order of the
        store. Jobs of one name and several kinds are left out: their pods cannot be told apart here."""
        sizes = {name: max(keys.values()) for name, keys in self._sizes.items() if len(keys) == 1}
        return [
            words
            for name, size in sorted(sizes.items())
            for words in replayed(name, size, self._sights.get(name, ())).partial_starts()
        ]

    async def until(self, what: str, seen: Callable[[], Found | None]) -> Found:
        """Returns what is seen as soon as it is something."""
        deadline = time.monotonic() + PATIENCE
        while True:
            self._raise_what_went_wrong()
            self._changed.clear()
            if found := seen():
                return found
            try:
                async with asyncio.timeout(deadline - time.monotonic()):
                    await self._changed.wait()
            except TimeoutError:
                raise AssertionError(f"never seen: {what}\n{self.picture()}") from None

    async def stirs(self, since: float, within: float) -> None:
        """Returns when something has happened after `since`, a monotonic time, or after `within` seconds."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within):
                while self.stirred_at <= since:
                    self._changed.clear()
                    await self._changed.wait()

    def picture(self) -> str:
        """What helps to find out why a test failed."""
        return "\n".join((*map(_pod_in_words, self.all(PODS)), *map(_event_in_words, self.all(EVENTS))))

    # As it comes

    async def _follow(self, resource: Resource) -> None:
        while True:
            try:
                async for change in self._cluster.follow(resource):
                    self.hear(resource, change)
            except Refused as error:
                if error.code != 404 or resource not in self._unsynced:  # kinds are defined while the cluster starts
                    raise
            await asyncio.sleep(_LOOK)

    def hear(self, resource: Resource, change: Change) -> None:
        if change.type is ChangeType.SYNCED:
            self._unsynced.discard(resource)
        else:
            self._take(resource, change)
        if resource not in _UNREMARKABLE:
            self.stirred_at = time.monotonic()
        self._changed.set()

    def _take(self, resource: Resource, change: Change) -> None:
        document = msgspec.json.decode(change.raw)
        key = (document["metadata"].get("namespace", ""), document["metadata"]["name"])
        gone = change.type is ChangeType.DELETED
        if gone:
            self._documents[resource].pop(key, None)
        else:
            self._documents[resource][key] = document
        if resource not in _SEEN_ONLY:
            self._show(change.raw, gone)
        self._note(resource, change.raw, document, gone)
        if resource is PODS and not self._unsynced:
            self._check()

    def _show(self, raw: bytes, gone: bool) -> None:
        with contextlib.suppress(BadObject):  # the scheduler ignores it as well
            obj = decode_json(raw)
            (self.view.remove if gone else self.view.put)(obj)
            if isinstance(obj, Pod):
                self.places[obj.metadata.name] = owner_of(obj).slot or obj.metadata.name

    def _note(self, resource: Resource, raw: bytes, document: Document, gone: bool) -> None:
        """For `partial_starts`."""
        now = time.monotonic()
        if resource is PODS:
            pod = observe_pod(raw, document, now, gone)
            self._sights.setdefault(pod.gang, []).append(pod)
        elif resource in _JOBS:
            job = observe_job(document, now, gone)
            self._sights.setdefault(job.name, []).append(job)

    def _note_gangs(self, gangs: Iterable[Gang]) -> Iterator[str]:
        """How many members each has, and which of them have lacked seats for too long."""
        now = time.monotonic()
        for gang in gangs:
            sizes = self._sizes.setdefault(gang.name, {})
            sizes[gang.key] = max(sizes.get(gang.key, 0), gang.minimum)
            if not is_partly_seated(gang):
                self._partial_since.pop(gang.key, None)
            elif now - self._partial_since.setdefault(gang.key, now) > LONGEST_SWAP:
                yield f"{gang.title} has had seats for some members only, for more than {LONGEST_SWAP:g} s"

    def _check(self) -> None:
        self.wrong += [words for words in self._note_gangs(self.snapshot().gangs.values()) if words not in self.wrong]
        board = reference_rules.board_of(self.snapshot())
        board.nodes = {name: node for name, node in board.nodes.items() if self.find(resources.NODES, name)}
        found = reference_rules.overfull(board) + reference_rules.conflicts(board)
        found += [words for rule in self.more_rules for words in rule()]
        self.wrong += [words for words in found if words not in self.wrong]

    def _raise_what_went_wrong(self) -> None:
        for task in self._tasks:
            if task.done():
                task.result()


def is_partly_seated(gang: Gang) -> bool:
    """Whether some members have seats and others neither a seat nor one that is held for them."""
    held = {name for name, _ in gang.holds}
    covered = [member for member in gang.members() if member.node or {member.name, member.place} & held]
    return bool(gang.seated()) and len(covered) < gang.minimum


def _pod_in_words(pod: Document) -> str:
    meta, status = pod["metadata"], pod.get("status", {})
    leaving = " leaving" if "deletionTimestamp" in meta else ""
    words = [condition["message"] for condition in status.get("conditions", ()) if condition.get("message")]
    return f"pod {meta['name']} on {pod['spec'].get('nodeName')} {status.get('phase')}{leaving} {words}"


def _event_in_words(event: Document) -> str:
    about = event["involvedObject"]
    return f"{event.get('lastTimestamp')} {about['kind']} {about['name']} {event['reason']}: {event['message']}"
