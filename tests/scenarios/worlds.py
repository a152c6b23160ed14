"""What a world has to offer so that scenarios can run in it, and what it lets be seen."""

from typing import Protocol

import msgspec


class Waiting(msgspec.Struct, frozen=True):
    code: str
    words: str


class Swapped(msgspec.Struct, frozen=True):
    job: str
    member: str
    to_node: str
    source: str


class Sight(msgspec.Struct, frozen=True):
    """The world at rest. Jobs go by their names, members by their places, which outlive their pods."""

    seats: dict[str, dict[str, str]]  # job -> member -> node
    least: dict[str, int]  # job -> how many seats it needs to run
    holds: dict[str, dict[str, str]]
    waiting: dict[str, Waiting]
    ended: frozenset[str]
    labels: dict[str, dict[str, str]]  # of the nodes
    victims: tuple[tuple[str, str], ...]  # (victim, preemptor), all since the beginning
    swaps: tuple[Swapped, ...]
    plans: int  # that changed anything, since the beginning


class World(Protocol):
    """Every event is one fact. `settle` lets everybody act until nothing changes."""

    def happen(self, event: str, name: str) -> None:
        """One of the events of a Step: submit, fail …, with the job or node it is about."""

    def leave(self, node: str, seconds: float) -> None: ...

    def wait(self, seconds: float) -> None: ...

    def settle(self) -> None: ...

    def see(self) -> Sight: ...
