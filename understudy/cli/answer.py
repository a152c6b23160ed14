"""Answers one `understudy plan`: from the files named to the text printed."""

import gc
import sys
from typing import Any

import msgspec

from understudy.cli import documents, skipped, whatif
from understudy.cli.difference import differences
from understudy.cli.figures import dumped, figures, story_figures
from understudy.cli.inputs import decoded, joined, snapshot
from understudy.cli.names import gang_named
from understudy.cli.paint import Painter
from understudy.cli.prose import Scene, screen_width, tell
from understudy.cli.settings import Settings
from understudy.cli.settings import read as read_settings
from understudy.cli.tale import tell_story
from understudy.decide.cycle import plan
from understudy.decide.story import Story, story
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

    def story(self, key: str) -> Story:
        return story(self.snapshot, self.settings.policy, self.now, key)


def answered(question: Question) -> Answer:
    """All that is read stays to the end: collecting garbage would walk it again and again, for half the time spent."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        return _answered(question)
    finally:
        if collecting:
            gc.enable()


def _answered(question: Question) -> Answer:
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
    if len(plans) == 1:
        return texts[0]
    return _compared(question, texts) + _told(differences(*plans))


def _explained(question: Question, looks: list[Look]) -> str:
    everyone = {key for look in looks for key in look.snapshot.gangs}
    key = gang_named(question.explain or "", everyone, "--explain")
    if question.form != "text":
        values = [story_figures(look.story(key)) if key in look.snapshot.gangs else None for look in looks]
        return dumped(_paired(values), question.form)
    texts = [_story_text(look, key) for look in looks]
    return texts[0] if len(texts) == 1 else _compared(question, texts)


def _story_text(look: Look, key: str) -> str:
    if key not in look.snapshot.gangs:
        return f"{key} is not there.\n"
    return tell_story(look.story(key), _scene(look))


def _paired(values: list[Any]) -> Any:
    return values[0] if len(values) == 1 else {"before": values[0], "after": values[1]}


def _compared(question: Question, texts: list[str]) -> str:
    paint = Painter.on(sys.stdout)
    after = paint(f"After {', '.join(question.what_if)}", "bold")
    return f"{paint('Before', 'bold')}\n{texts[0]}\n{after}\n{texts[1]}"


def _told(changes: list[str]) -> str:
    paint = Painter.on(sys.stdout)
    return "\n".join(["", paint("What differs", "bold"), *(f"  {change}" for change in changes or ["nothing"]), ""])


def _scene(look: Look) -> Scene:
    return Scene(look.snapshot.gangs, look.now, Painter.on(sys.stdout), screen_width())
