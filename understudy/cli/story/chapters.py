"""What the story came to: a table of its chapters, and how long each took from its cause to the end of the trouble."""

from collections.abc import Iterable, Iterator

import msgspec


class Chapter(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds count from the cause."""

    title: str
    noticed: float | None = None  # until the cluster knew; None: it was told
    running: float  # until all processes ran, or ran again
    started: int = 0  # processes
    stayed: int = 0  # processes of the same job that were never disturbed
    preempted: int = 0


def summary(chapters: Iterable[Chapter]) -> Iterator[str]:
    head = ("", "noticed", "all running", "started", "stayed", "preempted")
    rows = [head, *(_row(number, chapter) for number, chapter in enumerate(chapters, start=1))]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    for title, *figures in rows:
        cells = (text.rjust(width) for text, width in zip(figures, widths[1:], strict=True))
        yield "  ".join((title.ljust(widths[0]), *cells)).rstrip()


def _row(number: int, chapter: Chapter) -> tuple[str, ...]:
    return (
        f"{number}. {chapter.title}",
        "" if chapter.noticed is None else f"{chapter.noticed:.2f} s",
        f"{chapter.running:.2f} s",
        *(str(count) if count else "" for count in (chapter.started, chapter.stayed, chapter.preempted)),
    )
