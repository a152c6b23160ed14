"""Questions of the form "what if": parses them, and turns a snapshot into the one in which they have come true."""

from collections.abc import Iterable
from typing import assert_never

import msgspec

from understudy.cli.complaint import BadInput, suggestion
from understudy.cli.moments import moment
from understudy.cli.names import gang_named, node_named
from understudy.model.nodes import Health, Node, Verdict
from understudy.model.snapshot import Snapshot

OPTION = "--what-if"


class FailNode(msgspec.Struct, frozen=True):
    node: str


class Drain(msgspec.Struct, frozen=True):
    node: str
    deadline: float


class Add(msgspec.Struct, frozen=True):
    path: str


class Remove(msgspec.Struct, frozen=True):
    gang: str


Change = FailNode | Drain | Add | Remove
FORMS = {
    "fail-node": "fail-node=NAME[,NAME...]",
    "drain": "drain=NODE@DEADLINE",
    "add": "add=FILE",
    "remove": "remove=GANG",
}


def changes(texts: Iterable[str], now: float) -> list[Change]:
    return [change for text in texts for change in _changes(text, now)]


def _changes(text: str, now: float) -> list[Change]:
    verb, equals, rest = text.partition("=")
    if verb not in FORMS:
        raise BadInput(f"{OPTION} {text}: {suggestion(verb, FORMS, 'the changes are')}")
    if not equals or not rest:
        raise BadInput(f"{OPTION} {text}: write {FORMS[verb]}")
    match verb:
        case "fail-node":
            return [FailNode(name.strip()) for name in rest.split(",") if name.strip()]
        case "drain":
            return [_drain(text, rest, now)]
        case "add":
            return [Add(rest)]
        case _:
            return [Remove(rest)]


def _drain(text: str, rest: str, now: float) -> Drain:
    node, at, deadline = rest.rpartition("@")
    if not at or not node:
        raise BadInput(f"{OPTION} {text}: when? write drain=NODE@DEADLINE, such as drain={rest.strip('@')}@+5m")
    return Drain(node, moment(deadline, f"{OPTION} {text}", now))


def changed(snapshot: Snapshot, wanted: Iterable[Change], now: float) -> Snapshot:
    """The snapshot with every change in it. What `Add` names was read into the snapshot already."""
    for change in wanted:
        match change:
            case FailNode(name):
                snapshot = _ailing(snapshot, name, Health(Verdict.LOST, "what if it failed", since=now))
            case Drain(name, deadline):
                health = Health(Verdict.LEAVING, "what if it were drained", since=now, deadline=deadline)
                snapshot = _ailing(snapshot, name, health)
            case Remove(name):
                snapshot = snapshot.updated(gone_gangs=[gang_named(name, snapshot.gangs, f"{OPTION} remove={name}")])
            case Add():
                pass
            case _:
                assert_never(change)
    return snapshot


def _ailing(snapshot: Snapshot, name: str, health: Health) -> Snapshot:
    verb = "drain" if health.verdict is Verdict.LEAVING else "fail-node"
    node: Node = snapshot.nodes[node_named(name, snapshot.nodes, f"{OPTION} {verb}={name}")].node
    return snapshot.updated(nodes=[msgspec.structs.replace(node, health=health)])
