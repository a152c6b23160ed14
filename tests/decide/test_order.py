"""Classes of gangs of which one fits if and only if the other does."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.decide.builders import queued, shape
from understudy.decide.gang_needs import needs
from understudy.decide.order import equivalence_class
from understudy.model.gangs import Gang, Island, Member

SHAPES = (shape(gpus=1), shape(gpus=2))
MEMBERS = st.lists(st.tuples(st.integers(0, 1), st.sampled_from(["", "a"])), min_size=1, max_size=6)


def gang_of(members: list[tuple[int, str]], name: str) -> Gang:
    island = Island("i", tuple(Member(f"{name}-{n}", SHAPES[at], node=node) for n, (at, node) in enumerate(members)))
    return replace(queued(name), islands=(island,))


@given(MEMBERS, MEMBERS)
def test_gangs_are_alike_when_their_members_are_in_this_order(
    one: list[tuple[int, str]], other: list[tuple[int, str]]
) -> None:
    alike = equivalence_class(gang_of(one, "x")) == equivalence_class(gang_of(other, "y"))
    assert alike is (one == other)


def test_the_class_of_a_huge_gang_is_short() -> None:
    few, many = gang_of([(0, "")] * 2, "x"), gang_of([(0, "")] * 5000, "y")
    assert len(repr(equivalence_class(many))) <= len(repr(equivalence_class(few))) + 10


def test_what_a_gang_needs_counts_equal_amounts_together() -> None:
    apart = (shape(gpus=1), shape(gpus=1, host_ports=()))  # two objects
    members = tuple(Member(f"m{n}", apart[n % 2]) for n in range(4))
    assert needs(replace(queued("x"), islands=(Island("i", members),))) == "4 pods with 1 nvidia.com/gpu each"
