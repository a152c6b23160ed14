"""Ages as kubectl prints them: a time stamp into `5s`, `2m3s`, `3h4m` or `5d`."""

from datetime import datetime

UNKNOWN = "<unknown>"
INVALID = "<invalid>"

_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 86_400, 365 * 86_400


def age(stamp: str, now: float) -> str:
    """How long ago an RFC 3339 time stamp was. An empty one is unknown."""
    if not stamp:
        return UNKNOWN
    moment = seconds(stamp)
    return INVALID if moment is None else duration(now - moment)


def seconds(stamp: str) -> float | None:
    """Seconds since 1970; None where the stamp cannot be parsed."""
    try:
        moment = datetime.fromisoformat(stamp)
    except ValueError:
        return None
    return None if moment.tzinfo is None else moment.timestamp()


def duration(length: float) -> str:
    """Longer durations have coarser units. A moment up to a second ahead counts as now, because clocks differ."""
    whole = int(length)
    if whole < -1:
        return INVALID
    if whole < 2 * _MINUTE:
        return f"{max(whole, 0)}s"
    for unit, letter, finer, finer_letter, fine_until, until in _STEPS:
        if whole < until:
            rest = whole % unit // finer
            fine = whole < fine_until and rest
            return f"{whole // unit}{letter}{rest}{finer_letter}" if fine else f"{whole // unit}{letter}"
    return f"{whole // _YEAR}y"


# A unit, the finer unit that is added up to some length, and the length up to which the unit is used.
_STEPS = (
    (_MINUTE, "m", 1, "s", 10 * _MINUTE, 3 * _HOUR),
    (_HOUR, "h", _MINUTE, "m", 8 * _HOUR, 2 * _DAY),
    (_DAY, "d", _HOUR, "h", 8 * _DAY, 2 * _YEAR),
    (_YEAR, "y", _DAY, "d", 8 * _YEAR, 8 * _YEAR),
)
