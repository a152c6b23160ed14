"""Lengths of time as people write them, and as tables show them."""

import pytest

from understudy.cli.complaint import BadInput
from understudy.cli.durations import duration, short


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("10h", 36_000), ("1h30m", 5400), ("3d", 259_200), ("500ms", 0.5), ("1.5h", 5400), ("0", 0)],
)
def test_durations_are_read(text: str, seconds: float) -> None:
    assert duration(text, "--since") == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "10", "h", "10 h", "-5s", "5w", "1h30", "soon"])
def test_what_is_no_duration_is_refused_by_name(text: str) -> None:
    with pytest.raises(BadInput, match=f"--since {text}: not a length of time; write it like 90s"):
        duration(text, "--since")


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(-1, "0s"), (0, "0s"), (58.9, "58s"), (60, "1m"), (3599, "59m"), (7200, "2h"), (86_400, "1d"), (31_536_000, "1y")],
)
def test_durations_are_shown_in_their_largest_unit(seconds: float, shown: str) -> None:
    assert short(seconds) == shown
