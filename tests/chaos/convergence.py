"""The end of a chaos run: when faults are healed, what fits must run; then every job must end; then all goes down."""

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence

import msgspec

from tests.chaos.cluster import NAME, ChaosCluster, left_over
from tests.chaos.judge.case import Violation
from tests.chaos.member import DRAIN, STAY
from tests.chaos.observer import Observer, insist
from tests.chaos.users import Submission, Users
from tests.decide import exhaustive_search, reference_rules
from tests.decide.exhaustive_search import Loss, Setting
from tests.embedded.cluster_monitor import FOLLOWED
from understudy.control.view.cluster_view import ClusterView, WatchedCluster
from understudy.control.view.invalid_objects import InvalidObjects
from understudy.embedded.loop_settings import EMBEDDED_DEFAULTS, loop_settings
from understudy.kinds.decoding import decode_json
from understudy.model.gangs import Gang, Member, Suspension
from understudy.model.nodes import Node
from understudy.objects.errors import BadObject
from understudy.objects.resources import CLAIMS, EVENTS, VOLUMES

QUIET = 4.0  # seconds without a change of pods, jobs and nodes: nothing more comes of itself
NO_PROGRESS = 90.0  # seconds without a change after which nothing more is expected
LONGEST = 600.0
LOOK = 0.5


class Ending:
    def __init__(self, cluster: ChaosCluster, observer: Observer, users: Users) -> None:
        self.violations: list[Violation] = []
        self.waited: list[int] = []  # how many jobs waited whenever it was looked at what waits
        self._cluster = cluster
        self._observer = observer
        self._users = users

    async def pause(self) -> None:
        """In the middle of a run: what waits is looked at, and all goes on."""
        await self._look_at_rest()
        (self._cluster.work / STAY).unlink()

    async def calm(self) -> None:
        """At the end of a run: nothing is suspended by its user any more."""
        await self._users.end()
        await self._look_at_rest()

    async def _look_at_rest(self) -> None:
        """Processes stay; when nothing changes any more, what waits must have a reason, and must not fit."""
        (self._cluster.work / STAY).touch()
        await self._until(
            self._all_nodes_are_ready, "after the faults were healed these nodes are not ready: {}", "not_healed"
        )
        await self._quiet()
        setting = await self._setting()
        self.waited.append(sum(_waits(gang) for gang in setting.snapshot.gangs.values()))
        if could_run(setting):
            await asyncio.sleep(QUIET)
            for name, (kind, words) in could_run(await self._setting()).items():
                self.violations.append(Violation(kind, words, time.monotonic(), (name,)))
        for name, words in self._waiting_without_reason():
            self.violations.append(Violation("no_reason", words, time.monotonic(), (name,)))

    async def drain(self) -> None:
        """Processes end; every job that was not deleted must end well, one after the other."""
        (self._cluster.work / DRAIN).touch()
        await self._until(self._unfinished, "these jobs did not end: {}")
        await self._observer.until_caught_up()
        for one in self._kept():
            if words := self._lost(one):
                gangs = (one.workload.name,)
                self.violations.append(Violation("job_lost", words, time.monotonic(), gangs))
        await self._until(self._open_incidents, "", kind="incident_open")

    async def down(self) -> None:
        code, said = await self._cluster.understudy("down", "--name", NAME)
        if code:
            self.violations.append(Violation("left_over", f"`down` ended with {code}: {said.strip()[:1000]}"))
        for words in left_over(self._cluster):
            self.violations.append(Violation("left_over", words))

    # What is waited for

    async def _until(self, lacking: Callable[[], list[str]], words: str, kind: str = "job_lost") -> None:
        """Until nothing lacks; given up when nothing has changed for a long time."""
        deadline, progress = time.monotonic() + LONGEST, time.monotonic()
        before: list[str] = []
        while missing := lacking():
            self._observer.check()
            now = time.monotonic()
            if missing != before:
                before, progress = missing, now
            if now - progress > NO_PROGRESS or now > deadline:
                for one in missing if not words else ():
                    self.violations.append(Violation(kind, one, now))
                if words:
                    gangs = tuple(one.partition(" ")[0] for one in missing)
                    self.violations.append(Violation(kind, words.format("; ".join(missing)), now, gangs))
                return
            await asyncio.sleep(LOOK)
            if now - progress > 10.0:
                await self._observer.until_caught_up()

    async def _quiet(self) -> None:
        deadline = time.monotonic() + LONGEST
        while time.monotonic() < deadline:
            self._observer.stirred.clear()
            try:
                async with asyncio.timeout(QUIET):
                    await self._observer.stirred.wait()
            except TimeoutError:
                return

    def _all_nodes_are_ready(self) -> list[str]:
        nodes = self._observer.history.latest_nodes()
        return sorted(name for name in self._cluster.nodes if name not in nodes or not nodes[name].ready)

    def _kept(self) -> list[Submission]:
        return [one for one in self._users.submitted.values() if one.deleted_at is None]

    def _state(self, one: Submission) -> str:
        job = self._observer.history.latest_jobs().get((one.workload.resource.kind, one.workload.name))
        if job is None:
            return "never seen"
        return "gone" if job.gone else job.ended

    def _unfinished(self) -> list[str]:
        return sorted(f"{one.workload.name} {self._why(one)}" for one in self._kept() if not self._state(one))

    def _why(self, one: Submission) -> str:
        pods = [pod for pod in self._observer.history.latest_pods().values() if pod.gang == one.workload.name]
        told = [f"{pod.name} {pod.phase}{' leaving' * pod.leaving} on {pod.node or '-'} {pod.reason}" for pod in pods]
        return f"({len(pods)} of {one.workload.size} pods: {', '.join(sorted(told))[:400]})"

    def _lost(self, one: Submission) -> str:
        match self._state(one):
            case "Complete" | "":
                return ""
            case "Failed":
                job = self._observer.history.latest_jobs()[one.workload.resource.kind, one.workload.name]
                return f"{one.workload.name} failed: {job.words}"
            case other:
                return f"{one.workload.name} was not deleted by its user, and is {other}"

    def _open_incidents(self) -> list[str]:
        incidents = self._observer.history.latest_incidents().values()
        return sorted(f"{one.name} of {one.job}" for one in incidents if one.outcome == "open" and not one.gone)

    # What fits

    async def _setting(self) -> Setting:
        settings = loop_settings(self._cluster.folder.read_settings().loop)
        view = ClusterView(
            settings.policy,
            None,
            EMBEDDED_DEFAULTS.limits,
            InvalidObjects(),
            WatchedCluster(job_lag=EMBEDDED_DEFAULTS.job_lag),
        )
        for resource in {*FOLLOWED, CLAIMS, VOLUMES} - {EVENTS}:
            raw = await insist(lambda r=resource: self._observer.client.request("GET", r.path()))
            listed = msgspec.json.decode(raw)
            for item in listed["items"]:
                item |= {"apiVersion": resource.api_version, "kind": resource.kind}
                try:
                    view.put(decode_json(msgspec.json.encode(item)))
                except BadObject:
                    continue  # the view has no use for this kind
        now = time.time()
        return Setting(view.snapshot(now), settings.policy, now)

    def _waiting_without_reason(self) -> Iterable[tuple[str, str]]:
        events = {event.name for event in self._observer.history.events if event.reason in _REASONS}
        for one in self._kept():
            name = one.workload.name
            pods = [pod for pod in self._observer.history.latest_pods().values() if pod.gang == name and pod.stays]
            runs = len([pod for pod in pods if pod.running or pod.phase == "Succeeded"]) > 0
            told = any(pod.reason for pod in pods) or name in events
            if not self._state(one) and not runs and not told and not one.suspended:
                yield name, f"{name} neither runs nor says why: {self._why(one)}"


_REASONS = ("Waiting", "FailedScheduling", "Requeued", "Preempted")


def _waits(gang: Gang) -> bool:
    return not gang.seated() and bool(list(gang.members())) and gang.suspension is not Suspension.BY_OWNER


def could_run(setting: Setting) -> dict[str, tuple[str, str]]:
    """Gangs that wait although there is room, or would be if those below them went, each with the violation: by rules
    that share no code with the planner."""
    found = {}
    for gang in setting.snapshot.gangs.values():
        if not _waits(gang):
            continue
        if seats := _seats_beside(setting, gang, ()):
            found[gang.name] = ("waits_though_it_fits", f"{gang.name} waits, and would fit: {seats}")
        elif seats := _seats_beside(setting, gang, lower := _victims(setting, gang)):
            below = ", ".join(f"{one.gang.name} ({one.gang.priority})" for one in lower)
            words = f"{gang.name} ({gang.priority}) waits, and would fit: {seats}, without those below it: {below}"
            found[gang.name] = ("lower_runs", words)
    return found


def _seats_beside(setting: Setting, gang: Gang, gone: Sequence[Loss]) -> dict[str, str] | None:
    """Seats for all of its members when these others have gone."""
    board = exhaustive_search.without(exhaustive_search.board_for(gang, setting, with_leaving=True), gone)

    def allowed(member: Member, node: Node) -> bool:
        return reference_rules.may_ever_sit(gang, member, node, setting.policy, setting.now)

    return reference_rules.placement(board, gang, [member.name for member in gang.members()], allowed)


def _victims(setting: Setting, gang: Gang) -> list[Loss]:
    """All that it may take, at the most."""
    if not reference_rules.may_preempt(gang, setting.policy, setting.now):
        return []
    gangs = (one for _, one in sorted(setting.snapshot.gangs.items()) if exhaustive_search.may_be_victim(one, gang))
    return [Loss(one, tuple(one.seated()), True) for one in gangs]
