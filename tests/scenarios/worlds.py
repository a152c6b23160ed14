"""What a world must implement to run scenarios, and the state it shows."""

from collections.abc import Iterable
from typing import Protocol

import msgspec

from understudy.decide.describe import describe
from understudy.model.gangs import Gang
from understudy.model.plans import Plan, Wait
from understudy.model.snapshot import Snapshot


class Waiting(msgspec.Struct, frozen=True):
    code: str
    words: str


class Swapped(msgspec.Struct, frozen=True):
    job: str
    member: str
    to_node: str
    source: str


class WorldState(msgspec.Struct, frozen=True):
    """The state of a world at rest. Jobs go by name, members by slot, which outlives the pod."""

    seats: dict[str, dict[str, str]]  # job -> member -> node
    least: dict[str, int]  # job -> how many seats it needs to run
    holds: dict[str, dict[str, str]]
    waiting: dict[str, Waiting]
    ended: frozenset[str]
    labels: dict[str, dict[str, str]]  # of the nodes
    victims: tuple[tuple[str, str], ...]  # (victim, preemptor), all since the beginning
    swaps: tuple[Swapped, ...]
    plans: int  # that changed anything, since the beginning
    asked: frozenset[str] = frozenset()  # jobs all of whose pods are asked to save a checkpoint


class World(Protocol):
    """Every event is one fact. `settle` lets all parts act until nothing changes."""

    def happen(self, event: str, name: str) -> None:
        """One of the events of a Step: submit, fail …, with the job or node it is about."""

    def leave(self, node: str, seconds: float) -> None: ...

    def notice(self, node: str, seconds: float) -> None: ...

    def wait(self, seconds: float) -> None: ...

    def settle(self) -> None: ...

    def see(self) -> WorldState: ...


class History(msgspec.Struct):
    """What was done, as far as the world can tell."""

    victims: list[tuple[str, str]] = []
    swaps: list[Swapped] = []


def world_state(snapshot: Snapshot, plan: Plan, history: History, ended: Iterable[str]) -> WorldState:
    """The state according to the objects; `plan` has the reasons of waiting jobs."""
    gangs = snapshot.gangs.values()
    return WorldState(
        seats={gang.name: {m.place or m.name: m.node for m in gang.seated()} for gang in gangs},
        least={gang.name: gang.minimum for gang in gangs},
        holds={gang.name: {place_of(gang, name): node for name, node in gang.holds} for gang in gangs},
        waiting={name_of(wait.gang): _waiting(wait) for wait in plan.actions if isinstance(wait, Wait)},
        asked=frozenset(gang.name for gang in gangs if all_are_asked(gang)),
        ended=frozenset(ended),
        labels={name: dict(room.node.labels) for name, room in snapshot.nodes.items()},
        victims=tuple(history.victims),
        swaps=tuple(history.swaps),
        plans=0,
    )


def all_are_asked(gang: Gang) -> bool:
    names = {m.name for m in gang.seated()}
    return bool(names) and names == {name for name, _ in gang.checkpoint_requests}


def name_of(key: str) -> str:
    return key.rpartition("/")[2]


def place_of(gang: Gang, member: str) -> str:
    return next((m.place or m.name for m in gang.members() if m.name == member), member)


def _waiting(wait: Wait) -> Waiting:
    holders = ", ".join(f"{h.gang} {h.keeps}" for h in wait.reason.holders)
    return Waiting(wait.reason.code, f"{describe(wait)}; {holders}")
