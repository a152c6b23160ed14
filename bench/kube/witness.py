"""Sees what becomes of the bench's pods, by a watch of its own: when each was bound, and who lost pods on the way."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import msgspec

from bench.kube.fleet import NAMESPACE
from understudy.client import KubeClient
from understudy.objects.resources import PODS
from understudy.ports import ChangeType


class NeverSeen(Exception):
    """What had to happen did not, in the time given."""


class _Meta(msgspec.Struct, rename="camel"):
    name: str
    uid: str
    labels: dict[str, str] = {}
    deletion_timestamp: str = ""


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    node_name: str = ""


class _Pod(msgspec.Struct):
    metadata: _Meta
    spec: _Spec = _Spec()


class Seen(msgspec.Struct):
    """One pod, under its uid."""

    name: str
    gang: str
    node: str = ""
    bound_at: float = 0.0
    leaving: bool = False
    gone: bool = False


_pod = msgspec.json.Decoder(_Pod).decode


class Witness:
    def __init__(self) -> None:
        self.pods: dict[str, Seen] = {}
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

    def bound(self, gang: str = "") -> list[Seen]:
        """Pods that have a node and are there to stay, of one gang or of all."""
        wanted = (pod for pod in self.pods.values() if not gang or pod.gang == gang)
        return [pod for pod in wanted if pod.node and not pod.leaving and not pod.gone]

    def disturbed(self, gangs: set[str]) -> dict[str, int]:
        """Gangs that lost pods, with how many they lost."""
        lost: dict[str, int] = {}
        for pod in self.pods.values():
            if pod.gang in gangs and (pod.leaving or pod.gone):
                lost[pod.gang] = lost.get(pod.gang, 0) + 1
        return lost

    def forget(self) -> None:
        self.pods = {uid: pod for uid, pod in self.pods.items() if not pod.gone}

    def _see(self, pod: _Pod, gone: bool) -> None:
        meta = pod.metadata
        seen = self.pods.setdefault(meta.uid, Seen(meta.name, meta.labels.get("gang", "")))
        if pod.spec.node_name and not seen.node:
            seen.node, seen.bound_at = pod.spec.node_name, asyncio.get_running_loop().time()
        seen.leaving = seen.leaving or bool(meta.deletion_timestamp)
        seen.gone = gone
        self._more.set()


@asynccontextmanager
async def witness(client: KubeClient) -> AsyncIterator[Witness]:
    seeing = Witness()
    task = asyncio.create_task(seeing.watch(client))
    try:
        await seeing.synced.wait()
        yield seeing
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
