"""Strikes the nodes of a story and mends them: each blow becomes the incident that the cluster has on record of it."""

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
    """High-priority runs again, whole."""

    at: float  # when the API showed it
    started: list[DemoProcess]
    stayed: int  # processes that were never disturbed
    gone: list[DemoProcess]  # whoever ran before and had time to say something, of either job


class FaultInjector:
    def __init__(self, stage: ClusterObserver, folder: ClusterFolder) -> None:
        self._stage = stage
        self._folder = folder

    async def fail(self, node: str) -> None:
        """The node's process is killed with those of its pods, and nobody is told."""
        await ask_agent(self._folder.agent_socket, FailNode(node))

    async def recover(self, nodes: Iterable[str]) -> None:
        await asyncio.gather(*(ask_agent(self._folder.agent_socket, RecoverNode(node)) for node in nodes))

    async def healed(self, node: str, before: DemoState) -> Recovery:
        """Waits until all of high-priority runs again, on other slices than the one of the node that died."""
        broken = self.slice_of(node)

        def whole(scene: DemoState) -> bool:
            return scene.complete(HIGH_PRIORITY_JOB) and not any(
                each.node in broken for each in scene.of(HIGH_PRIORITY_JOB)
            )

        at = await self._stage.until("all of high-priority runs again", whole)
        members, players = self._stage.scene.of(HIGH_PRIORITY_JOB), self._stage.scene.players
        started = [each for each in members if each.uid not in before.players]
        gone = [each for uid, each in before.players.items() if uid not in players and each.node != node]
        return Recovery(at, started, len(members) - len(started), gone)

    async def recorded(self, count: int) -> list[Incident]:
        """Waits until so many incidents of high-priority are over, and on record; in the order they were detected."""
        await self._stage.until(f"incident {count} is on record", lambda _: len(self._over()) >= count)
        return self._over()

    def _over(self) -> list[Incident]:
        found = (one for one in self._stage.incidents.values() if one.gang == HIGH_PRIORITY_JOB and not one.open)
        return sorted(found, key=lambda one: one.detected_at)

    def idle(self) -> list[str]:
        """The slices on which nobody runs and no node is lost."""
        scene = self._stage.scene
        busy = {each.node for each in scene.players.values()} | scene.lost.keys()
        return sorted(domain for domain, nodes in self._slices().items() if not nodes & busy)

    def slice_of(self, node: str) -> set[str]:
        return next(nodes for nodes in self._slices().values() if node in nodes)

    def _slices(self) -> dict[str, set[str]]:
        slices: dict[str, set[str]] = {}
        for name, room in self._stage.snapshot().nodes.items():
            slices.setdefault(room.node.labels[TOPOLOGY], set()).add(name)
        return slices
