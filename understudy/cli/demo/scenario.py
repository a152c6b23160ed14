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
    """On a cluster that is up and has nothing on it; the story, and after it as many incidents as are wanted in all.

    What the cluster has on record of them. Raises StoryBroke.
    """
    narrator = ProgressPrinter(out, time.time)
    async with connect(folder.kubeconfig) as client:
        story = HotSwapScenario(client, folder, narrator)
        try:
            return await _run_beside(story.stage.run(), story.play(incidents))
        finally:
            narrator.end()


class HotSwapScenario:
    def __init__(self, client: KubeClient, folder: ClusterFolder, narrator: ProgressPrinter) -> None:
        self.stage = ClusterObserver(client, (HIGH_PRIORITY_JOB, LOW_PRIORITY_JOB), narrator)
        self._blows = FaultInjector(self.stage, folder)
        self._client = client
        self._narrator = narrator

    async def play(self, incidents: int) -> list[Incident]:
        await self._create("priorities")
        await self._create("training")
        await self._submitted(LOW_PRIORITY_JOB, "low-priority wants a slice")
        await self._submitted(HIGH_PRIORITY_JOB, "high-priority wants three, and finds room")
        first = await self._spare_steps_in()
        saved = await self._modest_makes_room()
        await self._modest_comes_back(first, saved)
        found = await self._blows.recorded(SCENARIO_INCIDENTS)
        if len(found) >= incidents:
            return found
        found = await ExtraIncidents(self.stage, self._blows, self._narrator).play(incidents)
        await self._end_chapter()
        return found

    async def _submitted(self, job: str, title: str) -> None:
        self._narrator.begin(title)
        before = self.stage.scene
        await self._create(job.rpartition("/")[2])
        running = await self.stage.until(f"all of {job} runs", lambda scene: scene.complete(job))
        _expect(before.players.keys() <= self.stage.scene.players.keys(), "a job that ran was disturbed")
        self._whole(job, running, len(self.stage.scene.of(job)))
        await self._end_chapter()

    async def _spare_steps_in(self) -> str:
        """Says which node died."""
        before = self.stage.scene
        await self._have_said(before.of(HIGH_PRIORITY_JOB), _CHECKPOINT)  # one that has saved nothing would begin anew
        node = before.of(HIGH_PRIORITY_JOB)[-1].node
        self._narrator.begin(f"{node} dies under high-priority; {', '.join(self._blows.idle())} is idle")
        await self._healed_from(node)
        _expect(
            _same_processes(before, self.stage.scene, LOW_PRIORITY_JOB),
            "low-priority was disturbed, though a slice was idle",
        )
        await self._blows.recorded(SCENARIO_INCIDENTS - 1)
        await self._end_chapter()
        return node

    async def _modest_makes_room(self) -> Steps:
        """Says where its processes had come to."""
        victims, node, idle = (
            self.stage.scene.of(LOW_PRIORITY_JOB),
            self.stage.scene.of(HIGH_PRIORITY_JOB)[0].node,
            self._blows.idle(),
        )
        _expect(not idle, f"{', '.join(idle)} is idle still")
        self._narrator.begin(f"{node} dies too; no slice is idle")
        await self._healed_from(node)
        await self.stage.until("low-priority is told why", lambda _: bool(self.stage.preemptions))
        _expect(not self.stage.scene.of(LOW_PRIORITY_JOB), "low-priority is still there")
        await self._blows.recorded(SCENARIO_INCIDENTS)
        await self._end_chapter()
        return self._steps(victims, _SAVED)

    async def _modest_comes_back(self, node: str, saved: Steps) -> None:
        before = self.stage.scene
        self._narrator.begin(f"{node} comes back, and low-priority with it")
        await self._blows.recover([node])
        running = await self.stage.until("low-priority runs again", lambda scene: scene.complete(LOW_PRIORITY_JOB))
        back = self.stage.scene.of(LOW_PRIORITY_JOB)
        self._whole(LOW_PRIORITY_JOB, running, len(back))
        await self._have_said(back, _RESUMED)
        _expect(_same_processes(before, self.stage.scene, HIGH_PRIORITY_JOB), "high-priority was disturbed")
        _expect(self._steps(back, _RESUMED) == saved, "low-priority does not go on from where it had saved")
        await self._end_chapter()

    async def _healed_from(self, node: str) -> None:
        """Lets a node die under high-priority, and sees all of it run again, on other slices than that one."""
        before = self.stage.scene
        self._narrator.tell(f"{node} is killed, its process and those of its pods; nobody is told")
        await self._blows.fail(node)
        await self.stage.until(f"{node} is lost", lambda scene: node in scene.lost)
        healed = await self._blows.healed(node, before)
        out = sum(each.job == LOW_PRIORITY_JOB for each in healed.gone)
        self._whole(HIGH_PRIORITY_JOB, healed.at, len(healed.started), stayed=healed.stayed, preempted=out)
        await self._have_said(healed.gone, _SAVED)
        await self._have_said(healed.started, _RESUMED)
        _expect(len(healed.started) == len(self._blows.slice_of(node)), "members on healthy slices were moved")

    def _whole(self, job: str, at: float, started: int, *, stayed: int = 0, preempted: int = 0) -> None:
        counts = {"processes started": started, "stayed": stayed, "were preempted": preempted}
        words = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
        self._narrator.tell(f"all of {job.rpartition('/')[2]} runs: {words}", at)

    async def _end_chapter(self) -> None:
        await self._narrator.unroll()
        self._narrator.draw(self.stage.picture())

    async def _have_said(self, players: list[DemoProcess], words: re.Pattern[str]) -> None:
        await self.stage.until(
            f"{', '.join(each.name for each in players)}: {words.pattern!r} on the log",
            lambda _: len(self._steps(players, words)) == len(players),
        )

    def _steps(self, players: list[DemoProcess], words: re.Pattern[str]) -> Steps:
        """The steps that they speak of."""
        found = ((each.name, words.match(line)) for each in players for line in self.stage.said[each.uid])
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
    """What the work gives, or what went wrong in the background meanwhile."""
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
    """Begins and ends with both jobs whole and a slice idle, but for an odd number: then none is."""

    def __init__(self, stage: ClusterObserver, blows: FaultInjector, narrator: ProgressPrinter) -> None:
        self._stage = stage
        self._blows = blows
        self._narrator = narrator

    async def play(self, count: int) -> list[Incident]:
        """Until there were so many incidents, those of the story among them: what is on record of all of them."""
        incidents = await self._blows.recorded(0)
        first, more = len(incidents), count - len(incidents)
        self._narrator.begin(f"{more} more incident{'s' * (more != 1)}")
        self._narrator.in_short = True
        turn = 0
        while len(incidents) < count:
            if turn % 2 == 0:
                await self._all_well()
            incidents = await self._one_more(len(incidents) + 1, count)
            turn += 1
            done = len(incidents) - first
            if done * REPORTS // more > (done - 1) * REPORTS // more:
                self._narrator.report(f"{done} of {more}: {self._words(incidents[-1])}")
        return incidents

    async def _all_well(self) -> None:
        self._narrator.note = "all nodes come back, and low-priority with them"
        await self._blows.recover(self._stage.scene.lost)
        await self._stage.until(
            "both jobs are whole, and a slice is idle",
            lambda scene: (
                not scene.lost
                and scene.complete(HIGH_PRIORITY_JOB)
                and scene.complete(LOW_PRIORITY_JOB)
                and bool(self._blows.idle())
            ),
        )

    async def _one_more(self, number: int, count: int) -> list[Incident]:
        before = self._stage.scene
        members, idle = before.of(HIGH_PRIORITY_JOB), self._blows.idle()
        node = members[number * 5 % len(members)].node  # now this slice, now that, and either node of it
        self._narrator.note = f"incident {number} of {count}: {node} dies; {', '.join(idle) or 'no slice'} is idle"
        await self._blows.fail(node)
        await self._stage.until(f"{node} is lost", lambda scene: node in scene.lost)
        await self._blows.healed(node, before)
        return await self._blows.recorded(number)

    def _words(self, last: Incident) -> str:
        made_room = " and low-priority made room" if last.victims else ""
        return f"{', '.join(last.nodes)} died{made_room}; all ran again after {last.total or 0.0:.3f} s"
