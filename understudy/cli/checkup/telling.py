"""Findings into lines for people and figures for programs."""

from collections.abc import Sequence
from typing import Any

from understudy.cli.checkup.findings import Finding, Level, Section
from understudy.cli.paint import Painter

_MARKS = {
    Level.WELL: ("✓", "green"),
    Level.NOTE: ("·", "faint"),
    Level.CARE: ("!", "yellow"),
    Level.WRONG: ("✗", "red"),
}


def in_words(sections: Sequence[Section], paint: Painter) -> list[str]:
    lines: list[str] = []
    for section in sections:
        lines += [paint(section.title, "bold"), *(line for one in section.findings for line in _told(one, paint)), ""]
    return [*lines, _verdict(sections)]


def _told(finding: Finding, paint: Painter) -> list[str]:
    mark, colour = _MARKS[finding.level]
    fix = [f"      {paint('→', 'cyan')} {finding.fix}"] if finding.fix else []
    return [f"  {paint(mark, colour)} {finding.text}", *fix]


def is_well(sections: Sequence[Section]) -> bool:
    return not _count(sections, Level.WRONG)


def _count(sections: Sequence[Section], level: Level) -> int:
    return sum(one.level is level for section in sections for one in section.findings)


def _verdict(sections: Sequence[Section]) -> str:
    bad, careful = _count(sections, Level.WRONG), _count(sections, Level.CARE)
    minding = f"{careful} to mind (!)" if careful else ""
    if bad:
        return f"{bad} wrong (✗){f', {minding}' if minding else ''}"
    return f"all well{f', {minding}' if minding else ''}"


def figures(sections: Sequence[Section]) -> dict[str, Any]:
    """The keys are a promise to scripts; docs/reference/cli.md lists them."""
    return {
        "well": is_well(sections),
        "sections": [
            {
                "title": section.title,
                "findings": [{"level": one.level.value, "text": one.text, "fix": one.fix} for one in section.findings],
            }
            for section in sections
        ],
    }
