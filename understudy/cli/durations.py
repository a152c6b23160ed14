"""Lengths of time as people write them after an option (90s, 1h30m, 3d, 500ms) and as tables show them (58s, 3h)."""

import re

from understudy.cli.complaint import BadInput

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|[smhd])")
_WHOLE = re.compile(rf"(?:{_PART.pattern})+")
_SHOWN = (("y", 365 * 86_400), ("d", 86_400), ("h", 3600), ("m", 60))


def duration(text: str, option: str) -> float:
    """Seconds. A bare number is refused, but for 0: nobody can tell which unit it is of."""
    if text == "0":
        return 0.0
    if not _WHOLE.fullmatch(text):
        raise BadInput(f"{option} {text}: not a length of time; write it like 90s, 10h, 1h30m or 3d")
    return sum(float(amount) * _UNITS[unit] for amount, unit in _PART.findall(text))


def short(seconds: float) -> str:
    """In its largest unit alone: 58s, 12m, 3h, 5d, 1y."""
    whole = max(0, int(seconds))
    for unit, size in _SHOWN:
        if whole >= size:
            return f"{whole // size}{unit}"
    return f"{whole}s"
