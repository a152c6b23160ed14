"""The hot-swap story goes as it should, and says that it is only told."""

import io
import re
from pathlib import Path

import pytest

from understudy.cli.hotswap import DRY_RUN, tell_hot_swap
from understudy.main import main

SLICES = 5


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


def slices(chapter: str) -> list[dict[str, list[str]]]:
    """The pictures of a chapter: who sits on which node of which slice."""
    rows = [line.split("|") for line in chapter.splitlines() if "|" in line]
    return [
        {name.strip(): [cell.strip() for cell in cells[:-1]] for name, *cells in rows[first : first + SLICES]}
        for first in range(0, len(rows), SLICES)
    ]


def owned(picture: dict[str, list[str]], gang: str) -> list[str]:
    """The slices a gang has to itself, whole."""
    return [name for name, cells in picture.items() if cells == [gang, gang]]


def test_the_story() -> None:
    submitted, swapped, taken, back = chapters(told())

    first = slices(submitted)[-1]
    assert len(owned(first, "high-priority")) == 3
    assert len(owned(first, "low-priority")) == 1

    assert "swap JobSet/default/high-priority" in swapped
    broken, repaired = slices(swapped)
    assert sum(cells.count("DEAD") for cells in broken.values()) == 1
    assert len(owned(repaired, "high-priority")) == 3
    assert owned(repaired, "low-priority") == owned(first, "low-priority")

    assert "preempt JobSet/default/low-priority (2 pods) for JobSet/default/high-priority" in taken
    assert "JobSet/default/low-priority waits: " in taken
    last = slices(taken)[-1]
    assert len(owned(last, "high-priority")) == 3
    assert owned(first, "low-priority")[0] in owned(last, "high-priority")
    assert owned(last, "low-priority") == []

    final = slices(back)[-1]
    assert len(owned(final, "high-priority")) == 3
    assert len(owned(final, "low-priority")) == 1


def test_every_plan_is_timed() -> None:
    assert len([line for line in told() if re.search(r"planned in \d+\.\d\d ms:", line)]) == 5


def test_without_its_objects_it_says_where_to_find_them(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["demo", "--from", str(tmp_path / "none")]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert "the story's objects are not here" in printed.err
