"""The hot-swap story with real processes: submits the jobs, lets nodes die and come back, and watches what follows."""

import asyncio
import re
import time
from collections.abc import Coroutine
from typing import Any, TextIO

import msgspec

from understudy.cli.story import script
from understudy.cli.story.chapters import Chapter
from understudy.cli.story.narrator import Narrator
from understudy.cli.story.scene import Player, Scene
from understudy.cli.story.script import HERO, MODEST, TOPOLOGY
from understudy.cli.story.stage import Stage, StoryBroke
from understudy.client import KubeClient, connect
from understudy.embedded.doorway import FailNode, RecoverNode, ask
from understudy.embedded.folders import ClusterFolder
from understudy.objects.resources import CLAIMS, CONFIG_MAPS, JOB_SETS, PRIORITY_CLASSES
from understudy.ports import Ref

_RESOURCES = {resource.kind: resource for resource in (CLAIMS, CONFIG_MAPS, JOB_SETS, PRIORITY_CLASSES)}
Steps = dict[str, int]  # by the place of the process in its job
_CHECKPOINT = re.compile(r"step ([1-9]\d*)")
_SAVED = re.compile(r"told to stop: saved at step (\d+)")
_RESUMED = re.compile(r"goes on from step (\d+)")


async def perform(folder: ClusterFolder, out: TextIO) -> list[Chapter]:
    """On a cluster that is up and has nothing on it. Raises StoryBroke."""
    narrator = Narrator(out, time.time)
    async with connect(folder.kubeconfig) as client:
        story = Story(client, folder, narrator)
        try:
            return await _beside(story.stage.run(), story.play())
        finally:
            narrator.catch_up(all_of_it=True)


class Story:
    def __init__(self, client: KubeClient, folder: ClusterFolder, narrator: Narrator) -> None:
        self.stage = Stage(client, (HERO, MODEST), narrator)
        self._client = client
        self._folder = folder
        self._narrator = narrator
        self._chapters: list[Chapter] = []

    async def play(self) -> list[Chapter]:
        await self._create("priorities")
        await self._create("training")
        await self._submitted(MODEST, "low-priority wants a slice")
        await self._submitted(HERO, "high-priority wants three, and finds room")
        first = await self._spare_steps_in()
        saved = await self._modest_makes_room()
        await self._modest_comes_back(first, saved)
        return self._chapters

    async def _submitted(self, job: str, title: str) -> None:
        self._narrator.begin(title)
        before = self.stage.scene
        await self._create(job.rpartition("/")[2])
        running = await self.stage.until(f"all of {job} runs", lambda scene: scene.complete(job))
        _expect(before.players.keys() <= self.stage.scene.players.keys(), "a job that ran was disturbed")
        self._end(self._chapter(None, running, started=len(self.stage.scene.of(job))))

    async def _spare_steps_in(self) -> str:
        """Says which node died."""
        before = self.stage.scene
        await self._have_said(before.of(HERO), _CHECKPOINT)  # one that has saved nothing would begin anew
        node = before.of(HERO)[-1].node
        self._narrator.begin(f"{node} dies under high-priority; {self._idle()} is idle")
        chapter = await self._healed_from(node)
        _expect(_same(before, self.stage.scene, MODEST), "low-priority was disturbed, though a slice was idle")
        self._end(chapter)
        return node

    async def _modest_makes_room(self) -> Steps:
        """Says where its processes had come to."""
        victims, node = self.stage.scene.of(MODEST), self.stage.scene.of(HERO)[0].node
        _expect(not self._idle(), f"{self._idle()} is idle still")
        self._narrator.begin(f"{node} dies too; no slice is idle")
        chapter = await self._healed_from(node)
        await self.stage.until("low-priority is told why", lambda _: bool(self.stage.preemptions))
        _expect(not self.stage.scene.of(MODEST), "low-priority is still there")
        self._end(msgspec.structs.replace(chapter, preempted=len(victims)))
        return self._steps(victims, _SAVED)

    async def _modest_comes_back(self, node: str, saved: Steps) -> None:
        before = self.stage.scene
        self._narrator.begin(f"{node} comes back, and low-priority with it")
        await ask(self._folder.agent_socket, RecoverNode(node))
        noticed = await self.stage.until(f"{node} is back", lambda scene: node not in scene.lost)
        running = await self.stage.until("low-priority runs again", lambda scene: scene.complete(MODEST))
        back = self.stage.scene.of(MODEST)
        await self._have_said(back, _RESUMED)
        _expect(_same(before, self.stage.scene, HERO), "high-priority was disturbed")
        _expect(self._steps(back, _RESUMED) == saved, "low-priority does not go on from where it had saved")
        self._end(self._chapter(noticed, running, started=len(back)))

    async def _healed_from(self, node: str) -> Chapter:
        """Lets a node die under high-priority, and sees all of it run again, on other slices than that one."""
        before, broken = self.stage.scene, self._slice_of(node)
        await ask(self._folder.agent_socket, FailNode(node))
        self._narrator.tell(f"{node} is cut off: it is killed with its process, and nobody was warned")
        noticed = await self.stage.until(f"{node} is lost", lambda scene: node in scene.lost)

        def healed(scene: Scene) -> bool:
            return scene.complete(HERO) and not any(each.node in broken for each in scene.of(HERO))

        running = await self.stage.until("all of high-priority runs again", healed)
        members = self.stage.scene.of(HERO)
        started = [each for each in members if each.uid not in before.players]
        gone = [each for uid, each in before.players.items() if uid not in self.stage.scene.players]
        await self._have_said([each for each in gone if each.node != node], _SAVED)
        await self._have_said(started, _RESUMED)
        _expect(len(started) == len(broken), "members on healthy slices were moved")
        return self._chapter(noticed, running, started=len(started), stayed=len(members) - len(started))

    def _chapter(self, noticed: float | None, running: float, **processes: int) -> Chapter:
        since = self._narrator.since
        return Chapter(
            title=self._narrator.title,
            noticed=None if noticed is None else since(noticed),
            running=since(running),
            **processes,
        )

    def _end(self, chapter: Chapter) -> None:
        self._chapters.append(chapter)
        self._narrator.draw(self.stage.snapshot(), TOPOLOGY)

    def _idle(self) -> str:
        """The slices on which nobody runs and no node is lost."""
        scene = self.stage.scene
        busy = {each.node for each in scene.players.values()} | scene.lost.keys()
        free = {domain for domain, nodes in self._slices().items() if not nodes & busy}
        return ", ".join(sorted(free))

    def _slice_of(self, node: str) -> set[str]:
        return next(nodes for nodes in self._slices().values() if node in nodes)

    def _slices(self) -> dict[str, set[str]]:
        slices: dict[str, set[str]] = {}
        for name, room in self.stage.snapshot().rooms.items():
            slices.setdefault(room.node.labels[TOPOLOGY], set()).add(name)
        return slices

    async def _have_said(self, players: list[Player], words: re.Pattern[str]) -> None:
        await self.stage.until(
            f"{', '.join(each.name for each in players)}: {words.pattern!r} on the log",
            lambda _: len(self._steps(players, words)) == len(players),
        )

    def _steps(self, players: list[Player], words: re.Pattern[str]) -> Steps:
        """The steps that they speak of."""
        found = ((each.name, words.match(line)) for each in players for line in self.stage.said[each.uid])
        return {name: int(match[1]) for name, match in found if match}

    async def _create(self, file: str) -> None:
        for document in script.objects(file):
            resource = _RESOURCES[str(document.value["kind"])]
            await self._client.create(Ref(resource, "default" if resource.namespaced else ""), document.value)


def _expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise StoryBroke(otherwise)


def _same(before: Scene, after: Scene, job: str) -> bool:
    return {each.uid for each in before.of(job)} == {each.uid for each in after.of(job)}


async def _beside(background: Coroutine[Any, Any, None], work: Coroutine[Any, Any, list[Chapter]]) -> list[Chapter]:
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
