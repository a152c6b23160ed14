"""Lines come out the same however the stream was cut."""

import asyncio
from collections.abc import AsyncIterator

from hypothesis import given
from hypothesis import strategies as st

from understudy.client.connection import split_lines


def split(pieces: list[bytes]) -> list[bytes]:
    async def stream() -> AsyncIterator[bytes]:
        for piece in pieces:
            yield piece

    async def run() -> list[bytes]:
        return [line async for line in split_lines(stream())]

    return asyncio.run(run())


@given(st.lists(st.text("ab\n", max_size=6), max_size=12))
def test_cuts_do_not_matter(pieces: list[str]) -> None:
    whole = "".join(pieces)
    ended = whole[: whole.rfind("\n") + 1]
    assert split([piece.encode() for piece in pieces]) == [line.encode() for line in ended.split("\n") if line]


def test_what_has_no_end_is_not_told() -> None:
    assert split([b'{"a":1}\n{"b"', b":2"]) == [b'{"a":1}']


def test_a_long_line_in_small_pieces() -> None:
    assert split([b"x" * 1000] * 5000 + [b"\n"]) == [b"x" * 5_000_000]
