"""What-if questions: parses them, applies them to a snapshot, and says how two plans differ."""

from collections.abc import Iterable
from typing import assert_never

import msgspec

from understudy.cli.errors import BadInput, suggestion
from understudy.cli.input.times import parse_time
from understudy.cli.queries.names import check_node_name, find_gang
from understudy.decide.describe import describe
from understudy.model.nodes import Health, Node, Verdict
from understudy.model.plans import Action, Hold, Plan, Wait
from understudy.model.snapshot import Snapshot

OPTION = "--what-if"


class WhatIfFail(msgspec.Struct, frozen=True):
    node: str


class WhatIfDrain(msgspec.Struct, frozen=True):
    node: str
    deadline: float


class WhatIfAdd(msgspec.Struct, frozen=True):
    path: str


class WhatIfRemove(msgspec.Struct, frozen=True):
    gang: str


Change = WhatIfFail | WhatIfDrain | WhatIfAdd | WhatIfRemove
FORMS = {
    "fail-node": "fail-node=NAME[,NAME...]",
    "drain": "drain=NODE@DEADLINE",
    "add": "add=FILE",
    "remove": "remove=GANG",
}


def parse_changes(texts: Iterable[str], now: float) -> list[Change]:
    return [change for text in texts for change in _parse_change(text, now)]


def _parse_change(text: str, now: float) -> list[Change]:
    verb, equals, rest = text.partition("=")
    if verb not in FORMS:
        raise BadInput(f"{OPTION} {text}: {suggestion(verb, FORMS, 'the changes are')}")
    if not equals or not rest:
        raise BadInput(f"{OPTION} {text}: write {FORMS[verb]}")
    match verb:
        case "fail-node":
            return [WhatIfFail(name.strip()) for name in rest.split(",") if name.strip()]
        case "drain":
            return [_drain(text, rest, now)]
        case "add":
            return [WhatIfAdd(rest)]
        case _:
            return [WhatIfRemove(rest)]


def _drain(text: str, rest: str, now: float) -> WhatIfDrain:
    node, at, deadline = rest.rpartition("@")
    if not at or not node:
        raise BadInput(f"{OPTION} {text}: when? write drain=NODE@DEADLINE, such as drain={rest.strip('@')}@+5m")
    return WhatIfDrain(node, parse_time(deadline, f"{OPTION} {text}", now))


def apply_changes(snapshot: Snapshot, wanted: Iterable[Change], now: float) -> Snapshot:
    """The snapshot with every change in it. Objects named by `Add` were read into the snapshot already."""
    for change in wanted:
        match change:
            case WhatIfFail(name):
                snapshot = _with_health(snapshot, name, Health(Verdict.LOST, "what if it failed", since=now))
            case WhatIfDrain(name, deadline):
                health = Health(Verdict.LEAVING, "what if it were drained", since=now, deadline=deadline)
                snapshot = _with_health(snapshot, name, health)
            case WhatIfRemove(name):
                snapshot = snapshot.updated(gone_gangs=[find_gang(name, snapshot.gangs, f"{OPTION} remove={name}")])
            case WhatIfAdd():
                pass
            case _:
                assert_never(change)
    return snapshot


def _with_health(snapshot: Snapshot, name: str, health: Health) -> Snapshot:
    verb = "drain" if health.verdict is Verdict.LEAVING else "fail-node"
    node: Node = snapshot.nodes[check_node_name(name, snapshot.nodes, f"{OPTION} {verb}={name}")].node
    return snapshot.updated(nodes=[msgspec.structs.replace(node, health=health)])


def differences(before: Plan, after: Plan) -> list[str]:
    """A sentence for each action only one of the plans has."""
    added = [f"after: {describe(action)}" for action in after.actions if action not in before.actions]
    dropped = [action for action in before.actions if action not in after.actions]
    return added + [f"no longer: {describe(action)}" for action in dropped if not _superseded(action, after)]


def _superseded(action: Action, after: Plan) -> bool:
    """Whether the later plan has another action for the same gang, which replaces this one."""
    of_gang = [other for other in after.actions if other.gang == action.gang]
    return any(type(other) is type(action) for other in of_gang) or (isinstance(action, Wait | Hold) and bool(of_gang))
