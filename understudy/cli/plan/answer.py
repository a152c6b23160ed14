"""Answers one `understudy plan`: files, and the objects of a cluster, into the text or the figures that are printed."""

import gc
import sys
from collections.abc import Iterable
from typing import Any

import msgspec

from understudy.cli.input import documents
from understudy.cli.input.settings import Settings
from understudy.cli.input.settings import read as read_settings
from understudy.cli.input.snapshots import (
    CLUSTER,
    InputObjects,
    decode_documents,
    from_cluster,
    ignored_note,
    merge_inputs,
    snapshot_of_cluster,
    snapshot_of_files,
    with_namespace,
)
from understudy.cli.input.times import rfc3339
from understudy.cli.output.formats import dump
from understudy.cli.output.terminal import Painter
from understudy.cli.plan.text import PlanContext, plan_text, screen_width, story_text
from understudy.cli.plan.what_if import WhatIfAdd, apply_changes, differences, parse_changes
from understudy.cli.queries.names import find_gang
from understudy.cli.queries.scheduler_state import SchedulerObjects
from understudy.decide.cycle import plan
from understudy.decide.describe import describe
from understudy.decide.gang_report import GangReport, gang_report
from understudy.decide.prices import SeatsPrice, price_of_new_seats
from understudy.model.gangs import Gang
from understudy.model.plans import Action, Plan
from understudy.model.snapshot import Snapshot


class PlanRequest(msgspec.Struct, frozen=True):
    """What the user asked for, as read from the command line."""

    files: tuple[str, ...]
    now: float
    form: str = "text"
    explain: str | None = None
    what_if: tuple[str, ...] = ()
    settings: str | None = None
    scheduler: str = ""


class LiveCluster(msgspec.Struct, frozen=True):
    """The objects read from a cluster, and the settings its scheduler is taken to use."""

    survey: SchedulerObjects
    settings: Settings
    namespace: str = "default"  # of objects in files that name none


class PlanOutput(msgspec.Struct, frozen=True):
    text: str
    notes: tuple[str, ...] = ()


class Planning(msgspec.Struct, frozen=True):
    """A snapshot, and the plan made from it."""

    snapshot: Snapshot
    settings: Settings
    now: float

    def plan(self) -> Plan:
        return plan(self.snapshot, self.settings.policy, self.now)

    def price(self, action: Action) -> SeatsPrice | None:
        return price_of_new_seats(self.snapshot, self.settings.policy, action)

    def story(self, key: str) -> GangReport:
        return gang_report(self.snapshot, self.settings.policy, self.now, key)


def answer_request(request: PlanRequest, live: LiveCluster | None = None) -> PlanOutput:
    """All that is read stays to the end: collecting garbage would walk it again and again, for half the time spent."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        return _answer(request, _SnapshotMaker(request, live))
    finally:
        if collecting:
            gc.enable()


class _SnapshotMaker:
    """Turns objects into snapshots: from files alone, or from files on top of a live cluster."""

    def __init__(self, request: PlanRequest, live: LiveCluster | None) -> None:
        self._request = request
        self._live = live
        self.settings = live.settings if live is not None else read_settings(request.settings)
        self.notes = list(live.survey.notes) if live is not None else []

    def inputs(self) -> InputObjects:
        if self._live is None:
            return self.read(self._request.files)
        seen = from_cluster(self._live.survey.objects)
        return merge_inputs(seen, self.read(self._request.files)) if self._request.files else seen

    def read(self, files: Iterable[str]) -> InputObjects:
        found = documents.read(files)
        return decode_documents(found if self._live is None else with_namespace(found, self._live.namespace))

    def planning(self, inputs: InputObjects) -> "Planning":
        request, settings = self._request, self.settings
        if self._live is None:
            made = snapshot_of_files(inputs, settings, request.scheduler, request.now)
        else:
            made, notes = snapshot_of_cluster(inputs, settings, request.scheduler, request.now)
            notes += _unmanaged_notes(inputs, made, request.scheduler)
            self.notes += [note for note in notes if note not in self.notes]
        return Planning(made, settings, request.now)


def _answer(request: PlanRequest, maker: _SnapshotMaker) -> PlanOutput:
    changes = parse_changes(request.what_if, request.now)
    inputs = maker.inputs()
    plannings = [maker.planning(inputs)]
    if changes:
        paths = [change.path for change in changes if isinstance(change, WhatIfAdd)]
        inputs = merge_inputs(inputs, maker.read(paths)) if paths else inputs
        future = maker.planning(inputs)
        changed = apply_changes(future.snapshot, changes, request.now)
        plannings.append(msgspec.structs.replace(future, snapshot=changed))
    notes = [ignored_note(inputs.skipped)] if inputs.skipped else []
    return PlanOutput(_output(request, plannings), (*maker.notes, *notes))


def _unmanaged_notes(inputs: InputObjects, made: Snapshot, scheduler: str) -> list[str]:
    """A note for each job of the files that another scheduler would place."""
    found = []
    for item in inputs.items:
        obj = item.object
        gang = made.gangs.get(f"{obj.kind}/{obj.metadata.namespace}/{obj.metadata.name}")
        if item.document is not CLUSTER and gang is not None and not gang.managed:
            fix = f"its pods do not say schedulerName: {scheduler}"
            found.append(f"{item.document.source}: {obj.title}: left to other schedulers; {fix}")
    return found


def _output(request: PlanRequest, plannings: list[Planning]) -> str:
    make_answer = _explained if request.explain is not None else _planned
    return make_answer(request, plannings)


def _planned(request: PlanRequest, plannings: list[Planning]) -> str:
    plans = [look.plan() for look in plannings]
    if request.form != "text":
        values = [plan_figures(plan, look) for plan, look in zip(plans, plannings, strict=True)]
        return dump(_before_and_after(values), request.form)
    texts = [plan_text(plan, _context(look)) for plan, look in zip(plans, plannings, strict=True)]
    if len(plans) == 1:
        return texts[0]
    return _compared(request, texts) + _difference_text(differences(*plans))


def _explained(request: PlanRequest, plannings: list[Planning]) -> str:
    everyone = {key for look in plannings for key in look.snapshot.gangs}
    key = find_gang(request.explain or "", everyone, "--explain")
    if request.form != "text":
        values = [story_figures(look.story(key)) if key in look.snapshot.gangs else None for look in plannings]
        return dump(_before_and_after(values), request.form)
    texts = [_story_text(look, key) for look in plannings]
    return texts[0] if len(texts) == 1 else _compared(request, texts)


def _story_text(look: Planning, key: str) -> str:
    if key not in look.snapshot.gangs:
        return f"{key} is not there.\n"
    return story_text(look.story(key), _context(look))


def _before_and_after(values: list[Any]) -> Any:
    return values[0] if len(values) == 1 else {"before": values[0], "after": values[1]}


def _compared(request: PlanRequest, texts: list[str]) -> str:
    paint = Painter.on(sys.stdout)
    after = paint(f"After {', '.join(request.what_if)}", "bold")
    return f"{paint('Before', 'bold')}\n{texts[0]}\n{after}\n{texts[1]}"


def _difference_text(changes: list[str]) -> str:
    paint = Painter.on(sys.stdout)
    return "\n".join(["", paint("What differs", "bold"), *(f"  {change}" for change in changes or ["nothing"]), ""])


def _context(look: Planning) -> PlanContext:
    return PlanContext(look.snapshot.gangs, look.now, Painter.on(sys.stdout), screen_width(), look.price)


def plan_figures(plan: Plan, look: Planning) -> dict[str, Any]:
    """The keys are a promise to scripts; docs/reference/cli.md lists them."""
    gangs = look.snapshot.gangs
    actions = [_action(action, look.price(action)) for action in plan.actions]
    spoken_of = sorted({key for action in plan.actions for key in _gangs_in(action)})
    return {
        "now": rfc3339(look.now),
        "actions": actions,
        "recheck_at": plan.recheck_at,
        "gangs": {key: _gang(gangs[key]) for key in spoken_of if key in gangs},
    }


def story_figures(story: GangReport) -> dict[str, Any]:
    made: dict[str, Any] = msgspec.to_builtins(story)
    return {**made, "actions": [_action(action) for action in story.actions]}


def _action(action: Action, price: SeatsPrice | None = None) -> dict[str, Any]:
    made: dict[str, Any] = msgspec.to_builtins(action)
    cost = {"price_per_hour": price.per_hour, "seats_without_price": price.unknown} if price is not None else {}
    return {**made, **cost, "says": describe(action)}


def _gangs_in(action: Action) -> list[str]:
    others: tuple[str, ...] = getattr(action, "waits_for", ())
    by: str = getattr(action, "by", "")
    reason = getattr(action, "reason", None)
    holders = [holder.gang for holder in reason.holders] if reason else []
    return [action.gang, *others, *holders, *([by] if by else [])]


def _gang(gang: Gang) -> dict[str, object]:
    return {"title": gang.title, "priority": gang.priority, "members": gang.size, "minimum": gang.minimum}
