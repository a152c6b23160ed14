"""More incidents after a story, one upon the other: by turns a slice is idle when a node dies, and none is."""

from understudy.cli.story.blows import Blows
from understudy.cli.story.narrator import Narrator
from understudy.cli.story.script import HERO, MODEST
from understudy.cli.story.stage import Stage
from understudy.model.incidents import Incident

REPORTS = 10  # how often it is said how far it has come


class Encore:
    """Begins and ends with both jobs whole and a slice idle, but for an odd number: then none is."""

    def __init__(self, stage: Stage, blows: Blows, narrator: Narrator) -> None:
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
                not scene.lost and scene.complete(HERO) and scene.complete(MODEST) and bool(self._blows.idle())
            ),
        )

    async def _one_more(self, number: int, count: int) -> list[Incident]:
        before = self._stage.scene
        members, idle = before.of(HERO), self._blows.idle()
        node = members[number * 5 % len(members)].node  # now this slice, now that, and either node of it
        self._narrator.note = f"incident {number} of {count}: {node} dies; {', '.join(idle) or 'no slice'} is idle"
        await self._blows.fail(node)
        await self._stage.until(f"{node} is lost", lambda scene: node in scene.lost)
        await self._blows.healed(node, before)
        return await self._blows.recorded(number)

    def _words(self, last: Incident) -> str:
        made_room = " and low-priority made room" if last.victims else ""
        return f"{', '.join(last.nodes)} died{made_room}; all ran again after {last.total or 0.0:.3f} s"
