"""One chaos run from beginning to end: cluster, observer, writers, users and faults together; then the end, and the
verdict."""

import asyncio
import contextlib
import random
import sys
import time
from pathlib import Path

import msgspec

from tests.chaos import ledger, workloads
from tests.chaos.cluster import ChaosCluster, Disk
from tests.chaos.convergence import Ending
from tests.chaos.faults import Faults
from tests.chaos.judge.case import Case, Violation, counted
from tests.chaos.judge.invariants import judge
from tests.chaos.judge.preemptions import preempted
from tests.chaos.judge.revision_times import StoreClock
from tests.chaos.judge.violation_timeline import with_timeline
from tests.chaos.observer import History, Observer, insist
from tests.chaos.users import Users
from tests.chaos.workloads import Shape
from tests.chaos.writers import StampingWriter, lost_writes
from tests.faults.writers import Ledger
from understudy.client import connect
from understudy.ports import Ref, Refused

WRITERS = 3
ROUND = 60.0  # seconds of faults at least before all is healed and what waits is looked at
ROUNDS = 5  # at most: a long run has longer ones
TELL_EVERY = 30.0  # seconds
LONGEST_END = 1500.0  # seconds until everything has ended; it takes a minute where the cluster is well
LAST_WRITE = 120.0


class Settings(msgspec.Struct, frozen=True):
    work: Path
    disk: Disk
    shape: Shape
    seconds: float
    seed: int
    faults: tuple[str, ...] = ()  # the kinds there are; none: all


class Result(msgspec.Struct):
    settings: Settings
    faults: dict[str, int]
    fault_lines: list[str]
    actions: dict[str, int]
    refusals: list[str]
    jobs: int
    starts: int
    writes: int
    preemptions: int
    swaps: int
    requeues: int
    incidents: int
    relists: int
    waited: list[int]  # jobs, at each look at what waits
    violations: list[Violation]
    logs: dict[str, str] = {}
    case: Case | None = None
    took: float = 0.0


async def play(settings: Settings) -> Result:
    cluster = ChaosCluster(settings.work, settings.disk, settings.shape)
    await cluster.first_up()
    async with connect(cluster.folder.kubeconfig) as client, connect(cluster.folder.kubeconfig) as other:
        for resource, document in workloads.provisions(settings.work):
            with contextlib.suppress(Refused):
                await insist(lambda r=resource, d=document: client.create(Ref(r), d))
        async with Observer(client) as observer:
            writers = [StampingWriter(other, Ledger(), number, str(settings.seed)) for number in range(WRITERS)]
            return await Run(settings, cluster, observer, writers).play()


class Run:
    def __init__(
        self, settings: Settings, cluster: ChaosCluster, observer: Observer, writers: list[StampingWriter]
    ) -> None:
        self._settings = settings
        self._cluster = cluster
        self._observer = observer
        self._writers = writers
        seed = settings.seed
        self._users = Users(observer, random.Random(f"users {seed}"), settings.shape, settings.work)
        self._faults = Faults(cluster, random.Random(f"faults {seed}"), settings.faults)
        self._began = time.monotonic()

    async def play(self) -> Result:
        stop = asyncio.Event()
        writing = [asyncio.create_task(writer.run(stop)) for writer in self._writers]
        ending = Ending(self._cluster, self._observer, self._users)
        rounds = min(ROUNDS, max(1, round(self._settings.seconds / ROUND)))
        for number in range(1, rounds + 1):
            await self._disturb(self._settings.seconds / rounds)
            self._say("no more faults for now; healing" if number < rounds else "faults are over; healing")
            await self._faults.heal()
            if number < rounds:
                await ending.pause()
        try:
            await asyncio.wait_for(self._end(ending), LONGEST_END)
            stop.set()
            await asyncio.wait_for(asyncio.gather(*writing), LAST_WRITE)
            wrong = await lost_writes(self._observer.client, self._writers)
            ending.violations += [Violation("write_lost", words) for words in wrong]
        except TimeoutError:
            ending.violations.append(Violation("broken_run", "the cluster did not answer for a long time at the end"))
        for task in writing:
            task.cancel()
        ended = time.monotonic()
        self._say("going down")
        await ending.down()
        found = [Violation(kind, words) for kind, words in self._faults.violations]
        return self._result([*found, *ending.violations], ended, ending.waited)

    async def _end(self, ending: Ending) -> None:
        await ending.calm()
        self._say("calm; every job is to end now")
        await ending.drain()

    async def _disturb(self, seconds: float) -> None:
        """Users and faults, until the time is over; what goes wrong in this program itself ends it."""
        stop = asyncio.Event()
        tasks = [asyncio.create_task(work) for work in (self._users.run(stop), self._faults.run(stop))]
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0 and not any(task.done() for task in tasks):
            await asyncio.wait(tasks, timeout=min(left, TELL_EVERY), return_when=asyncio.FIRST_COMPLETED)
            self._observer.check()
            self._say(f"{len(self._faults.log)} faults, {len(self._users.submitted)} jobs")
        stop.set()
        try:
            await asyncio.wait_for(asyncio.gather(*tasks), LONGEST_END)
        except TimeoutError:
            self._faults.violations.append(("broken_run", "users were not answered for a long time"))

    def _say(self, words: str) -> None:
        print(f"{time.monotonic() - self._began:7.1f} s  {words}", file=sys.stderr, flush=True)

    def _result(self, found: list[Violation], ended: float, waited: list[int]) -> Result:
        history = self._observer.history
        stamps = [stamp for writer in self._writers for stamp in writer.stamps]
        lines = ledger.read(self._settings.work)
        case = Case(
            history, lines, StoreClock(stamps), self._users.submitted, self._faults.log, ended, self._users.cordons
        )
        violations = [with_timeline(case, one, self._began) for one in [*judge(case), *found]]
        kinds = [fault.counted_as for fault in self._faults.log]
        swaps, requeues = (_on_jobs(history, reason) for reason in ("HotSwapped", "Requeued"))
        return Result(
            settings=self._settings,
            faults={kind: kinds.count(kind) for kind in sorted(set(kinds))},
            fault_lines=[fault.words(self._began) for fault in self._faults.log],
            actions=self._users.actions,
            refusals=self._users.refusals,
            jobs=len(self._users.submitted),
            starts=sum(line.what == "start" for line in lines),
            writes=len(stamps),
            preemptions=len(preempted(history)),
            swaps=swaps,
            requeues=requeues,
            incidents=len(history.latest_incidents()),
            relists=len(history.gaps),
            waited=waited,
            violations=violations,
            logs={path.name: path.read_text(errors="replace") for path in self._cluster.folder.logs.glob("*.log")},
            case=case,
        )


def _on_jobs(history: History, reason: str) -> int:
    """How many times it was told of jobs."""
    return sum(event.kind != "Pod" for event in counted(history.events, reason))
