"""Places are filled as a scan of all places for every pod would fill them, with one look at the places."""

from collections import deque
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kinds.gangs import context_of
from tests.objects.documents import pod
from understudy.kinds.decoding import decode
from understudy.kinds.gang_ref import GangRef
from understudy.kinds.gangs import slots
from understudy.kinds.gangs.slots import GangSlot, slots_of
from understudy.kinds.observed_pod import ObservedPod, observe_pod
from understudy.kinds.outline import GangOutline, RoleOutline
from understudy.objects.pods import PodSpec, PodTemplate

CONTEXT = context_of()


def observed(name: str, island: str, slot: str = "") -> ObservedPod:
    found: Any = decode(pod(name))
    return observe_pod(found, GangRef("Job/default/j", "Job", "default", "j", island, slot), CONTEXT)


def outline(**places: int) -> GangOutline:
    template = PodTemplate(spec=PodSpec(()))
    roles = (
        RoleOutline(island, tuple(f"{island}-{index}" for index in range(count)), template, "spec")
        for island, count in places.items()
    )
    return GangOutline(tuple(roles))


def filled(places: dict[str, list[GangSlot]]) -> dict[str, list[tuple[str, str]]]:
    """By island: each place, and the pod in it."""
    return {
        island: [(place.slot, place.sighting.member.name if place.sighting else "") for place in there]
        for island, there in places.items()
    }


def by_scanning(wanted: dict[str, int], pods: list[ObservedPod]) -> dict[str, list[tuple[str, str]]]:
    """Pods whose slot is in the outline come first, then the others, in the order of their islands and names."""
    places = {island: [[f"{island}-{index}", ""] for index in range(count)] for island, count in wanted.items()}
    rest = []
    for each in pods:
        own = next((p for p in places.get(each.ref.island, ()) if p[0] == each.ref.slot), None)
        if own is not None and not own[1]:
            own[1] = each.member.name
        else:
            rest.append(each)
    for each in sorted(rest, key=lambda p: (p.ref.island, p.ref.slot, p.member.name)):
        there = places.setdefault(each.ref.island, [])
        free = [place for place in there if not place[1]]
        if free and not each.ref.slot:
            free[0][1] = each.member.name
            continue
        if free:
            there.remove(free[-1])
        there.append([each.ref.slot or each.member.name, each.member.name])
    return {island: [(slot, name) for slot, name in there] for island, there in places.items()}


PODS = st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(["", "a-0", "a-1", "b-0", "z-8", "z-9"])), max_size=6)


@given(st.fixed_dictionaries({"a": st.integers(0, 3), "b": st.integers(0, 2)}), PODS)
def test_pods_outside_the_outline_take_places_in_order(
    wanted: dict[str, int], given_pods: list[tuple[str, str]]
) -> None:
    chosen = {slot: island for island, slot in given_pods if slot}  # a slot is in one island
    chosen |= {slot: slot[0] for slot in chosen if slot[0] in "ab"}
    pods = [observed(f"p{n}", chosen.get(slot, island), slot) for n, (island, slot) in enumerate(given_pods)]
    assert filled(slots_of(outline(**wanted), pods, set())) == by_scanning(wanted, pods)


def test_the_places_of_an_island_are_looked_through_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[object] = []

    def counted(places: Any) -> deque[GangSlot]:
        looks.append(None)
        return deque(places)

    monkeypatch.setattr(slots, "deque", counted)
    pods = [observed(f"p{number}", "a") for number in range(200)]
    assert len(slots_of(outline(a=100), pods, set())["a"]) == 200
    assert len(looks) == 1
