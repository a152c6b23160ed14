"""How long messages take, by channel: small delays drawn from the scenario's noise, and long ones where it says so.

Each channel draws from numbers of its own. Leaving a fault out of a scenario does not change what other channels draw.
"""

import random
import zlib

from understudy.simulate.scenario import Lateness, Scenario

QUICKEST, CALM = 0.0005, 0.004  # seconds: the range of a message that is not late


class Channel:
    """One direction between a process and the server. The order of messages on it is up to its user."""

    __slots__ = ("_draw", "coalesces", "late")

    def __init__(self, seed: int, name: str, lateness: Lateness | None) -> None:
        self._draw = random.Random(zlib.crc32(name.encode()) ^ (seed << 32)).random
        self.late = lateness.seconds if lateness is not None else 0.0
        self.coalesces = lateness is not None and lateness.coalesces

    def delay(self) -> float:
        share = self._draw()
        if self.late and self._draw() < 0.5:
            return share * self.late
        return QUICKEST + share * CALM

    def share(self) -> float:
        return self._draw()


class Messages:
    def __init__(self, scenario: Scenario) -> None:
        self._seed = scenario.noise
        self._late = {(one.process, one.resource): one for one in scenario.late}
        self._channels: dict[str, Channel] = {}

    def channel(self, process: str, resource: str = "") -> Channel:
        name = f"{process}<{resource}"
        found = self._channels.get(name)
        if found is None:
            found = self._channels[name] = Channel(self._seed, name, self._late.get((process, resource)))
        return found

    def heal(self) -> None:
        """From now on nothing is late."""
        self._late = {}
        for channel in self._channels.values():
            channel.late, channel.coalesces = 0.0, False
