"""Watches a real cluster and checks the rules of the scheduler at every change.

Objects are decoded as Understudy decodes them. The rules do not use the planner.
"""

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from tests.decide import reference_rules
from understudy.client import connect
from understudy.control.clock import SystemClock
from understudy.control.view.cluster_view import ClusterView, WatchedCluster
from understudy.control.view.invalid_objects import InvalidObjects
from understudy.control.view.node_leases import LeaseClock
from understudy.control.watch.reflector import ObjectHeader, Reflector
from understudy.kinds.ownership import owner_of
from understudy.model.gangs import Gang
from understudy.objects.errors import BadObject
from understudy.objects.meta import KubeObject
from understudy.objects.nodes import Node
from understudy.objects.pods import Pod

Found = TypeVar("Found")
PATIENCE = 120.0  # seconds; what is waited for takes a few on a machine that has nothing else to do


class ClusterObserver:
    """Follows the cluster in its own thread. Names of jobs and pods are those of one namespace."""

    def __init__(self, kubeconfig: Path, namespace: str) -> None:
        self.namespace = namespace
        self.nodes: dict[str, Node] = {}
        self.wrong: list[str] = []
        self.more_rules: list[Callable[[], Iterable[str]]] = []  # each tells what is wrong whenever a pod changes
        self._kubeconfig = kubeconfig
        self._pods: dict[tuple[str, str], Pod] = {}
        self._ever: dict[str, Pod] = {}  # by uid: every pod that has been there
        self._view = ClusterView(
            scheduler_name="understudy",
            invalid_objects=InvalidObjects(),
            watched=WatchedCluster(LeaseClock(SystemClock()), complete=False),
        )
        self._changed = threading.Condition()
        self._synced = False
        self._failed: BaseException | None = None

    # What is to be seen

    def pods(self, job: str) -> list[Pod]:
        """The pods of a job of any kind, or the pod of that name; without pods that are being deleted."""
        return [pod for pod in self.all_pods() if owner_of(pod).name == job and pod.metadata.deletion_timestamp is None]

    def all_pods(self) -> list[Pod]:
        """All pods of the namespace, also those that are being deleted."""
        return [pod for (namespace, _), pod in sorted(self._pods.items()) if namespace == self.namespace]

    def ever(self, job: str) -> set[str]:
        """The uids of all pods of the job since the observer started."""
        all_pods = [pod for pod in self._ever.values() if pod.metadata.namespace == self.namespace]
        return {pod.metadata.uid for pod in all_pods if owner_of(pod).name == job}

    def seated(self, job: str) -> list[Pod]:
        return [pod for pod in self.pods(job) if pod.spec.node_name]

    def runs(self, job: str, count: int) -> list[Pod]:
        """The pods of the job, if all of them exist and run."""
        pods = self.pods(job)
        return pods if [pod.status.phase for pod in pods] == ["Running"] * count else []

    def domains(self, pods: Iterable[Pod], key: str) -> set[str]:
        return {self.nodes[pod.spec.node_name].metadata.labels[key] for pod in pods}

    def gangs(self) -> list[Gang]:
        snapshot = self._view.snapshot(time.time())
        return [gang for _, gang in sorted(snapshot.gangs.items()) if gang.namespace == self.namespace]

    def torn(self) -> list[str]:
        """Gangs of which only a part is bound: allowed for a moment, never at rest."""
        return [gang.key for gang in self.gangs() if gang.managed and 0 < _seats(gang) < _size(gang)]

    def until(self, what: str, seen: Callable[[], Found | None]) -> Found:
        """Waits until `seen` returns something, and returns that."""
        deadline = time.monotonic() + PATIENCE
        with self._changed:
            while True:
                if self._failed is not None:
                    raise self._failed
                if found := seen():
                    return found
                if not self._changed.wait(deadline - time.monotonic()):
                    raise AssertionError(f"never seen: {what}\n{self.picture()}")

    def picture(self) -> str:
        return "\n".join(_in_words(pod) for (namespace, _), pod in sorted(self._pods.items()) if namespace)

    # As it comes

    def put(self, obj: KubeObject) -> None:
        self._view.put(obj)
        self._take(obj, gone=False)

    def remove(self, obj: KubeObject) -> None:
        self._view.remove(obj)
        self._take(obj, gone=True)

    def cannot_read(self, bare: ObjectHeader, error: BadObject, gone: bool) -> None: ...

    def _take(self, obj: KubeObject, gone: bool) -> None:
        with self._changed:
            if isinstance(obj, Node):
                self.nodes[obj.metadata.name] = obj
                if gone:  # what an earlier test left there is no fault of this one
                    del self.nodes[obj.metadata.name]
            elif isinstance(obj, Pod):
                self._ever[obj.metadata.uid] = obj
                key = (obj.metadata.namespace, obj.metadata.name)
                if gone:
                    self._pods.pop(key, None)
                else:
                    self._pods[key] = obj
                self._check()
            self._changed.notify_all()

    def _check(self) -> None:
        if not self._synced:
            return
        board = reference_rules.board_of(self._view.snapshot(time.time()))
        found = [words for words in reference_rules.overfull(board) if words.partition(":")[0] in self.nodes]
        found += reference_rules.conflicts(board)
        found += [words for rule in self.more_rules for words in rule()]
        self.wrong += [words for words in found if words not in self.wrong]

    # The thread

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        loop = asyncio.new_event_loop()
        task = loop.create_task(self._follow())
        thread = threading.Thread(target=self._run, args=(loop, task))
        thread.start()
        try:
            self.until("everything there is", lambda: self._synced)
            yield
        finally:
            loop.call_soon_threadsafe(task.cancel)
            thread.join()
            loop.close()

    def _run(self, loop: asyncio.AbstractEventLoop, task: "asyncio.Task[None]") -> None:
        try:
            loop.run_until_complete(task)
        except asyncio.CancelledError:
            return
        except BaseException as error:
            with self._changed:
                self._failed = error
                self._changed.notify_all()

    async def _follow(self) -> None:
        async with connect(self._kubeconfig) as client, asyncio.TaskGroup() as group:
            following = Reflector(client, SystemClock(), self)
            group.create_task(following.run())
            await following.synced.wait()
            with self._changed:
                self._synced = True
                self._changed.notify_all()


def uids(pods: Iterable[Pod]) -> set[str]:
    return {pod.metadata.uid for pod in pods}


def _seats(gang: Gang) -> int:
    return sum(bool(member.node) for island in gang.islands for member in island.members)


def _size(gang: Gang) -> int:
    return sum(len(island.members) for island in gang.islands)


def _in_words(pod: Pod) -> str:
    leaving = " leaving" if pod.metadata.deletion_timestamp else ""
    return f"pod {pod.metadata.name} on {pod.spec.node_name or 'no node'} {pod.status.phase}{leaving}"
