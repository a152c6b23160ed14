"""Lets nodes of the demo fail and recover, and waits for the incidents that the cluster records."""

import asyncio
from collections.abc import Iterable

import msgspec

from understudy.cli.demo.manifests import HIGH_PRIORITY_JOB, TOPOLOGY
from understudy.cli.demo.observer import ClusterObserver
from understudy.cli.demo.state import DemoProcess, DemoState
from understudy.embedded.agent_protocol import FailNode, RecoverNode, ask_agent
from understudy.embedded.cluster_folder import ClusterFolder
from understudy.model.incidents import Incident


class Recovery(msgspec.Struct, frozen=True):
    """The high-priority job runs again, whole."""

    at: float  # when the API showed it
    started: list[DemoProcess]
    stayed: int  # processes that were never disturbed
    gone: list[DemoProcess]  # processes of both jobs that ended and were not killed with the node


class FaultInjector:
    def __init__(self, observer: ClusterObserver, folder: ClusterFolder) -> None:
        self._observer = observer
        self._folder = folder

    async def fail(self, node: str) -> None:
        """Kills the process of the node and those of its pods, without notice to the control plane."""
        await ask_agent(self._folder.agent_socket, FailNode(node))

    async def recover(self, nodes: Iterable[str]) -> None:
        await asyncio.gather(*(ask_agent(self._folder.agent_socket, RecoverNode(node)) for node in nodes))

    async def wait_for_recovery(self, node: str, before: DemoState) -> Recovery:
        """Waits until all of high-priority runs again, on other slices than the one of the node that died."""
        broken = self.slice_of(node)

        def whole(state: DemoState) -> bool:
            return state.complete(HIGH_PRIORITY_JOB) and not any(
                each.node in broken for each in state.of(HIGH_PRIORITY_JOB)
            )

        at = await self._observer.until("all of high-priority runs again", whole)
        members, processes = self._observer.state.of(HIGH_PRIORITY_JOB), self._observer.state.processes
        started = [each for each in members if each.uid not in before.processes]
        gone = [each for uid, each in before.processes.items() if uid not in processes and each.node != node]
        return Recovery(at, started, len(members) - len(started), gone)

    async def wait_for_incidents(self, count: int) -> list[Incident]:
        """Waits until so many incidents of high-priority are over, and on record; in the order they were detected."""
        await self._observer.until(f"incident {count} is on record", lambda _: len(self._closed_incidents()) >= count)
        return self._closed_incidents()

    def _closed_incidents(self) -> list[Incident]:
        found = (one for one in self._observer.incidents.values() if one.gang == HIGH_PRIORITY_JOB and not one.open)
        return sorted(found, key=lambda one: one.detected_at)

    def idle(self) -> list[str]:
        """The slices on which no process runs and no node is lost."""
        state = self._observer.state
        busy = {each.node for each in state.processes.values()} | state.lost.keys()
        return sorted(domain for domain, nodes in self._slices().items() if not nodes & busy)

    def slice_of(self, node: str) -> set[str]:
        return next(nodes for nodes in self._slices().values() if node in nodes)

    def _slices(self) -> dict[str, set[str]]:
        slices: dict[str, set[str]] = {}
        for name, room in self._observer.snapshot().nodes.items():
            slices.setdefault(room.node.labels[TOPOLOGY], set()).add(name)
        return slices
