"""How seats are written down."""

import pytest
from msgspec.structs import replace

from tests.decide.builders import queued
from tests.objects.documents import Document, pod
from understudy.control.holding import LONGEST_NOTE, is_seatable, seats_note, wants_a_seat
from understudy.kinds.decoding import decode
from understudy.model.gangs import Gang
from understudy.objects.pods import Pod


def placed(gang: Gang) -> Gang:
    """The same gang, with pods that fill places of lasting names."""
    islands = [
        replace(island, members=tuple(replace(m, name=f"{m.name}-x7k2p", place=m.name) for m in island.members))
        for island in gang.islands
    ]
    return replace(gang, islands=tuple(islands))


def test_seats_go_by_places_since_pods_come_and_go() -> None:
    gang = placed(queued("g", members=2))
    assert seats_note(gang, {"g-1-x7k2p": "b", "g-0-x7k2p": "a"}) == "g-0=a,g-1=b"


def test_seats_of_pods_that_fill_any_place_go_by_the_pods() -> None:
    assert seats_note(queued("g", members=1), {"g-0": "a", "g-9": "b"}) == "g-0=a,g-9=b"


@pytest.mark.parametrize(
    ("document", "seatable", "wants"),
    [
        (pod("p"), True, True),
        (pod("p", "n"), False, False),
        (pod("p", status={"phase": "Failed"}), False, False),
        (pod("p", schedulingGates=[{"name": "kueue.x-k8s.io/topology"}]), False, True),
    ],
)
def test_who_can_be_seated(document: Document, seatable: bool, wants: bool) -> None:
    found = decode(document)
    assert isinstance(found, Pod)
    assert (is_seatable(found), wants_a_seat(found)) == (seatable, wants)


def test_nothing_is_written_where_there_is_nothing_to_write_or_too_much() -> None:
    count = LONGEST_NOTE // 8
    assert seats_note(queued("g"), {}) is None
    assert seats_note(queued("g", members=count), {f"g-{i}": "node" for i in range(count)}) is None
