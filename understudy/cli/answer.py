"""Answers one `understudy plan`: from the files named, and the cluster seen, to the text printed."""

import gc
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from understudy.cli import documents, skipped, whatif
from understudy.cli.difference import differences
from understudy.cli.figures import dumped, figures, story_figures
from understudy.cli.inputs import CLUSTER, Inputs, decoded, housed, joined, living, living_snapshot, snapshot
from understudy.cli.names import gang_named
from understudy.cli.paint import Painter
from understudy.cli.prose import Scene, screen_width, tell
from understudy.cli.settings import Settings
from understudy.cli.settings import read as read_settings
from understudy.cli.tale import tell_story
from understudy.decide.cycle import plan
from understudy.decide.gang_report import GangReport, gang_report
from understudy.model.plans import Plan
from understudy.model.snapshot import Snapshot

if TYPE_CHECKING:
    from understudy.cli.survey import Survey


class Question(msgspec.Struct, frozen=True):
    """What the user asked for, as read from the command line."""

    files: tuple[str, ...]
    now: float
    form: str = "text"
    explain: str | None = None
    what_if: tuple[str, ...] = ()
    settings: str | None = None
    scheduler: str = ""


class Live(msgspec.Struct, frozen=True):
    """What was seen of a cluster, and what its scheduler is taken to go by."""

    survey: "Survey"
    settings: Settings
    namespace: str = "default"  # of objects in files that name none


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

    def story(self, key: str) -> GangReport:
        return gang_report(self.snapshot, self.settings.policy, self.now, key)


def answered(question: Question, live: Live | None = None) -> Answer:
    """All that is read stays to the end: collecting garbage would walk it again and again, for half the time spent."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        return _answered(question, _Desk(question, live))
    finally:
        if collecting:
            gc.enable()


class _Desk:
    """Where objects become snapshots: from files alone, or over what is seen of a cluster."""

    def __init__(self, question: Question, live: Live | None) -> None:
        self._question = question
        self._live = live
        self.settings = live.settings if live is not None else read_settings(question.settings)
        self.notes = list(live.survey.notes) if live is not None else []

    def inputs(self) -> Inputs:
        if self._live is None:
            return self.read(self._question.files)
        seen = living(self._live.survey.objects)
        return joined(seen, self.read(self._question.files)) if self._question.files else seen

    def read(self, files: Iterable[str]) -> Inputs:
        found = documents.read(files)
        return decoded(found if self._live is None else housed(found, self._live.namespace))

    def look(self, inputs: Inputs) -> "Look":
        question, settings = self._question, self.settings
        if self._live is None:
            made = snapshot(inputs, settings, question.scheduler, question.now)
        else:
            made, notes = living_snapshot(inputs, settings, question.scheduler, question.now)
            notes += _left_to_others(inputs, made, question.scheduler)
            self.notes += [note for note in notes if note not in self.notes]
        return Look(made, settings, question.now)


def _answered(question: Question, desk: _Desk) -> Answer:
    changes = whatif.changes(question.what_if, question.now)
    inputs = desk.inputs()
    looks = [desk.look(inputs)]
    if changes:
        paths = [change.path for change in changes if isinstance(change, whatif.Add)]
        inputs = joined(inputs, desk.read(paths)) if paths else inputs
        future = desk.look(inputs)
        changed = whatif.changed(future.snapshot, changes, question.now)
        looks.append(msgspec.structs.replace(future, snapshot=changed))
    notes = [skipped.note(inputs.skipped)] if inputs.skipped else []
    return Answer(_text(question, looks), (*desk.notes, *notes))


def _left_to_others(inputs: Inputs, made: Snapshot, scheduler: str) -> list[str]:
    """Whoever asks what becomes of a file wants to know that this is nobody's business here."""
    found = []
    for item in inputs.items:
        obj = item.object
        gang = made.gangs.get(f"{obj.kind}/{obj.metadata.namespace}/{obj.metadata.name}")
        if item.document is not CLUSTER and gang is not None and not gang.managed:
            fix = f"its pods do not say schedulerName: {scheduler}"
            found.append(f"{item.document.source}: {obj.title}: left to other schedulers; {fix}")
    return found


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
