"""Times and durations as users write them, and as tables and plans show them."""

import pytest

from understudy.cli.errors import BadInput
from understudy.cli.input.times import long_duration, parse_duration, parse_time, rfc3339, short_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("10h", 36_000), ("1h30m", 5400), ("3d", 259_200), ("500ms", 0.5), ("1.5h", 5400), ("0", 0)],
)
def test_durations_are_read(text: str, seconds: float) -> None:
    assert parse_duration(text, "--since") == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "10", "h", "10 h", "-5s", "5w", "1h30", "soon"])
def test_what_is_no_duration_is_refused_by_name(text: str) -> None:
    with pytest.raises(BadInput, match=f"--since {text}: not a length of time; write it like 90s"):
        parse_duration(text, "--since")


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(-1, "0s"), (0, "0s"), (58.9, "58s"), (60, "1m"), (3599, "59m"), (7200, "2h"), (86_400, "1d"), (31_536_000, "1y")],
)
def test_durations_are_shown_in_their_largest_unit(seconds: float, shown: str) -> None:
    assert short_duration(seconds) == shown


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0.0),
        ("1767225600", 1767225600.0),
        ("1767225600.5", 1767225600.5),
        ("2026-01-01T00:00:00Z", 1767225600.0),
        ("2026-01-01T01:00:00+01:00", 1767225600.0),
        ("+5m", 1300.0),
        ("+1h30m", 6400.0),
        ("+0.5s", 1000.5),
        ("+1d", 87400.0),
    ],
)
def test_a_moment_is_read(text: str, seconds: float) -> None:
    assert parse_time(text, "--now", now=1000.0) == seconds


@pytest.mark.parametrize("text", ["soon", "", "+5", "+m", "5m", "2026-01-01", "2026-01-01T00:00:00", "-5", "nan"])
def test_what_is_no_moment_is_refused_with_the_forms_that_are(text: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse_time(text, "--now", now=1000.0)
    assert str(caught.value).startswith(f"--now: {text!r} is not a time; write RFC 3339")


def test_relative_times_need_something_to_be_relative_to() -> None:
    with pytest.raises(BadInput):
        parse_time("+5m", "--now")


@pytest.mark.parametrize(
    ("seconds", "words"), [(0, "0s"), (-3, "0s"), (45, "45s"), (300, "5m"), (9000, "2h 30m"), (273661, "3d 4h")]
)
def test_spans_are_short(seconds: float, words: str) -> None:
    assert long_duration(seconds) == words


def test_what_is_read_is_written_alike() -> None:
    assert rfc3339(parse_time("2026-01-01T00:00:00Z", "--now")) == "2026-01-01T00:00:00Z"
