"""What happens is told in the order in which it happened, by the seconds since the chapter began."""

import asyncio
import io

import pytest

from understudy.cli.demo import progress
from understudy.cli.demo.progress import LATE, NOTE, ProgressPrinter


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class RecordedProgress:
    def __init__(self, out: io.StringIO | None = None) -> None:
        self.now, self.out = 100.0, out or io.StringIO()
        self.printer = ProgressPrinter(self.out, lambda: self.now)

    def lines(self) -> list[str]:
        return self.out.getvalue().splitlines()


def test_news_that_come_late_are_told_in_their_place() -> None:
    recorded = RecordedProgress()
    recorded.printer.begin("a node dies")
    recorded.now = 101.0
    recorded.printer.report("the other one runs")
    recorded.printer.report("this one said that it saved", at=100.75)
    recorded.printer.print_reports()
    assert recorded.lines() == ["", "1. a node dies"]
    recorded.now = 101.0 + LATE
    recorded.printer.print_reports()
    assert recorded.lines()[2:] == ["    0.75 s  this one said that it saved", "    1.00 s  the other one runs"]


def test_a_picture_comes_after_all_that_was_told() -> None:
    recorded = RecordedProgress()
    recorded.printer.begin("a node dies")
    recorded.printer.report("it is lost")
    recorded.printer.draw(["r  | DEAD |"])
    assert recorded.lines()[2:] == ["    0.00 s  it is lost", "       r  | DEAD |"]


def test_long_news_are_wrapped_under_their_beginning() -> None:
    recorded = RecordedProgress()
    recorded.printer.report("word " * 30)
    recorded.printer.print_reports(everything=True)
    first, second = recorded.lines()
    assert first.startswith("    0.00 s  word word")
    assert second.startswith("            word word")
    assert len(first) <= 110


@pytest.fixture
def _wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"TERM": "xterm", "NO_COLOR": "", "COLUMNS": "80", "LINES": "24"}.items():
        monkeypatch.setenv(name, value)


@pytest.mark.usefixtures("_wide_terminal")
def test_on_a_terminal_the_picture_of_the_moment_stands_below_what_is_told() -> None:
    recorded = RecordedProgress(Terminal())
    recorded.printer.begin("a node dies")
    recorded.now = 100.25
    recorded.printer.show(["r  | DEAD |"])
    recorded.printer.show(["r  | DEAD |"])
    recorded.printer.report("it is lost")
    recorded.printer.draw(["r  | DEAD |"])
    head, changing, told, stays, *rest = recorded.lines()[2:]
    assert head == f"    0.25 s  {NOTE}:"
    assert changing == "       r  | \x1b[31mDEAD\x1b[0m |"
    assert told == "\x1b[2F\x1b[J    0.25 s  it is lost"
    assert stays == changing
    assert not rest


@pytest.mark.usefixtures("_wide_terminal")
def test_pictures_that_come_too_quickly_for_eyes_are_shown_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = RecordedProgress(Terminal())
    for cell in ("a", "b", "c"):
        recorded.now += 0.01
        recorded.printer.report(f"{cell} runs")
        recorded.printer.show([f"r  |{cell}|"])
    recorded.printer.print_reports()
    assert recorded.lines() == [f"    0.01 s  {NOTE}:", "       r  |a|"]
    monkeypatch.setattr(progress, "PACE", 0.0)
    recorded.now += LATE
    asyncio.run(recorded.printer.show_remaining())
    a, b, c = (f"    0.0{n} s  {NOTE}:\n       r  |{cell}|\n" for n, cell in enumerate("abc", start=1))
    told = [f"    0.0{n} s  {cell} runs\n" for n, cell in enumerate("abc", start=1)]
    shown = recorded.out.getvalue().split("\x1b[2F\x1b[J")
    assert shown == [a, b, told[0] + b, told[1] + b, told[2] + b, c]


def test_a_file_gets_only_the_pictures_that_stay() -> None:
    recorded = RecordedProgress()
    recorded.printer.show(["r  | DEAD |"])
    recorded.printer.end()
    assert recorded.lines() == []


def test_in_short_only_reports_are_told() -> None:
    recorded = RecordedProgress()
    recorded.printer.brief = True
    recorded.printer.report("this one runs")
    recorded.printer.report_always("3 of 10")
    recorded.printer.end()
    assert recorded.lines() == ["    0.00 s  3 of 10"]
