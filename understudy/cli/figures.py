"""Turns a plan into the JSON and YAML that programs read: its actions, each with its sentence, and its gangs."""

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from understudy.cli.moments import rfc3339
from understudy.decide.describe import describe
from understudy.decide.gang_report import GangReport
from understudy.model.gangs import Gang
from understudy.model.plans import Action, Plan


def figures(plan: Plan, gangs: Mapping[str, Gang], now: float) -> dict[str, Any]:
    """The keys are a promise to scripts; docs/reference/cli.md lists them."""
    actions = [_action(action) for action in plan.actions]
    spoken_of = sorted({key for action in plan.actions for key in _gangs_in(action)})
    return {
        "now": rfc3339(now),
        "actions": actions,
        "recheck_at": plan.recheck_at,
        "gangs": {key: _gang(gangs[key]) for key in spoken_of if key in gangs},
    }


def story_figures(story: GangReport) -> dict[str, Any]:
    made: dict[str, Any] = msgspec.to_builtins(story)
    return {**made, "actions": [_action(action) for action in story.actions]}


def dumped(value: object, form: str) -> str:
    if form == "json":
        return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    import yaml

    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    text: str = yaml.dump(value, Dumper=dumper, sort_keys=False, allow_unicode=True, width=120)
    return text


def _action(action: Action) -> dict[str, Any]:
    made: dict[str, Any] = msgspec.to_builtins(action)
    return {**made, "says": describe(action)}


def _gangs_in(action: Action) -> list[str]:
    others: tuple[str, ...] = getattr(action, "waits_for", ())
    by: str = getattr(action, "by", "")
    reason = getattr(action, "reason", None)
    holders = [holder.gang for holder in reason.holders] if reason else []
    return [action.gang, *others, *holders, *([by] if by else [])]


def _gang(gang: Gang) -> dict[str, object]:
    return {"title": gang.title, "priority": gang.priority, "members": gang.size, "minimum": gang.minimum}
