"""A scheduling loop on a fake cluster, with a clock that a test moves: everything runs until nothing is left to do."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

from tests.control.fake_cluster import Document, FakeCluster, Killed
from tests.control.fake_controllers import FakeControllers
from tests.control.virtual_clock import VirtualClock
from understudy.control.loop import Cycle, LoopSettings, SchedulingLoop
from understudy.objects.resources import EVENTS, PODS

MOMENT = 0.25  # seconds that are let pass before a world counts as being at rest
MOST_ROUNDS = 200


class LoopHarness:
    """`settle` lets all components act until nothing changes."""

    def __init__(self, settings: LoopSettings | None = None) -> None:
        self.clock = VirtualClock()
        self.cluster = FakeCluster(self.clock)
        self.hands = FakeControllers(self.cluster)
        self.settings = settings or LoopSettings()
        self.cycles: list[Cycle] = []
        self.loop = self._new_loop()
        self._running: asyncio.Task[None] | None = None

    def _new_loop(self) -> SchedulingLoop:
        return SchedulingLoop(self.cluster, self.clock, self.settings, self.cycles.append)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        self._running = asyncio.create_task(self.loop.run())
        try:
            yield
        finally:
            await self.stop()

    async def stop(self) -> None:
        """However it ends: an error of the loop is raised here."""
        if self._running is not None:
            running, self._running = self._running, None
            running.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await running

    async def restart(self) -> None:
        """As after kill -9: what the loop knew is forgotten."""
        if self._running is not None:
            running, self._running = self._running, None
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
        self.loop = self._new_loop()
        self._running = asyncio.create_task(self.loop.run())

    async def settle(self) -> None:
        """A loop that is killed on the way is started again."""
        for _ in range(MOST_ROUNDS):
            await self.clock.let_pass(MOMENT)
            try:
                self._raise_what_went_wrong()
            except Killed:
                await self.restart()
                continue
            if self.cluster.idle and self.loop.at_rest and not self.hands.act():
                return
        raise AssertionError(f"not at rest after {MOST_ROUNDS} rounds; the last writes: {self.cluster.writes[-10:]}")

    def _raise_what_went_wrong(self) -> None:
        if self._running is not None and self._running.done():
            error = self._running.exception()
            while isinstance(error, BaseExceptionGroup):
                error = error.exceptions[0]
            raise error or AssertionError("the loop has ended")

    # What can be seen

    def pod(self, name: str) -> Document:
        return self.cluster.find(PODS, name)

    def seats(self) -> dict[str, str]:
        """pod -> node, of those that have one and are not leaving."""
        return {
            pod["metadata"]["name"]: pod["spec"]["nodeName"]
            for pod in self.cluster.all(PODS)
            if pod["spec"].get("nodeName") and "deletionTimestamp" not in pod["metadata"]
        }

    def events(self, name: str) -> list[tuple[str, str]]:
        """(reason, message) of what happened to the object of this name, in the order it was told."""
        found = [e for e in self.cluster.all(EVENTS) if e["involvedObject"]["name"] == name]
        found.sort(key=lambda event: event["metadata"]["uid"].rpartition("-")[2].zfill(9))
        return [(event["reason"], event["message"]) for event in found]

    def condition(self, pod: str, kind: str) -> Document:
        conditions = self.pod(pod).get("status", {}).get("conditions", ())
        return next((condition for condition in conditions if condition["type"] == kind), {})


def run_scenario(scenario: Callable[[LoopHarness], Awaitable[None]], settings: LoopSettings | None = None) -> None:
    """Runs a scenario in a world of its own, with a loop that starts when the scenario begins."""

    async def told() -> None:
        world = LoopHarness(settings)
        async with world.running():
            await scenario(world)

    asyncio.run(told())
