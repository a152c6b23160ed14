"""Watches every pod of a namespace from its creation to its end, and checks at each change that no pod was bound twice
and that no accelerator is used by two pods."""

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Iterator

import msgspec

from tests.kube.serve.recording_proxy import SECONDS
from understudy.client import Config, connect
from understudy.objects.resources import PODS
from understudy.ports import ChangeType

ACCELERATOR, EACH_NODE = "nvidia.com/gpu", 8
_JOB = "batch.kubernetes.io/job-name"
_GROUP = "pod-group.scheduling.sigs.k8s.io/name"


class _Meta(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    uid: str
    labels: dict[str, str] = {}
    deletion_timestamp: str = ""


class _Resources(msgspec.Struct, frozen=True):
    limits: dict[str, str] = {}


class _Container(msgspec.Struct, frozen=True):
    resources: _Resources = _Resources()


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    containers: list[_Container] = []
    node_name: str = ""


class _Status(msgspec.Struct, frozen=True):
    phase: str = ""


class _Pod(msgspec.Struct, frozen=True):
    metadata: _Meta
    spec: _Spec = _Spec()
    status: _Status = _Status()


class Seen(msgspec.Struct):
    """One pod, under its uid."""

    name: str
    gang: str
    accelerators: int
    node: str = ""
    bound_at: float = 0.0  # by the monotonic clock, as it was seen
    leaving: bool = False
    gone: bool = False

    @property
    def sits(self) -> bool:
        return bool(self.node) and not self.leaving and not self.gone


_pod = msgspec.json.Decoder(_Pod).decode


class PodObserver:
    def __init__(self) -> None:
        self.pods: dict[str, Seen] = {}
        self.wrong: list[str] = []
        self._synced = False
        self._more = threading.Condition()

    # What is to be seen

    def until(self, what: str, seen: Callable[[], object], seconds: float = SECONDS) -> float:
        """Waits for a condition and returns when it was met."""
        with self._more:
            if not self._more.wait_for(seen, seconds):
                raise AssertionError(f"never seen: {what}\n{self.picture()}")
        assert self.wrong == []
        return time.monotonic()

    def sitting(self, gang: str) -> list[Seen]:
        return [pod for pod in self.pods.values() if pod.gang == gang and pod.sits]

    def seats(self, gang: str) -> list[str]:
        return sorted(pod.node for pod in self.sitting(gang))

    def there(self, gang: str) -> list[Seen]:
        """Also pods that are not bound or are being deleted."""
        return [pod for pod in self.pods.values() if pod.gang == gang and not pod.gone]

    def made(self, gang: str) -> int:
        """How many pods were created for the gang in all."""
        return sum(pod.gang == gang for pod in self.pods.values())

    def picture(self) -> str:
        return "\n".join(map(str, self.pods.values()))

    # As it comes

    async def watch(self, config: Config, namespace: str) -> None:
        async with connect(config) as client:
            async for change in client.follow(PODS, namespace=namespace):
                with self._more:
                    if change.type is ChangeType.SYNCED:
                        self._synced = True
                    else:
                        self._see(_pod(change.raw), change.type is ChangeType.DELETED)
                    self._more.notify_all()

    def wait_synced(self) -> None:
        self.until("everything there is", lambda: self._synced)

    def _see(self, pod: _Pod, gone: bool) -> None:
        meta, node = pod.metadata, pod.spec.node_name
        asked = sum(int(container.resources.limits.get(ACCELERATOR, "0")) for container in pod.spec.containers)
        gang = meta.labels.get(_JOB) or meta.labels.get(_GROUP) or meta.name
        seen = self.pods.setdefault(meta.uid, Seen(meta.name, gang, asked))
        if node and seen.node and node != seen.node:
            self.wrong.append(f"{meta.name} was moved from {seen.node} to {node}")
        if node and not seen.node:
            seen.node, seen.bound_at = node, time.monotonic()
        seen.leaving = bool(meta.deletion_timestamp)
        seen.gone = gone or pod.status.phase in ("Succeeded", "Failed")
        given = sum(other.accelerators for other in self.pods.values() if other.node == node and not other.gone)
        if node and given > EACH_NODE:
            self.wrong.append(f"{given} accelerators of {node} are given away, some to {meta.name}")


@contextlib.contextmanager
def observing(config: Config, namespace: str) -> Iterator[PodObserver]:
    observer, loop = PodObserver(), asyncio.new_event_loop()
    task = loop.create_task(observer.watch(config, namespace))

    def run() -> None:
        with contextlib.suppress(asyncio.CancelledError):
            loop.run_until_complete(task)

    thread = threading.Thread(target=run, name="observer", daemon=True)
    thread.start()
    try:
        observer.wait_synced()
        yield observer
    finally:
        loop.call_soon_threadsafe(task.cancel)
        thread.join(SECONDS)
        loop.close()
