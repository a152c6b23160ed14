"""A cron expression as a value: five fields, or @hourly and the like, or @every; and the times it names."""

import calendar
import re
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

import msgspec

NAMED = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_MONTHS = {name.lower(): number for number, name in enumerate(calendar.month_abbr) if name}
_DAYS = {name: number for number, name in enumerate(("sun", "mon", "tue", "wed", "thu", "fri", "sat"))}
Field = tuple[str, int, int, dict[str, int]]  # its name, the lowest and highest number, words for numbers
_FIELDS: tuple[Field, ...] = (
    ("minute", 0, 59, {}),
    ("hour", 0, 23, {}),
    ("day of month", 1, 31, {}),
    ("month", 1, 12, _MONTHS),
    ("day of week", 0, 7, _DAYS),
)
_SPAN = re.compile(r"([0-9]+(?:\.[0-9]+)?)(h|m|s|ms|us|ns)", re.ASCII)
_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
FARTHEST = 366 * 8  # days; a 29 February may be this far away


class Schedule(msgspec.Struct, frozen=True):
    """Which minutes, hours, days, months and days of the week (0 is Sunday), or a `period` in seconds instead."""

    minutes: frozenset[int] = frozenset()
    hours: frozenset[int] = frozenset()
    days: frozenset[int] = frozenset()
    months: frozenset[int] = frozenset()
    weekdays: frozenset[int] = frozenset()
    either_day: bool = False  # both kinds of days are given: one that matches is enough
    period: float = 0.0

    def has_day(self, moment: datetime) -> bool:
        if moment.month not in self.months:
            return False
        in_month, in_week = moment.day in self.days, moment.isoweekday() % 7 in self.weekdays
        return in_month or in_week if self.either_day else in_month and in_week

    def after(self, moment: float, zone: tzinfo = UTC) -> float | None:
        """The first time after this one; None if there is none within eight years."""
        if self.period:
            return float(int(moment + self.period))
        day = _midnight(moment, zone)
        times = (time for days in range(FARTHEST) for time in self._times_of(day + timedelta(days), zone))
        return next((time for time in times if time > moment), None)

    def latest(self, since: float, moment: float, zone: tzinfo = UTC) -> float | None:
        """The last time up to this moment; None if there is none after `since`."""
        if self.period:
            count = int((moment - since) // self.period)
            return since + count * self.period if count > 0 else None
        day, first = _midnight(moment, zone), _midnight(since, zone)
        days = range((day - first).days + 1)
        times = (time for back in days for time in reversed(self._times_of(day - timedelta(back), zone)))
        return next((time for time in times if since < time <= moment), None)

    def _times_of(self, day: datetime, zone: tzinfo) -> list[float]:
        """The times that daylight saving leaves out do not exist."""
        if not self.has_day(day):
            return []
        clock = ((hour, minute) for hour in sorted(self.hours) for minute in sorted(self.minutes))
        local = (day.replace(hour=hour, minute=minute, tzinfo=zone) for hour, minute in clock)
        return [time.timestamp() for time in local if _exists(time)]


def _midnight(moment: float, zone: tzinfo) -> datetime:
    """The day, in the calendar of the zone."""
    return datetime.fromtimestamp(moment, zone).replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)


def _exists(local: datetime) -> bool:
    return datetime.fromtimestamp(local.timestamp(), local.tzinfo).hour == local.hour


def parse_schedule(text: str) -> Schedule:
    """Raises ValueError, whose text names what is wrong."""
    text = text.strip()
    if text.startswith("@every "):
        return Schedule(period=_period(text.removeprefix("@every ").strip()))
    if text.startswith("@") and text not in NAMED:
        raise ValueError(f"unrecognized descriptor: {text}; use one of {', '.join(NAMED)}, or @every 1h30m")
    fields = NAMED.get(text, text).split()
    if len(fields) != len(_FIELDS):
        raise ValueError(f"expected exactly 5 fields, found {len(fields)}: [{' '.join(fields)}]")
    minutes, hours, days, months, weekdays = map(_values, fields, _FIELDS)
    starred = fields[2].startswith(("*", "?")) or fields[4].startswith(("*", "?"))
    return Schedule(minutes, hours, days, months, frozenset(day % 7 for day in weekdays), not starred)


def zone_of(name: str) -> tzinfo:
    """Raises ValueError for a name that is not known here."""
    try:
        return ZoneInfo(name) if name else UTC
    except (OSError, LookupError, ValueError) as error:
        raise ValueError(f"unknown time zone {name}") from error


def _period(text: str) -> float:
    spans = _SPAN.findall(text)
    if not spans or "".join(amount + unit for amount, unit in spans) != text:
        raise ValueError(f"failed to parse duration {text!r}; write it like 1h30m")
    return max(1.0, float(int(sum(float(amount) * _UNITS[unit] for amount, unit in spans))))


def _values(text: str, field: Field) -> frozenset[int]:
    found: set[int] = set()
    for part in text.split(","):
        found |= _range(part, field)
    return frozenset(found)


def _range(part: str, field: Field) -> set[int]:
    name, lowest, highest, words = field
    span, _, step = part.partition("/")
    if "/" in part and (not step.isdecimal() or int(step) == 0):
        raise ValueError(f"{name}: the step of {part!r} must be a positive number")
    first, dash, last = span.partition("-")
    if span in ("*", "?"):
        low, high = lowest, highest - (1 if words is _DAYS else 0)
    else:
        low = _number(first, name, words)
        high = _number(last, name, words) if dash else (highest if step else low)
    if low < lowest or high > highest:
        raise ValueError(f"{name}: {part!r} is not between {lowest} and {highest}")
    if low > high:
        raise ValueError(f"{name}: beginning of range ({low}) beyond end of range ({high}): {part}")
    return set(range(low, high + 1, int(step) if step else 1))


def _number(text: str, name: str, words: dict[str, int]) -> int:
    if text.lower() in words:
        return words[text.lower()]
    if not (text.isascii() and text.isdecimal()):
        raise ValueError(f"{name}: failed to parse {text!r}")
    return int(text)
