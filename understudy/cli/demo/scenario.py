"""The hot-swap scenario with real processes: submits jobs, kills nodes, brings them back, and checks what follows."""

import asyncio
import re
import time
from collections.abc import Coroutine
from typing import Any, TextIO

from understudy.cli.demo import manifests
from understudy.cli.demo.faults import FaultInjector
from understudy.cli.demo.manifests import HIGH_PRIORITY_JOB, LOW_PRIORITY_JOB
from understudy.cli.demo.observer import ClusterObserver, DemoFailed
from understudy.cli.demo.progress import ProgressPrinter
from understudy.cli.demo.state import DemoProcess, DemoState
from understudy.client import KubeClient, connect
from understudy.embedded.cluster_folder import ClusterFolder
from understudy.model.incidents import Incident
from understudy.objects.resources import CLAIMS, CONFIG_MAPS, JOB_SETS, PRIORITY_CLASSES
from understudy.ports import Ref

SCENARIO_INCIDENTS = 2  # incidents of the story
_RESOURCES = {resource.kind: resource for resource in (CLAIMS, CONFIG_MAPS, JOB_SETS, PRIORITY_CLASSES)}
Steps = dict[str, int]  # by the place of the process in its job
_CHECKPOINT = re.compile(r"step ([1-9]\d*)")
_SAVED = re.compile(r"told to stop: saved at step (\d+)")
_RESUMED = re.compile(r"goes on from step (\d+)")


async def run_scenario(folder: ClusterFolder, out: TextIO, incidents: int = SCENARIO_INCIDENTS) -> list[Incident]:
    """Runs the scenario on an empty cluster, then makes more nodes fail until the cluster has recorded `incidents`
    incidents.

    Returns the incidents that the cluster recorded. Raises DemoFailed.
    """
    printer = ProgressPrinter(out, time.time)
    async with connect(folder.kubeconfig) as client:
        story = HotSwapScenario(client, folder, printer)
        try:
            return await _run_beside(story.observer.run(), story.play(incidents))
        finally:
            printer.end()


class HotSwapScenario:
    def __init__(self, client: KubeClient, folder: ClusterFolder, printer: ProgressPrinter) -> None:
        self.observer = ClusterObserver(client, (HIGH_PRIORITY_JOB, LOW_PRIORITY_JOB), printer)
        self._faults = FaultInjector(self.observer, folder)
        self._client = client
        self._printer = printer

    async def play(self, incidents: int) -> list[Incident]:
        await self._create("priorities")
        await self._create("training")
        await self._submit(LOW_PRIORITY_JOB, "low-priority wants a slice")
        await self._submit(HIGH_PRIORITY_JOB, "high-priority wants three, and finds room")
        first = await self._spare_takes_over()
        saved = await self._low_priority_makes_room()
        await self._low_priority_comes_back(first, saved)
        found = await self._faults.wait_for_incidents(SCENARIO_INCIDENTS)
        if len(found) >= incidents:
            return found
        found = await ExtraIncidents(self.observer, self._faults, self._printer).play(incidents)
        await self._end_chapter()
        return found

    async def _submit(self, job: str, title: str) -> None:
        self._printer.begin(title)
        before = self.observer.state
        await self._create(job.rpartition("/")[2])
        running = await self.observer.until(f"all of {job} runs", lambda state: state.complete(job))
        _expect(before.processes.keys() <= self.observer.state.processes.keys(), "a job that ran was disturbed")
        self._report_running(job, running, len(self.observer.state.of(job)))
        await self._end_chapter()

    async def _spare_takes_over(self) -> str:
        """Makes a node fail while a slice is idle. Returns the name of the node."""
        before = self.observer.state
        await self._wait_for_output(
            before.of(HIGH_PRIORITY_JOB), _CHECKPOINT
        )  # one that has saved nothing would begin anew
        node = before.of(HIGH_PRIORITY_JOB)[-1].node
        self._printer.begin(f"{node} dies under high-priority; {', '.join(self._faults.idle())} is idle")
        await self._fail_and_recover(node)
        _expect(
            _same_processes(before, self.observer.state, LOW_PRIORITY_JOB),
            "low-priority was disturbed, though a slice was idle",
        )
        await self._faults.wait_for_incidents(SCENARIO_INCIDENTS - 1)
        await self._end_chapter()
        return node

    async def _low_priority_makes_room(self) -> Steps:
        """Makes a node fail while no slice is idle. Returns the steps that low-priority's processes had reached."""
        victims, node, idle = (
            self.observer.state.of(LOW_PRIORITY_JOB),
            self.observer.state.of(HIGH_PRIORITY_JOB)[0].node,
            self._faults.idle(),
        )
        _expect(not idle, f"{', '.join(idle)} is idle still")
        self._printer.begin(f"{node} dies too; no slice is idle")
        await self._fail_and_recover(node)
        await self.observer.until("low-priority is told why", lambda _: bool(self.observer.preemptions))
        _expect(not self.observer.state.of(LOW_PRIORITY_JOB), "low-priority is still there")
        await self._faults.wait_for_incidents(SCENARIO_INCIDENTS)
        await self._end_chapter()
        return self._steps(victims, _SAVED)

    async def _low_priority_comes_back(self, node: str, saved: Steps) -> None:
        before = self.observer.state
        self._printer.begin(f"{node} comes back, and low-priority with it")
        await self._faults.recover([node])
        running = await self.observer.until("low-priority runs again", lambda state: state.complete(LOW_PRIORITY_JOB))
        back = self.observer.state.of(LOW_PRIORITY_JOB)
        self._report_running(LOW_PRIORITY_JOB, running, len(back))
        await self._wait_for_output(back, _RESUMED)
        _expect(_same_processes(before, self.observer.state, HIGH_PRIORITY_JOB), "high-priority was disturbed")
        _expect(self._steps(back, _RESUMED) == saved, "low-priority does not go on from where it had saved")
        await self._end_chapter()

    async def _fail_and_recover(self, node: str) -> None:
        """Lets a node die under high-priority, and sees all of it run again, on other slices than that one."""
        before = self.observer.state
        self._printer.report(f"{node} is killed, with the processes of its pods and without notice")
        await self._faults.fail(node)
        await self.observer.until(f"{node} is lost", lambda state: node in state.lost)
        recovery = await self._faults.wait_for_recovery(node, before)
        out = sum(each.job == LOW_PRIORITY_JOB for each in recovery.gone)
        self._report_running(
            HIGH_PRIORITY_JOB, recovery.at, len(recovery.started), stayed=recovery.stayed, preempted=out
        )
        await self._wait_for_output(recovery.gone, _SAVED)
        await self._wait_for_output(recovery.started, _RESUMED)
        _expect(len(recovery.started) == len(self._faults.slice_of(node)), "members on healthy slices were moved")

    def _report_running(self, job: str, at: float, started: int, *, stayed: int = 0, preempted: int = 0) -> None:
        counts = {"processes started": started, "stayed": stayed, "were preempted": preempted}
        words = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
        self._printer.report(f"all of {job.rpartition('/')[2]} runs: {words}", at)

    async def _end_chapter(self) -> None:
        await self._printer.show_remaining()
        self._printer.draw(self.observer.picture())

    async def _wait_for_output(self, processes: list[DemoProcess], words: re.Pattern[str]) -> None:
        await self.observer.until(
            f"{', '.join(each.name for each in processes)}: {words.pattern!r} on the log",
            lambda _: len(self._steps(processes, words)) == len(processes),
        )

    def _steps(self, processes: list[DemoProcess], words: re.Pattern[str]) -> Steps:
        """The step numbers in the output."""
        found = ((each.name, words.match(line)) for each in processes for line in self.observer.output[each.uid])
        return {name: int(match[1]) for name, match in found if match}

    async def _create(self, file: str) -> None:
        for document in manifests.objects(file):
            resource = _RESOURCES[str(document.value["kind"])]
            await self._client.create(Ref(resource, "default" if resource.namespaced else ""), document.value)


def _expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise DemoFailed(otherwise)


def _same_processes(before: DemoState, after: DemoState, job: str) -> bool:
    return {each.uid for each in before.of(job)} == {each.uid for each in after.of(job)}


async def _run_beside(
    background: Coroutine[Any, Any, None], work: Coroutine[Any, Any, list[Incident]]
) -> list[Incident]:
    """The result of `work`. An error of `background` ends the work and is raised."""
    following, playing = asyncio.create_task(background), asyncio.create_task(work)
    try:
        await asyncio.wait([following, playing], return_when=asyncio.FIRST_COMPLETED)
        if not playing.done():
            following.result()
        return await playing
    finally:
        for task in (following, playing):
            task.cancel()
        await asyncio.gather(following, playing, return_exceptions=True)


REPORTS = 10  # how often it is said how far it has come


class ExtraIncidents:
    """Starts with both jobs complete and one slice idle. An odd number of incidents ends with no slice idle."""

    def __init__(self, observer: ClusterObserver, faults: FaultInjector, printer: ProgressPrinter) -> None:
        self._observer = observer
        self._faults = faults
        self._printer = printer

    async def play(self, count: int) -> list[Incident]:
        """Makes nodes fail until the cluster has `count` incidents with those of the story. Returns all of them."""
        incidents = await self._faults.wait_for_incidents(0)
        first, more = len(incidents), count - len(incidents)
        self._printer.begin(f"{more} more incident{'s' * (more != 1)}")
        self._printer.brief = True
        turn = 0
        while len(incidents) < count:
            if turn % 2 == 0:
                await self._restore()
            incidents = await self._next_incident(len(incidents) + 1, count)
            turn += 1
            done = len(incidents) - first
            if done * REPORTS // more > (done - 1) * REPORTS // more:
                self._printer.report_always(f"{done} of {more}: {self._summary(incidents[-1])}")
        return incidents

    async def _restore(self) -> None:
        self._printer.note = "all nodes come back, and low-priority with them"
        await self._faults.recover(self._observer.state.lost)
        await self._observer.until(
            "both jobs are whole, and a slice is idle",
            lambda state: (
                not state.lost
                and state.complete(HIGH_PRIORITY_JOB)
                and state.complete(LOW_PRIORITY_JOB)
                and bool(self._faults.idle())
            ),
        )

    async def _next_incident(self, number: int, count: int) -> list[Incident]:
        before = self._observer.state
        members, idle = before.of(HIGH_PRIORITY_JOB), self._faults.idle()
        node = members[number * 5 % len(members)].node  # now this slice, now that, and either node of it
        self._printer.note = f"incident {number} of {count}: {node} dies; {', '.join(idle) or 'no slice'} is idle"
        await self._faults.fail(node)
        await self._observer.until(f"{node} is lost", lambda state: node in state.lost)
        await self._faults.wait_for_recovery(node, before)
        return await self._faults.wait_for_incidents(number)

    def _summary(self, last: Incident) -> str:
        made_room = " and low-priority made room" if last.victims else ""
        return f"{', '.join(last.nodes)} died{made_room}; all ran again after {last.total or 0.0:.3f} s"
