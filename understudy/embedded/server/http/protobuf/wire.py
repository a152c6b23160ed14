"""Protobuf's wire format: bytes into numbered fields."""

from collections.abc import Iterator

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_LONGEST_VARINT = 10


class Malformed(ValueError):
    """The bytes are no protobuf message."""


def fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Each field as its number and what it holds: a whole number, or bytes whose type the caller knows."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        value: int | bytes
        match tag & 7:
            case 0:
                value, at = _varint(message, at)
            case 1:
                value, at = _bytes(message, at, 8)
            case 2:
                length, at = _varint(message, at)
                value, at = _bytes(message, at, length)
            case 5:
                value, at = _bytes(message, at, 4)
            case other:
                raise Malformed(f"there is no wire type {other}")
        yield tag >> 3, value


def signed(value: int) -> int:
    """Negative numbers are written as their two's complement in 64 bits."""
    return value - (1 << 64) if value >= 1 << 63 else value


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = 0
    for place in range(_LONGEST_VARINT):
        if at + place >= len(message):
            break
        byte = message[at + place]
        value |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return value & (1 << 64) - 1, at + place + 1
    raise Malformed("a number does not end")


def _bytes(message: bytes, at: int, length: int) -> tuple[bytes, int]:
    if at + length > len(message):
        raise Malformed("a field is longer than its message")
    return message[at : at + length], at + length
