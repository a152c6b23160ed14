"""Times as people write them."""

import pytest

from understudy.cli.complaint import BadInput
from understudy.cli.moments import moment, rfc3339, span


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
    assert moment(text, "--now", now=1000.0) == seconds


@pytest.mark.parametrize("text", ["soon", "", "+5", "+m", "5m", "2026-01-01", "2026-01-01T00:00:00", "-5", "nan"])
def test_what_is_no_moment_is_refused_with_the_forms_that_are(text: str) -> None:
    with pytest.raises(BadInput) as caught:
        moment(text, "--now", now=1000.0)
    assert str(caught.value).startswith(f"--now: {text!r} is not a time; write RFC 3339")


def test_relative_times_need_something_to_be_relative_to() -> None:
    with pytest.raises(BadInput):
        moment("+5m", "--now")


@pytest.mark.parametrize(
    ("seconds", "words"), [(0, "0s"), (-3, "0s"), (45, "45s"), (300, "5m"), (9000, "2h 30m"), (273661, "3d 4h")]
)
def test_spans_are_short(seconds: float, words: str) -> None:
    assert span(seconds) == words


def test_what_is_read_is_written_alike() -> None:
    assert rfc3339(moment("2026-01-01T00:00:00Z", "--now")) == "2026-01-01T00:00:00Z"
