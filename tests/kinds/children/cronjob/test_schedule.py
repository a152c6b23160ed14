"""Which times a cron expression names."""

from datetime import UTC, datetime

import pytest

from understudy.kinds.children.cronjob.schedule import parse_schedule, zone_of


def at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def said(moment: float | None) -> str:
    return datetime.fromtimestamp(moment or 0, UTC).strftime("%Y-%m-%d %H:%M:%S")


@pytest.mark.parametrize(
    ("text", "after", "following"),
    [
        ("* * * * *", "2026-03-01 10:00:00", "2026-03-01 10:01:00"),
        ("*/15 * * * *", "2026-03-01 10:50:01", "2026-03-01 11:00:00"),
        ("30 6 * * 1-5", "2026-03-06 06:30:00", "2026-03-09 06:30:00"),
        ("0 0 1 jan *", "2026-03-01 00:00:00", "2027-01-01 00:00:00"),
        ("0 0 29 2 *", "2026-03-01 00:00:00", "2028-02-29 00:00:00"),
        ("0 12 * * sun", "2026-03-01 12:00:00", "2026-03-08 12:00:00"),
        ("0 12 * * 7", "2026-03-01 11:00:00", "2026-03-01 12:00:00"),
        ("0 0 13 * 5", "2026-03-01 00:00:00", "2026-03-06 00:00:00"),  # the 13th, or a Friday
        ("5/20 3 * * *", "2026-03-01 03:05:00", "2026-03-01 03:25:00"),
        ("1,2,59 * * * ?", "2026-03-01 03:02:00", "2026-03-01 03:59:00"),
        ("@hourly", "2026-03-01 10:00:00", "2026-03-01 11:00:00"),
        ("@weekly", "2026-03-02 00:00:00", "2026-03-08 00:00:00"),
        ("@every 1h30m", "2026-03-01 10:00:00", "2026-03-01 11:30:00"),
    ],
)
def test_the_next_time(text: str, after: str, following: str) -> None:
    schedule = parse_schedule(text)
    assert said(schedule.after(at(after))) == following
    if not schedule.period:
        assert said(schedule.latest(at(after), at(following) + 0.5)) == following
        assert schedule.latest(at(after), at(following) - 1) is None


def test_the_latest_of_several_missed_times_counts() -> None:
    assert said(parse_schedule("0 * * * *").latest(at("2026-03-01 10:00:00"), at("2026-03-04 15:20:00"))) == (
        "2026-03-04 15:00:00"
    )
    every = parse_schedule("@every 10m").latest(at("2026-03-01 10:00:00"), at("2026-03-01 10:35:00"))
    assert said(every) == "2026-03-01 10:30:00"


def test_times_are_those_of_the_zone_and_follow_its_summer_time() -> None:
    berlin = zone_of("Europe/Berlin")
    schedule = parse_schedule("30 2 * * *")
    assert said(schedule.after(at("2026-03-27 12:00:00"), berlin)) == "2026-03-28 01:30:00"
    assert said(schedule.after(at("2026-03-28 12:00:00"), berlin)) == "2026-03-30 00:30:00"  # no 02:30 on the 29th


def test_a_time_that_never_comes() -> None:
    assert parse_schedule("0 0 31 2 *").after(at("2026-03-01 00:00:00")) is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("* * * *", "expected exactly 5 fields, found 4"),
        ("60 * * * *", "not between 0 and 59"),
        ("* * 0 * *", "not between 1 and 31"),
        ("*/0 * * * *", "must be a positive number"),
        ("5-1 * * * *", "beyond end of range"),
        ("x * * * *", "failed to parse 'x'"),
        ("@sometimes", "unrecognized descriptor"),
        ("@every soon", "failed to parse duration"),
    ],
)
def test_what_is_wrong_is_named(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse_schedule(text)


def test_an_unknown_time_zone_is_named() -> None:
    with pytest.raises(ValueError, match="unknown time zone Mars/Base"):
        zone_of("Mars/Base")
