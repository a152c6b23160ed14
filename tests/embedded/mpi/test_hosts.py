"""Hosts with slots into ranks."""

import pytest

from understudy.embedded.mpi.hosts import MpiHost, chosen_hosts, place_ranks, read_host_file
from understudy.embedded.mpi.options import BadOptions, Options

A, B = MpiHost("a", 2), MpiHost("b", 2)
HERE = MpiHost("localhost", 8)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a slots=2\nb slots=1\n", [("a", 2), ("b", 1)]),
        ("a slots = 2 max_slots=4\n", [("a", 2)]),
        ("a\nb\na\n", [("a", 2), ("b", 1)]),
        ("a:3\nb:1\n", [("a", 3), ("b", 1)]),
        ("# none\n\na slots=1 # one\n", [("a", 1)]),
        ("a slots=0\n", [("a", 0)]),
        ("", []),
    ],
)
def test_host_files(text: str, expected: list[tuple[str, int]]) -> None:
    assert read_host_file(text) == [MpiHost(*each) for each in expected]


@pytest.mark.parametrize(
    ("hosts", "listed", "expected"),
    [
        ((), [A, B], [A, B]),
        ((), [MpiHost("a", 0), B], [B]),
        ((), [], [HERE]),
        (("b",), [A, B], [B]),
        (("b:1",), [A, B], [MpiHost("b", 1)]),
        (("c", "c", "d:3"), [A], [MpiHost("c", 2), MpiHost("d", 3)]),
    ],
)
def test_chosen_hosts(hosts: tuple[str, ...], listed: list[MpiHost], expected: list[MpiHost]) -> None:
    assert chosen_hosts(Options(hosts=hosts), listed, HERE) == expected


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (Options(), "a a b b"),
        (Options(processes=3), "a a b"),
        (Options(processes=1), "a"),
        (Options(by_node=True), "a b a b"),
        (Options(processes=3, by_node=True), "a b a"),
        (Options(per_node=1), "a b"),
        (Options(per_node=2, processes=3), "a a b"),
        (Options(processes=6, oversubscribe=True), "a a a a b b"),
        (Options(per_node=3, oversubscribe=True), "a a a b b b"),
    ],
)
def test_placement_of_ranks(options: Options, expected: str) -> None:
    assert [rank.host for rank in place_ranks(options, [A, B])] == expected.split()


def test_variables_of_a_rank() -> None:
    last = place_ranks(Options(processes=3), [A, B])[-1]
    assert last.variables == {
        "OMPI_COMM_WORLD_RANK": "2",
        "OMPI_COMM_WORLD_SIZE": "3",
        "OMPI_COMM_WORLD_LOCAL_RANK": "0",
        "OMPI_COMM_WORLD_LOCAL_SIZE": "1",
        "OMPI_COMM_WORLD_NODE_RANK": "0",
        "OMPI_UNIVERSE_SIZE": "4",
    }


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (Options(processes=5), "-np 5 is more than the 4 slots of 2 hosts"),
        (Options(per_node=3), "3 processes a node are more than the 2 slots of a"),
    ],
)
def test_more_processes_than_slots_are_refused(options: Options, words: str) -> None:
    with pytest.raises(BadOptions, match=words):
        place_ranks(options, [A, B])


def test_a_host_with_invalid_slots_is_refused() -> None:
    with pytest.raises(BadOptions, match="host 'a:x'"):
        chosen_hosts(Options(hosts=("a:x",)), [], HERE)
