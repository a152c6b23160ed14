"""Findings of checks: a sentence, a level and a fix each; as lines for people and figures for programs."""

import enum
from collections.abc import Sequence
from typing import Any

import msgspec

from understudy.cli.output.terminal import Painter


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
    """A list of names as words: `a, b, c and 9 more`."""
    shown = ", ".join(names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def counted(number: int, noun: str) -> str:
    """`1 node`, `2 nodes`; the plural of all that is counted here ends in s."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


_MARKS = {
    Level.WELL: ("✓", "green"),
    Level.NOTE: ("·", "faint"),
    Level.CARE: ("!", "yellow"),
    Level.WRONG: ("✗", "red"),
}


def report_lines(sections: Sequence[Section], paint: Painter) -> list[str]:
    lines: list[str] = []
    for section in sections:
        lines += [
            paint(section.title, "bold"),
            *(line for one in section.findings for line in _finding_lines(one, paint)),
            "",
        ]
    return [*lines, _verdict(sections)]


def _finding_lines(finding: Finding, paint: Painter) -> list[str]:
    mark, colour = _MARKS[finding.level]
    fix = [f"      {paint('→', 'cyan')} {finding.fix}"] if finding.fix else []
    return [f"  {paint(mark, colour)} {finding.text}", *fix]


def all_well(sections: Sequence[Section]) -> bool:
    return not _count(sections, Level.WRONG)


def _count(sections: Sequence[Section], level: Level) -> int:
    return sum(one.level is level for section in sections for one in section.findings)


def _verdict(sections: Sequence[Section]) -> str:
    bad, careful = _count(sections, Level.WRONG), _count(sections, Level.CARE)
    minding = f"{careful} to mind (!)" if careful else ""
    if bad:
        return f"{bad} wrong (✗){f', {minding}' if minding else ''}"
    return f"all well{f', {minding}' if minding else ''}"


def report_figures(sections: Sequence[Section]) -> dict[str, Any]:
    """The keys are a promise to scripts; docs/reference/cli.md lists them."""
    return {
        "well": all_well(sections),
        "sections": [
            {
                "title": section.title,
                "findings": [{"level": one.level.value, "text": one.text, "fix": one.fix} for one in section.findings],
            }
            for section in sections
        ],
    }
