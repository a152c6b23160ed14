"""Errors in what a user gave, as one line that names the place and the fix."""

import difflib
from collections.abc import Iterable

NEAR = 0.6  # how alike two names must be before one is offered for the other
LISTED = 8


class BadInput(Exception):
    """Printed as `understudy: …` on one line; the command ends with exit code 2."""


def close_names(wanted: str, names: Iterable[str]) -> list[str]:
    """The names a typing error away, the nearest first."""
    by_lower = {name.lower(): name for name in names}
    return [by_lower[match] for match in difflib.get_close_matches(wanted.lower(), by_lower, n=3, cutoff=NEAR)]


def suggestion(wanted: str, names: Iterable[str], every: str) -> str:
    """`did you mean a or b?`, else `every` and the list of names."""
    known = sorted(names)
    if close := close_names(wanted, known):
        return f"did you mean {' or '.join(close)}?"
    return f"{every}: {short_list(known)}" if known else f"{every}: none"


def short_list(names: Iterable[str]) -> str:
    known = list(names)
    shown = ", ".join(known[:LISTED])
    return shown if len(known) <= LISTED else f"{shown} and {len(known) - LISTED} more"


def one_line(text: str) -> str:
    return " ".join(text.split())
