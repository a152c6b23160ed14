"""What all parts of a simulation share: the virtual clock, the delays of messages, the record of steps, the verdict.

Each channel draws from numbers of its own. Leaving a fault out of a scenario does not change what other channels draw.
"""

import asyncio
import random
import zlib
from collections.abc import Callable

import msgspec

from understudy.decide.policy import Policy
from understudy.kube.settings import SCHEDULER_NAME
from understudy.objects.resources import JOB_SETS, JOBS, LEASES, MPI_JOBS, TRAIN_JOBS
from understudy.simulate.event_loop import VirtualTimeLoop
from understudy.simulate.scenario import Lateness, Scenario
from understudy.simulate.workloads import RESOURCES

QUICKEST, CALM = 0.0005, 0.004  # seconds: the shortest delay of a message, and the range of one that is not late
EPOCH = 1_767_268_800.0  # what the clocks show at virtual time 0: noon of the first day of 2026


class Violation(msgspec.Struct, frozen=True):
    invariant: str
    words: str
    at: float


class Channel:
    """One direction between a process and the server. Its user keeps the order of messages."""

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


class Channels:
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
        """From now on no message is late."""
        self._late = {}
        for channel in self._channels.values():
            channel.late, channel.coalesces = 0.0, False


class SimulationContext:
    def __init__(self, scenario: Scenario, loop: VirtualTimeLoop, tracing: bool = False) -> None:
        self.scenario = scenario
        self.loop = loop
        self.channels = Channels(scenario)
        self.policy = Policy()
        self.clocks_ahead: dict[str, float] = {}  # by process, seconds; only of clocks that were set
        self.steps = 0
        self.digest = 0  # of all steps in their order
        self.trace: list[str] | None = [] if tracing else None
        self.violation: Violation | None = None
        self.over = asyncio.Event()  # set at the first violation
        self.last_change = 0.0
        self.last_disturbance = 0.0
        self._last_hampered = 0.0  # when a fault last kept the loops from hearing or writing
        self.works: Callable[[], bool] = lambda: True  # whether a process under test hears everything and may write
        self.reaction = 1.0 + 4.0 * max((one.seconds for one in scenario.late), default=0.0)
        self.kube = scenario.mode == "kube"
        self.scheduler = SCHEDULER_NAME if self.kube else "default-scheduler"
        self.operated = self.kube or scenario.outside  # simulated operators make the pods
        self.kinds = self._kinds()

    def _kinds(self) -> set[str]:
        """Keys of the resources of the jobs, and of the jobs that these create."""
        kinds = {RESOURCES[plan.kind].key for plan in self.scenario.jobs}
        if {JOB_SETS.key, TRAIN_JOBS.key, MPI_JOBS.key} & kinds:
            kinds.add(JOBS.key)
        return kinds | ({JOB_SETS.key} if TRAIN_JOBS.key in kinds else set())

    def now(self) -> float:
        return EPOCH + self.loop.time()

    def step(self, kind: str, actor: str, what: str, number: int = 0) -> None:
        self.steps += 1
        self.digest = zlib.crc32(f"{self.loop.time():.6f}{kind}{actor}{what}{number}".encode(), self.digest)
        if self.trace is not None and what != LEASES.key:
            self.note(f"{kind} {actor} {what}" + (f" {number}" if number else ""))

    def note(self, words: str) -> None:
        """Adds a line to the trace. Notes are not part of the digest."""
        if self.trace is not None:
            self.trace.append(f"{self.loop.time():9.3f} {words}")

    def fail(self, invariant: str, words: str) -> None:
        if self.violation is None:
            self.violation = Violation(invariant, words, self.loop.time())
            self.note(f"VIOLATED: {invariant}: {words}")
            self.over.set()

    def changed(self) -> None:
        self.last_change = self.loop.time()

    def hampered(self, seconds: float = 0.0) -> None:
        """A fault keeps a loop from hearing or writing: now, and for so many seconds."""
        self._last_hampered = max(self._last_hampered, self.loop.time() + seconds)

    def hampered_at(self) -> float:
        """When a fault last kept the loops from hearing or writing: now, or earlier."""
        if not self.works():
            self.hampered()
        return self._last_hampered

    def disturbed(self) -> None:
        self.last_disturbance = self.last_change = self.loop.time()
