"""What stays is written once; what changes is written anew below it, and only on a terminal."""

import io

import pytest

from understudy.cli.screen import Screen


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


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
