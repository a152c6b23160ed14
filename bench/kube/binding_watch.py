"""Sees what becomes of the bench's pods, by a watch of its own: when each was bound, and who lost pods on the way."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager

import msgspec

from bench.kube.workload import NAMESPACE
from understudy.client import KubeClient
from understudy.objects.resources import PODS
from understudy.ports import ChangeType


class NeverSeen(Exception):
    """An expected change did not happen in the given time."""


class _Meta(msgspec.Struct, rename="camel"):
    name: str
    uid: str
    labels: dict[str, str] = {}
    deletion_timestamp: str = ""


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    node_name: str = ""


class _Status(msgspec.Struct, frozen=True):
    phase: str = ""


class _Pod(msgspec.Struct):
    metadata: _Meta
    spec: _Spec = _Spec()
    status: _Status = _Status()


class Seen(msgspec.Struct):
    """What was seen of one pod, by its uid."""

    name: str
    gang: str
    node: str = ""
    bound_at: float = 0.0
    running: bool = False
    leaving: bool = False
    gone: bool = False


_pod = msgspec.json.Decoder(_Pod).decode


class BindingWatch:
    def __init__(self) -> None:
        self._pods: dict[str, Seen] = {}  # by uid
        self._gangs: dict[str, list[Seen]] = {}
        self.synced = asyncio.Event()
        self._more = asyncio.Event()

    async def watch(self, client: KubeClient) -> None:
        async for change in client.follow(PODS, namespace=NAMESPACE):
            if change.type is ChangeType.SYNCED:
                self.synced.set()
            else:
                self._see(_pod(change.raw), change.type is ChangeType.DELETED)

    async def until(self, holds: Callable[[], bool], seconds: float, what: str) -> None:
        try:
            async with asyncio.timeout(seconds):
                while not holds():
                    self._more.clear()
                    await self._more.wait()
        except TimeoutError:
            raise NeverSeen(f"{what}: not within {seconds:g} s") from None

    def bound(self, gang: str) -> list[Seen]:
        """Pods of a gang that have a node and are there to stay."""
        return [pod for pod in self._gangs.get(gang, ()) if pod.node and not pod.leaving and not pod.gone]

    def all_run(self, gangs: Iterable[str]) -> bool:
        """Whether the kubelets have reported every pod of these gangs that has a node."""
        return all(pod.running for gang in gangs for pod in self.bound(gang))

    def disturbed(self, gangs: set[str]) -> dict[str, int]:
        """Gangs that lost pods, with how many they lost."""
        lost = {gang: sum(pod.leaving or pod.gone for pod in self._gangs.get(gang, ())) for gang in gangs}
        return {gang: count for gang, count in lost.items() if count}

    def _see(self, pod: _Pod, gone: bool) -> None:
        meta = pod.metadata
        seen = self._pods.get(meta.uid)
        if seen is None:
            seen = self._pods[meta.uid] = Seen(meta.name, meta.labels.get("gang", ""))
            self._gangs.setdefault(seen.gang, []).append(seen)
        if pod.spec.node_name and not seen.node:
            seen.node, seen.bound_at = pod.spec.node_name, asyncio.get_running_loop().time()
        seen.running = pod.status.phase == "Running"
        seen.leaving = seen.leaving or bool(meta.deletion_timestamp)
        seen.gone = gone
        self._more.set()


@asynccontextmanager
async def watch_bindings(client: KubeClient) -> AsyncIterator[BindingWatch]:
    seeing = BindingWatch()
    task = asyncio.create_task(seeing.watch(client))
    try:
        await seeing.synced.wait()
        yield seeing
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
