"""What happens is told in the order in which it happened, by the seconds since the chapter began."""

import io

from understudy.cli.story.narrator import LATE, Narrator
from understudy.model.nodes import Health, Node, Verdict
from understudy.model.snapshot import Snapshot


class Telling:
    def __init__(self) -> None:
        self.now, self.out = 100.0, io.StringIO()
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
    lost = Node("n", labels={"rack": "r"}, health=Health(Verdict.LOST))
    telling.narrator.draw(Snapshot.of(nodes=[lost]), "rack")
    assert telling.lines()[2:] == ["    0.00 s  it is lost", "       r  | DEAD |"]


def test_long_news_are_wrapped_under_their_beginning() -> None:
    telling = Telling()
    telling.narrator.tell("word " * 30)
    telling.narrator.catch_up(all_of_it=True)
    first, second = telling.lines()
    assert first.startswith("    0.00 s  word word")
    assert second.startswith("            word word")
    assert len(first) <= 110
