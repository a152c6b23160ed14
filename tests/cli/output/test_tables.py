"""Columns as wide as their widest cell and two blanks; colours that take no room."""

import pytest

from understudy.cli.output.tables import table, wrapped


def test_columns_are_two_blanks_apart_and_lines_have_no_tail() -> None:
    assert table([["NAME", "X", "LAST"], ["a-long-name", "1", ""], ["b"]]) == [
        "NAME         X  LAST",
        "a-long-name  1",
        "b",
    ]
    assert table([]) == []


def test_colours_do_not_move_columns() -> None:
    painted = table([["A", "B"], ["x", "y"]], lambda word: f"<{word}>" if word == "x" else word)
    assert painted == ["A  B", "<x>  y"]


def test_sentences_are_wrapped_to_the_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    assert wrapped(["one two three four five six", "end"]) == ["one two three four", "  five six", "end"]
