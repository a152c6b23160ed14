"""Colour only where people look."""

import io

import pytest

from understudy.cli.paint import Painter


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_colour_and_a_file_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert Painter.on(Terminal())("x", "red") == "\x1b[31mx\x1b[0m"
    assert Painter.on(io.StringIO())("x", "red") == "x"


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_a_terminal_that_wants_none_gets_none(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv(name, value)
    assert Painter.on(Terminal())("x", "red") == "x"
