"""Pods whose processes leave marks, which show which pods they are and how often they were started."""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from typing import Any, cast

import msgspec

from tests.eventually import eventually_async
from tests.faults.server_process import LOOK, PATIENCE, ClusterProcesses
from understudy.client import KubeClient, connect
from understudy.embedded.clusters.process_lock import SUPERVISOR
from understudy.embedded.shim import linux
from understudy.objects.resources import PODS
from understudy.ports import Change, ChangeType, Ref, Refused, Unreachable

NAMESPACE = "default"
CLUSTER = "pools: [{name: node, count: 2, cpu: 16, memory: 32Gi}]"
FOR_EVER = "while true; do sleep 0.05; done"

Document = dict[str, Any]

A_MOMENT = 10.0  # seconds that a process has to leave its mark


class ContainerProcess(msgspec.Struct, frozen=True):
    """One process: its id, and when it began, since ids are given out again."""

    pid: int
    birth: int

    def goes_on(self) -> bool:
        return linux.start_ticks(self.pid) == self.birth


class LiveCluster:
    """A cluster, someone who talks to it, and the folder where pods leave their marks."""

    def __init__(self, cluster: ClusterProcesses, client: KubeClient) -> None:
        self.cluster = cluster
        self.client = client
        self.marks = cluster.home / "marks"
        self.marks.mkdir()

    async def create(self, name: str, script: str, **spec: Any) -> None:
        """A pod that says who it is and then does what the script says."""
        file = self.marks / f"{name}.sh"  # in the object itself each `$$` would have to be written twice
        file.write_text(f"echo $$ >> {self.marks / name}\n{script}\n")
        container = {"name": "main", "image": "none", "command": ["sh", str(file)]}
        plain = {"containers": [container], "restartPolicy": "Never", "terminationGracePeriodSeconds": 5}
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": plain | spec}
        while not await self._is_stored(body):
            await asyncio.sleep(LOOK)

    async def _is_stored(self, body: Document) -> bool:
        """A server that died in between may or may not have taken it."""
        try:
            await self.client.create(Ref(PODS, NAMESPACE), body)
        except Unreachable:
            return await self.pod(body["metadata"]["name"]) is not None
        return True

    def starts(self, name: str) -> list[int]:
        """The process ids of all starts there were."""
        try:
            return [int(line) for line in (self.marks / name).read_text().split()]
        except FileNotFoundError:
            return []

    def life(self, name: str) -> ContainerProcess:
        """The one process that the pod has ever had."""
        [pid] = self.starts(name)
        birth = linux.start_ticks(pid)
        assert birth is not None, f"{name} has ended"
        return ContainerProcess(pid, birth)

    def open_gate(self) -> None:
        (self.marks / "gate").touch()

    @property
    def until_the_gate_opens(self) -> str:
        """A line of a script."""
        return f"until [ -e {self.marks / 'gate'} ]; do sleep 0.02; done\n"

    async def pod(self, name: str) -> Document | None:
        """A restarting server on a busy machine may be away for longer than a client retries."""

        async def look() -> list[Document]:
            try:
                return [msgspec.json.decode(await self.client.get(Ref(PODS, NAMESPACE, name)))]
            except Refused as refused:
                if refused.code == 404:
                    return []
                raise

        found = await eventually_async(look, ignoring=(Unreachable,), until=lambda _: True)
        return found[0] if found else None

    async def wait_for(self, condition: Callable[[Mapping[str, Document]], bool]) -> dict[str, Document]:
        """Until it holds for the pods by name."""
        pods: dict[str, Document] = {}
        changes = cast("AsyncGenerator[Change, None]", self.client.follow(PODS, namespace=NAMESPACE))
        try:
            async with asyncio.timeout(PATIENCE), contextlib.aclosing(changes):
                async for change in changes:
                    if change.type is not ChangeType.SYNCED:
                        pod = msgspec.json.decode(change.raw)
                        pods[pod["metadata"]["name"]] = pod
                        if change.type is ChangeType.DELETED:
                            del pods[pod["metadata"]["name"]]
                    if condition(pods):
                        return pods
        except TimeoutError:
            states = {name: pod.get("status") for name, pod in pods.items()}
            raise AssertionError(f"it does not come to that: {states}; {self.cluster.logs()}") from None
        raise AssertionError("a stream of changes does not end")

    async def wait_for_phase(self, phase: str, *names: str) -> dict[str, Document]:
        """Those that run have had the time to leave their marks, too."""
        pods = await self.wait_for(lambda pods: all(name in pods and phase_of(pods[name]) == phase for name in names))
        if phase == "Running":
            with contextlib.suppress(AssertionError):
                await eventually_async(lambda: all(self.starts(name) for name in names), seconds=A_MOMENT)
        return pods

    @contextlib.contextmanager
    def without(self, *parts: str) -> Iterator[None]:
        """Kills parts of the cluster, and keeps the supervisor from starting them again for as long as this lasts."""
        supervisor = self.cluster.wait_for_part(SUPERVISOR)
        os.kill(supervisor.pid, signal.SIGSTOP)
        try:
            killed = self.cluster.kill(parts)
            for part in parts:
                self.cluster.wait_until_gone(part)
            yield
        finally:
            os.kill(supervisor.pid, signal.SIGCONT)
        for part, holder in killed.items():
            self.cluster.wait_for_part(part, other_than=holder)

    async def wait_until_over(self, *lives: ContainerProcess) -> None:
        await eventually_async(lambda: not any(life.goes_on() for life in lives))


def phase_of(pod: Document) -> str:
    return str(pod.get("status", {}).get("phase"))


def container_of(pod: Document) -> Document:
    [status] = pod["status"]["containerStatuses"]
    return cast("Document", status)


@contextlib.asynccontextmanager
async def living(cluster: ClusterProcesses) -> AsyncGenerator[LiveCluster, None]:
    async with connect(cluster.folder.kubeconfig) as client:
        yield LiveCluster(cluster, client)
