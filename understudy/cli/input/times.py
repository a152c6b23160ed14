"""Times and durations as users write them (RFC 3339, +5m, 90s, 3d), and as tables and plans show them."""

import re
from datetime import UTC, datetime

from understudy.cli.errors import BadInput

_DURATION_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_DURATION_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|[smhd])")
_WHOLE = re.compile(rf"(?:{_DURATION_PART.pattern})+")
_SHOWN = (("y", 365 * 86_400), ("d", 86_400), ("h", 3600), ("m", 60))


def parse_duration(text: str, option: str) -> float:
    """Seconds. A bare number other than 0 is refused, since its unit is unclear."""
    if text == "0":
        return 0.0
    if not _WHOLE.fullmatch(text):
        raise BadInput(f"{option} {text}: not a length of time; write it like 90s, 10h, 1h30m or 3d")
    return sum(float(amount) * _DURATION_UNITS[unit] for amount, unit in _DURATION_PART.findall(text))


def short_duration(seconds: float) -> str:
    """A duration in its largest unit alone: 58s, 12m, 3h, 5d, 1y."""
    whole = max(0, int(seconds))
    for unit, size in _SHOWN:
        if whole >= size:
            return f"{whole // size}{unit}"
    return f"{whole}s"


_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_RELATIVE = re.compile(r"\+(?:\d+(?:\.\d+)?[smhd])+")
_PART = re.compile(r"(\d+(?:\.\d+)?)([smhd])")


def parse_time(text: str, option: str, now: float | None = None) -> float:
    """Seconds since 1970. `+5m` counts from `now`, where one is given."""
    if now is not None and _RELATIVE.fullmatch(text):
        return now + sum(float(amount) * _UNITS[unit] for amount, unit in _PART.findall(text))
    try:
        return float(text) if re.fullmatch(r"\d+(\.\d+)?", text) else _from_rfc3339(text)
    except ValueError:
        forms = "RFC 3339 such as 2026-01-31T12:00:00Z, or seconds since 1970" + (", or +5m" if now is not None else "")
        raise BadInput(f"{option}: {text!r} is not a time; write {forms}") from None


def _from_rfc3339(text: str) -> float:
    parsed = datetime.fromisoformat(text)
    if parsed.tzinfo is None:
        raise ValueError("a time without its zone could be any of two dozen")
    return parsed.timestamp()


def rfc3339(seconds: float) -> str:
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def long_duration(seconds: float) -> str:
    """A length of time in its two largest units: 45s, 5m, 2h 30m, 3d 4h."""
    left = max(0, round(seconds))
    parts = []
    for unit, size in (("d", 86_400), ("h", 3600), ("m", 60), ("s", 1)):
        if left >= size:
            parts.append(f"{left // size}{unit}")
            left %= size
    return " ".join(parts[:2]) or "0s"
