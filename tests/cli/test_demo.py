"""The hot-swap story goes as it should, and says that it is only told."""

import io
import re
from pathlib import Path

import pytest

from understudy.cli.hotswap import DRY_RUN, tell_hot_swap
from understudy.main import main


def told() -> list[str]:
    out = io.StringIO()
    tell_hot_swap(None, out)
    return out.getvalue().splitlines()


def chapters(lines: list[str]) -> list[str]:
    """The text of each numbered step."""
    return re.split(r"^\d\. ", "\n".join(lines), flags=re.MULTILINE)[1:]


def test_it_says_first_and_last_that_it_is_a_dry_run() -> None:
    lines = told()
    assert (lines[0], lines[-1]) == (DRY_RUN, DRY_RUN)


def test_the_story() -> None:
    submitted, swapped, taken, back = chapters(told())
    assert submitted.count("high-priority |") == 3
    assert "spare" in swapped or "idle" in swapped
    assert "DEAD" in swapped
    assert "JobSet default/low-priority" in taken
    assert "waits" in taken
    assert back.rstrip(f"\n{DRY_RUN}").count("low-priority | low-priority") == 1


def test_every_plan_is_timed() -> None:
    assert len([line for line in told() if re.search(r"planned in \d+\.\d\d ms:", line)]) >= 5


def test_without_its_objects_it_says_where_to_find_them(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["demo", "--from", str(tmp_path / "none")]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert "the story's objects are not here" in printed.err
