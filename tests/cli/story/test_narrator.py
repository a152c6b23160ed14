"""What happens is told in the order in which it happened, by the seconds since the chapter began."""

import io

import pytest

from understudy.cli.story.narrator import LATE, Narrator


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Telling:
    def __init__(self, out: io.StringIO | None = None) -> None:
        self.now, self.out = 100.0, out or io.StringIO()
        self.narrator = Narrator(self.out, lambda: self.now)

    def lines(self) -> list[str]:
        return self.out.getvalue().splitlines()


def test_news_that_come_late_are_told_in_their_place() -> None:
    telling = Telling()
    telling.narrator.begin("a node dies")
    telling.now = 101.0
    telling.narrator.tell("the other one runs")
    telling.narrator.tell("this one said that it saved", at=100.75)
    telling.narrator.catch_up()
    assert telling.lines() == ["", "1. a node dies"]
    telling.now = 101.0 + LATE
    telling.narrator.catch_up()
    assert telling.lines()[2:] == ["    0.75 s  this one said that it saved", "    1.00 s  the other one runs"]


def test_a_picture_comes_after_all_that_was_told() -> None:
    telling = Telling()
    telling.narrator.begin("a node dies")
    telling.narrator.tell("it is lost")
    telling.narrator.draw(["r  | DEAD |"])
    assert telling.lines()[2:] == ["    0.00 s  it is lost", "       r  | DEAD |"]


def test_long_news_are_wrapped_under_their_beginning() -> None:
    telling = Telling()
    telling.narrator.tell("word " * 30)
    telling.narrator.catch_up(all_of_it=True)
    first, second = telling.lines()
    assert first.startswith("    0.00 s  word word")
    assert second.startswith("            word word")
    assert len(first) <= 110


def test_on_a_terminal_the_picture_of_the_moment_stands_below_what_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"TERM": "xterm", "NO_COLOR": "", "COLUMNS": "80", "LINES": "24"}.items():
        monkeypatch.setenv(name, value)
    telling = Telling(Terminal())
    telling.narrator.begin("a node dies")
    telling.now = 100.25
    telling.narrator.show(["r  | DEAD |"])
    telling.narrator.show(["r  | DEAD |"])
    telling.narrator.tell("it is lost")
    telling.narrator.draw(["r  | DEAD |"])
    head, changing, told, stays, *rest = telling.lines()[2:]
    assert head == "    0.25 s  now:"
    assert changing == "       r  | \x1b[31mDEAD\x1b[0m |"
    assert told == "\x1b[2F\x1b[J    0.25 s  it is lost"
    assert stays == changing
    assert not rest


def test_a_file_gets_only_the_pictures_that_stay() -> None:
    telling = Telling()
    telling.narrator.show(["r  | DEAD |"])
    telling.narrator.end()
    assert telling.lines() == []


def test_in_short_only_reports_are_told() -> None:
    telling = Telling()
    telling.narrator.in_short = True
    telling.narrator.tell("this one runs")
    telling.narrator.report("3 of 10")
    telling.narrator.end()
    assert telling.lines() == ["    0.00 s  3 of 10"]
