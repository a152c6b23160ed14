"""kill -9 of the API server while gangs are repaired, as the scheduling loop sees it: a write gets no answer.

It is not known whether it was carried out. The loop comes to the same end either way, with each loss told once.
"""

import random
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.scenarios.loop_world import LoopWorld
from tests.scenarios.scenario_file import Scenario, files, read
from tests.scenarios.scenario_runner import play
from tests.scenarios.test_kills import end_only
from understudy.ports import Unreachable

WRITES = ("create", "patch", "delete", "bind")
SHARE = 0.4  # of the writes, at random: a retry in the same order could fail for ever
MOST = 60  # of a scenario; then no more

PAUSE = 10.0  # seconds after which every unanswered write has been retried

Write = Callable[..., Awaitable[Any]]


class Outages:
    """Many writes get no answer: either the request or only the answer is lost."""

    def __init__(self, arrives: bool) -> None:
        self.count = 0
        self._arrives = arrives
        self._chance = random.Random(1)

    def around(self, write: Write) -> Write:
        async def written(*arguments: Any, **named: Any) -> Any:
            asks_in_vain = "eviction" in arguments  # no eviction happens in this world: no write
            if asks_in_vain or self.count == MOST or self._chance.random() > SHARE:
                return await write(*arguments, **named)
            self.count += 1
            if self._arrives:
                await write(*arguments, **named)
            raise Unreachable("the server is gone")

        return written


class ShakyWorld(LoopWorld):
    def __init__(self, scenario: Scenario, arrives: bool) -> None:
        super().__init__(scenario)
        self.outages = Outages(arrives)
        for name in WRITES:
            setattr(self.cluster, name, self.outages.around(getattr(self.cluster, name)))

    def settle(self) -> None:
        """Waits until all unanswered writes are retried."""
        known = -1
        while self.outages.count != known:
            known = self.outages.count
            self.runner.run(self.living.settle())
            self.wait(PAUSE)
        super().settle()


@pytest.mark.parametrize("arrives", [False, True], ids=["lost", "unanswered"])
@pytest.mark.parametrize("path", [path for path in files() if path.parent.name == "swaps"], ids=lambda path: path.stem)
def test_many_a_write_gets_no_answer(path: Path, arrives: bool) -> None:
    scenario = end_only(read(path))
    with ShakyWorld(scenario, arrives) as world:
        assert play(scenario, world) == []
        assert world.outages.count
