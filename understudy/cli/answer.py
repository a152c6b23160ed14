"""Answers one `understudy plan`: from the files named to the text printed."""

import sys
from typing import Any

import msgspec

from understudy.cli import documents, skipped, whatif
from understudy.cli.difference import differences
from understudy.cli.figures import dumped, figures, story_figures
from understudy.cli.inputs import decoded, joined, snapshot
from understudy.cli.names import gang_named
from understudy.cli.paint import Painter
from understudy.cli.prose import Scene, tell
from understudy.cli.settings import Settings
from understudy.cli.settings import read as read_settings
from understudy.cli.tale import tell_story
from understudy.decide.cycle import plan
from understudy.decide.explain import story
from understudy.model.plans import Plan
from understudy.model.snapshot import Snapshot


class Question(msgspec.Struct, frozen=True):
    """What the user asked for, as read from the command line."""

    files: tuple[str, ...]
    now: float
    form: str = "text"
    explain: str | None = None
    what_if: tuple[str, ...] = ()
    settings: str | None = None
    scheduler: str = ""


class Answer(msgspec.Struct, frozen=True):
    text: str
    notes: tuple[str, ...] = ()


class Look(msgspec.Struct, frozen=True):
    """One snapshot and what is made of it."""

    snapshot: Snapshot
    settings: Settings
    now: float

    def plan(self) -> Plan:
        return plan(self.snapshot, self.settings.policy, self.now)


def answered(question: Question) -> Answer:
    settings = read_settings(question.settings)
    changes = whatif.changes(question.what_if, question.now)
    inputs = decoded(documents.read(question.files))
    looks = [Look(snapshot(inputs, settings, question.scheduler, question.now), settings, question.now)]
    if changes:
        paths = [change.path for change in changes if isinstance(change, whatif.Add)]
        inputs = joined(inputs, decoded(documents.read(paths))) if paths else inputs
        future = snapshot(inputs, settings, question.scheduler, question.now)
        looks.append(Look(whatif.changed(future, changes, question.now), settings, question.now))
    notes = (skipped.note(inputs.skipped),) if inputs.skipped else ()
    return Answer(_text(question, looks), notes)


def _text(question: Question, looks: list[Look]) -> str:
    told = _explained if question.explain is not None else _planned
    return told(question, looks)


def _planned(question: Question, looks: list[Look]) -> str:
    plans = [look.plan() for look in looks]
    if question.form != "text":
        values = [figures(plan, look.snapshot.gangs, look.now) for plan, look in zip(plans, looks, strict=True)]
        return dumped(_paired(values), question.form)
    texts = [tell(plan, _scene(look)) for plan, look in zip(plans, looks, strict=True)]
    return texts[0] if len(plans) == 1 else _compared(question, texts, differences(*plans))


def _explained(question: Question, looks: list[Look]) -> str:
    wanted = question.explain or ""
    everyone = {key for look in looks for key in look.snapshot.gangs}
    key = gang_named(wanted, everyone, "--explain")
    there = [look for look in looks if key in look.snapshot.gangs]
    stories = [story(look.snapshot, look.settings.policy, look.now, key) for look in there]
    if question.form != "text":
        return dumped(_paired([story_figures(told) for told in stories]), question.form)
    texts = [tell_story(told, _scene(look)) for told, look in zip(stories, there, strict=True)]
    return texts[0] if len(looks) == 1 else _compared(question, texts, [])


def _paired(values: list[dict[str, Any]]) -> dict[str, Any]:
    return values[0] if len(values) == 1 else {"before": values[0], "after": values[1]}


def _compared(question: Question, texts: list[str], changes: list[str]) -> str:
    paint = Painter.on(sys.stdout)
    parts = [paint("Before", "bold"), texts[0], paint(f"After {', '.join(question.what_if)}", "bold"), texts[-1]]
    parts += [paint("What differs", "bold"), *(f"  {line}" for line in changes or ["nothing"]), ""]
    return "\n".join(parts)


def _scene(look: Look) -> Scene:
    return Scene.wide(look.snapshot.gangs, look.now, Painter.on(sys.stdout))
