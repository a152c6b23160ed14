"""Points in time as people write them (RFC 3339, seconds since 1970, or +5m from now) and as plans count them."""

import re
from datetime import UTC, datetime

from understudy.cli.complaint import BadInput

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_RELATIVE = re.compile(r"\+(?:\d+(?:\.\d+)?[smhd])+")
_PART = re.compile(r"(\d+(?:\.\d+)?)([smhd])")


def moment(text: str, option: str, now: float | None = None) -> float:
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


def span(seconds: float) -> str:
    """A length of time in its two largest units: 45s, 5m, 2h 30m, 3d 4h."""
    left = max(0, round(seconds))
    parts = []
    for unit, size in (("d", 86_400), ("h", 3600), ("m", 60), ("s", 1)):
        if left >= size:
            parts.append(f"{left // size}{unit}")
            left %= size
    return " ".join(parts[:2]) or "0s"
