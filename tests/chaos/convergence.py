"""The end of a chaos run: when faults are healed, what fits must run; then every job must end; then all goes down."""

import asyncio
import time
from collections.abc import Callable, Iterable

import msgspec

from tests.chaos.case import Violation
from tests.chaos.cluster import NAME, ChaosCluster, left_over
from tests.chaos.member import DRAIN, STAY
from tests.chaos.observer import Observer, insist
from tests.chaos.users import Submission, Users
from tests.decide import reference_rules
from tests.embedded.witness import FOLLOWED
from understudy.control.view.cluster_view import ClusterView
from understudy.control.view.invalid_objects import InvalidObjects
from understudy.decide.policy import Policy
from understudy.embedded.loop_settings import EMBEDDED_DEFAULTS, loop_settings
from understudy.kinds.decoding import decode_json
from understudy.model.gangs import Gang, Member, Suspension
from understudy.model.nodes import Node
from understudy.model.snapshot import Snapshot
from understudy.objects.errors import BadObject
from understudy.objects.resources import EVENTS

QUIET = 4.0  # seconds without a change of pods, jobs and nodes: nothing more comes of itself
NO_PROGRESS = 90.0  # seconds without a change after which nothing more is expected
LONGEST = 600.0
LOOK = 0.5


class Ending:
    def __init__(self, cluster: ChaosCluster, observer: Observer, users: Users) -> None:
        self.violations: list[Violation] = []
        self._cluster = cluster
        self._observer = observer
        self._users = users

    async def calm(self) -> None:
        """Processes stay; when nothing changes any more, what waits must have a reason, and must not fit."""
        (self._cluster.work / STAY).touch()
        await self._users.end()
        await self._until(self._all_nodes_are_ready, "after the faults were healed these nodes are not ready: {}")
        await self._quiet()
        first = await self._fitting()
        await asyncio.sleep(QUIET)
        second = await self._fitting() if first else {}
        for name in first.keys() & second.keys():
            words = f"{name} waits, and would fit: {second[name]}"
            self.violations.append(Violation("waits_though_it_fits", words, time.monotonic(), (name,)))
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

    async def _fitting(self) -> dict[str, dict[str, str]]:
        """Gangs that wait and have room, with seats they could have: by rules that share no code with the planner."""
        snapshot, policy = await self._snapshot()
        found = {}
        for gang in snapshot.gangs.values():
            if gang.name in self._users.submitted and _waits(gang) and (seats := _fits(snapshot, gang, policy)):
                found[gang.name] = seats
        return found

    async def _snapshot(self) -> tuple[Snapshot, Policy]:
        settings = loop_settings(self._cluster.folder.read_settings().loop)
        view = ClusterView(settings.policy.index, limits=EMBEDDED_DEFAULTS.limits, invalid_objects=InvalidObjects())
        for resource in FOLLOWED:
            if resource is EVENTS:
                continue
            raw = await insist(lambda r=resource: self._observer.client.request("GET", r.path()))
            listed = msgspec.json.decode(raw)
            for item in listed["items"]:
                item |= {"apiVersion": resource.api_version, "kind": resource.kind}
                try:
                    view.put(decode_json(msgspec.json.encode(item)))
                except BadObject:
                    continue  # the view has no use for this kind
        return view.snapshot(time.time()), settings.policy

    def _waiting_without_reason(self) -> Iterable[tuple[str, str]]:
        events = {event.name for event in self._observer.history.events if event.reason in _REASONS}
        for one in self._kept():
            name = one.workload.name
            pods = [pod for pod in self._observer.history.latest_pods().values() if pod.gang == name and pod.stays]
            runs = len([pod for pod in pods if pod.running or pod.phase == "Succeeded"]) > 0
            told = any(pod.reason for pod in pods) or name in events
            if not self._state(one) and not runs and not told:
                yield name, f"{name} neither runs nor says why: {self._why(one)}"


_REASONS = ("Waiting", "FailedScheduling", "Requeued", "Preempted")


def _waits(gang: Gang) -> bool:
    return not gang.seated() and bool(list(gang.members())) and gang.suspension is not Suspension.BY_OWNER


def _fits(snapshot: Snapshot, gang: Gang, policy: Policy) -> dict[str, str] | None:
    board = reference_rules.board_of(
        snapshot, holders=[other for other in snapshot.gangs.values() if other.key != gang.key]
    )

    def allowed(member: Member, node: Node) -> bool:
        return reference_rules.may_ever_sit(gang, member, node, policy, time.time())

    return reference_rules.placement(board, gang, [member.name for member in gang.members()], allowed)
