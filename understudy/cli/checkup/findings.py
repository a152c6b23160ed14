"""What a check says: a sentence, how bad it is, and what to do about it."""

import enum

import msgspec


class Level(enum.StrEnum):
    WELL = "well"
    NOTE = "note"  # good to know, nothing to do
    CARE = "care"  # something will not work that people may miss
    WRONG = "wrong"


class Finding(msgspec.Struct, frozen=True):
    level: Level
    text: str
    fix: str = ""


class Section(msgspec.Struct, frozen=True):
    title: str
    findings: tuple[Finding, ...]


def well(text: str) -> Finding:
    return Finding(Level.WELL, text)


def note(text: str, fix: str = "") -> Finding:
    return Finding(Level.NOTE, text, fix)


def care(text: str, fix: str = "") -> Finding:
    return Finding(Level.CARE, text, fix)


def wrong(text: str, fix: str) -> Finding:
    return Finding(Level.WRONG, text, fix)


def named(names: list[str], most: int = 5) -> str:
    """`a, b, c and 9 more`."""
    shown = ", ".join(names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def counted(number: int, noun: str) -> str:
    """`1 node`, `2 nodes`; the plural of all that is counted here ends in s."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
