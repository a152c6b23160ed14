"""When faults come, which, and for how long: one table for the run, the tests of its judge, and the reference."""

import random

import msgspec

PAUSE = 2.0  # seconds between two faults, on average
LULL = 10.0  # seconds without a new fault, now and then: the judge sees what the cluster does when it is left alone
LULLS = 0.04  # of all pauses
SELDOM = 0.2


class FaultKind(msgspec.Struct, frozen=True):
    weight: int
    shortest: float = 0.0  # seconds
    longest: float = 0.0
    seldom: float = 0.0  # some last up to this long instead


SCHEDULE = {
    "kill a part": FaultKind(8),
    "kill all parts": FaultKind(1),
    "kill the supervisor": FaultKind(2, 0.1, 3.0),
    "stop a part": FaultKind(8, 0.1, 8.0),
    "a node fails": FaultKind(8, 0.5, 15.0, seldom=40.0),
    "several nodes fail": FaultKind(3, 0.5, 15.0, seldom=40.0),
    "a node stands still": FaultKind(3, 0.3, 6.0),
    "busy processors": FaultKind(2, 2.0, 8.0),
    "slow disk": FaultKind(2, 1.0, 5.0),
    "full disk": FaultKind(2, 0.3, 6.0),
}


def draw_pause(chance: random.Random) -> float:
    pause = chance.expovariate(1.0 / PAUSE)
    return pause + LULL if chance.random() < LULLS else pause


def draw_kind(chance: random.Random, kinds: list[str]) -> str:
    return chance.choices(kinds, [SCHEDULE[kind].weight for kind in kinds])[0]


def draw_seconds(chance: random.Random, kind: str) -> float:
    """As many short ones as long ones, by orders of magnitude: both find other defects."""
    span = SCHEDULE[kind]
    if span.seldom and chance.random() < SELDOM:
        return chance.uniform(span.longest, span.seldom)
    return float(span.shortest * (span.longest / span.shortest) ** chance.random())


class Fault(msgspec.Struct):
    """Faults of nodes can cost seats. All others, of parts, processors and disks, only delay what the cluster does:
    pods run on when a part dies or stands still."""

    kind: str
    target: str
    began: float
    ended: float | None = None
    nodes: tuple[str, ...] = ()  # that failed or stood still
    dead: bool = False  # the nodes can give no sign of life until they are healed
    healed: float | None = None  # when their recovery began

    @property
    def delays(self) -> bool:
        return not self.nodes

    @property
    def counted_as(self) -> str:
        """In the report: how long a part stood still, and which node it was, does not matter there."""
        return f"{self.kind} {self.target.split(' for ')[0]}" if self.kind in ("kill", "stop") else self.kind

    def words(self, start: float) -> str:
        ended = f"{self.ended - start:.2f}" if self.ended is not None else "..."
        return f"{self.began - start:8.2f} .. {ended} s  {self.kind} {self.target}"
