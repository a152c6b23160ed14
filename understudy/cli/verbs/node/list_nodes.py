"""`understudy node list`: nodes with their health, what they are for, and how much of it is taken."""

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from understudy.cli.input.times import short_duration
from understudy.cli.options import add_cluster_options
from understudy.cli.output.formats import print_as
from understudy.cli.output.tables import show, table
from understudy.cli.output.terminal import Painter
from understudy.cli.queries.nodes import NodeSummary, node_summaries
from understudy.cli.session import Session, run_in_session
from understudy.cli.views.node_states import health_reason
from understudy.cli.views.nodes import node_figures
from understudy.model.nodes import Capacity, Verdict

_ABOUT = """\
List nodes: how they are, which pool and slice they belong to, their accelerators and how many of
them are taken, which are spot machines, and which are kept as spares. Besides Ready and NotReady,
STATUS tells how the scheduler judges a node: Suspect (gets nothing new), Leaving (announced its end;
REASON says when it goes and who said so), Lost."""

_EXAMPLES = """\
examples:
  understudy node list
  understudy node list --spot          machines that their cloud may take back
  understudy node list -o wide         and why a node is not healthy"""

_HEAD = ("NAME", "STATUS", "ROLES", "POOL", "CAPACITY", "SLICE", "ACCELERATORS", "ALLOCATED", "SPARE", "AGE")
_WIDE = ("PODS", "ADDRESS")
_NONE = "<none>"


def add_to(parts: Any) -> None:
    parser: argparse.ArgumentParser = parts.add_parser(
        "list", aliases=["ls"], help="list nodes", description=_ABOUT, epilog=_EXAMPLES
    )
    parser.add_argument("--spot", action="store_true", help="only spot machines")
    parser.add_argument("-o", "--output", choices=("wide", "json", "yaml", "name"), default="", help="form")
    add_cluster_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    async def work(session: Session) -> int:
        nodes = [one for one in await node_summaries(session.client) if _wanted(one, options)]
        names = [f"node/{one.usage.name}" for one in nodes]
        if print_as(options.output, {"nodes": [node_figures(one) for one in nodes]}, names):
            return 0
        wide = options.output == "wide"
        show(node_table(nodes, time.time(), wide=wide))
        return 0

    return run_in_session(options, work)


def _wanted(one: NodeSummary, options: argparse.Namespace) -> bool:
    return one.state.capacity is Capacity.SPOT or not options.spot


def node_table(nodes: Sequence[NodeSummary], now: float, *, wide: bool) -> list[str]:
    """The table of nodes. It has a column REASON if the user asked for it, or if a node is about to go."""
    with_reason = wide or any(one.verdict is Verdict.LEAVING for one in nodes)
    rows = [(*_HEAD, *(_WIDE if wide else ()), *(("REASON",) if with_reason else ()))]
    for one in nodes:
        reason = (health_reason(one.state.health, now) or _NONE,) if with_reason else ()
        rows.append((*_row(one), *(_wide_cells(one) if wide else ()), *reason))
    return table(rows, _colours())


def _colours() -> Callable[[str], str]:
    """A function that paints the state of a node where stdout is a terminal."""
    painter = Painter.on(sys.stdout)

    def paint(word: str) -> str:
        if word == "Ready":
            return painter(word, "green")
        if word.startswith(("Ready,", "NotReady")):
            return painter(word, "red" if "Lost" in word or word.startswith("Not") else "yellow")
        return word

    return paint


def _row(one: NodeSummary) -> tuple[str, ...]:
    usage = one.usage
    return (
        usage.name,
        one.status,
        usage.role,
        one.pool or _NONE,
        one.state.capacity.value,
        one.slice or _NONE,
        ", ".join(f"{amount} {name}" for name, amount in one.accelerators.items()) or _NONE,
        str(usage.allocated),
        one.spare or _NONE,
        short_duration(one.age),
    )


def _wide_cells(one: NodeSummary) -> tuple[str, ...]:
    return (str(len(one.usage.holdings)), one.usage.address)
