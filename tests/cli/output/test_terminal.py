"""Colours on a terminal, and lines that are rewritten in place."""

import io

import pytest

from understudy.cli.output.terminal import Painter, Screen


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


@pytest.fixture(autouse=True)
def _a_capable_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")


def test_what_changes_is_written_anew_and_what_stays_goes_above_it() -> None:
    out = Terminal()
    screen = Screen(out)
    screen.show(["a", "b"])
    screen.show(["a", "b"])
    screen.show(["c"])
    screen.put("stays")
    screen.settle()
    screen.put("more")
    assert out.getvalue() == "a\nb\n" + "\x1b[2F\x1b[Jc\n" + "\x1b[1F\x1b[Jstays\nc\n" + "more\n"


def test_a_file_gets_only_what_stays() -> None:
    out = io.StringIO()
    screen = Screen(out)
    screen.show(["a", "b"])
    screen.put("stays")
    assert out.getvalue() == "stays\n"


def test_so_does_a_terminal_that_cannot_go_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    out = Terminal()
    Screen(out).show(["a", "b"])
    assert out.getvalue() == ""
