"""Incidents into the table at the end of a story, and how they compare with what stock Kubernetes does."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from understudy.cli.jobs.incidents import COLUMNS, steps, took
from understudy.cli.jobs.tables import table
from understudy.model.incidents import Incident, StepStatistics, step_statistics

MOST = 20  # rows; of more incidents only the slowest are shown, and all of them count
STOCK_NOTICES, STOCK_TOLERATES = 50.0, 300.0  # seconds: a node that fell silent, and the default tolerations of pods
REMARK = """\
Times count from the failure, when the connection to the killed node broke, and are the cluster's own records. Nodes
are processes, as pods are: the death of one is noticed within milliseconds; one that hangs, after 3 s of silence."""


def lines(incidents: Sequence[Incident]) -> Iterator[str]:
    """The head of the table first."""
    shown = list(incidents)
    if len(shown) > MOST:
        shown = sorted(shown, key=lambda one: one.total or 0.0)[-MOST:]
    figures = step_statistics(incidents)
    rows = [
        ["CAUSE", *COLUMNS.values()],
        *([one.cause, *steps(one)] for one in shown),
        [],
        ["median", *_each(figures, lambda found: found.median)],
        ["p99", *_each(figures, lambda found: found.p99)],
    ]
    yield from table(rows)
    if len(shown) < len(incidents):
        yield f"\nShown are the {len(shown)} slowest of {len(incidents)} incidents; median and p99 are those of all."
    if "total" in figures:
        yield f"\n{_compared(figures['total'].median)}"


def _each(figures: Mapping[str, StepStatistics], which: Callable[[StepStatistics], float]) -> list[str]:
    return [took(which(figures[step]) if step in figures else None) for step in COLUMNS]


def _compared(median: float) -> str:
    stock = STOCK_NOTICES + STOCK_TOLERATES
    return (
        f"Stock Kubernetes takes about {stock:g} s for the same ({STOCK_NOTICES:g} s until it notices, "
        f"{STOCK_TOLERATES:g} s of toleration),\nand then the pod hangs: {_roughly(stock / median)} times as long."
    )


def _roughly(ratio: float) -> str:
    """In two figures: 1,100."""
    digits = len(str(int(ratio)))
    return f"{round(ratio, 2 - digits):,.0f}"
