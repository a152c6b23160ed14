"""Pieces of a stream into its lines, however the pieces were cut and however long a line is."""

from collections.abc import AsyncIterator


async def lines(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Lines without their ends, empty ones left out. What follows the last line end is not a line."""
    begun: list[bytes] = []  # joined once, at the line's end: a long line costs no more than its length
    async for piece in pieces:
        if b"\n" not in piece:
            begun.append(piece)
            continue
        first, *rest = piece.split(b"\n")
        if begun:
            first = b"".join([*begun, first])
        begun = [rest.pop()]
        if first:
            yield first
        for line in rest:
            if line:
                yield line
