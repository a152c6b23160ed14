"""Durations as kubectl prints them."""

import pytest

from understudy.embedded.api.tables.human_duration import age, duration

MINUTE, HOUR, DAY, YEAR = 60, 3600, 86_400, 365 * 86_400


@pytest.mark.parametrize(
    ("length", "text"),
    [
        (-2.0, "<invalid>"),
        (-1.9, "0s"),
        (-0.5, "0s"),
        (0, "0s"),
        (1.9, "1s"),
        (119, "119s"),
        (2 * MINUTE, "2m"),
        (2 * MINUTE + 3, "2m3s"),
        (9 * MINUTE + 59, "9m59s"),
        (10 * MINUTE + 30, "10m"),
        (3 * HOUR - 1, "179m"),
        (3 * HOUR, "3h"),
        (3 * HOUR + 4 * MINUTE, "3h4m"),
        (8 * HOUR + 59 * MINUTE, "8h"),
        (2 * DAY - 1, "47h"),
        (2 * DAY, "2d"),
        (2 * DAY + HOUR, "2d1h"),
        (8 * DAY + HOUR, "8d"),
        (2 * YEAR - 1, "729d"),
        (2 * YEAR, "2y"),
        (2 * YEAR + 5 * DAY, "2y5d"),
        (8 * YEAR + DAY, "8y"),
        (100 * YEAR, "100y"),
    ],
)
def test_the_longer_the_coarser(length: float, text: str) -> None:
    assert duration(length) == text


@pytest.mark.parametrize(
    ("stamp", "text"),
    [
        ("1970-01-01T00:00:10Z", "90s"),
        ("1970-01-01T02:00:10+02:00", "90s"),
        ("1970-01-01T00:00:10.900000Z", "89s"),
        ("", "<unknown>"),
        ("yesterday", "<invalid>"),
        ("1970-01-01T00:00:10", "<invalid>"),
    ],
)
def test_time_stamps(stamp: str, text: str) -> None:
    assert age(stamp, 100.0) == text
