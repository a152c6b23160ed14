"""`understudy node list`: nodes with their health, what they are for, and how much of it is taken."""

import argparse
import sys
from collections.abc import Callable
from typing import Any

from understudy.cli.input.times import short_duration
from understudy.cli.options import add_cluster_options
from understudy.cli.output.formats import print_as
from understudy.cli.output.tables import show, table
from understudy.cli.output.terminal import Painter
from understudy.cli.queries.nodes import NodeSummary, node_summaries
from understudy.cli.session import Session, run_in_session
from understudy.cli.views.nodes import node_figures

_ABOUT = """\
List nodes: how they are, which pool and slice they belong to, their accelerators and how many of
them are taken, and which are kept as spares. Besides Ready and NotReady, STATUS tells how the
scheduler judges a node: Suspect (gets nothing new), Leaving (announced its end), Lost."""

_EXAMPLES = """\
examples:
  understudy node list
  understudy node list -o wide         and why a node is not healthy"""

_HEAD = ("NAME", "STATUS", "ROLES", "POOL", "SLICE", "ACCELERATORS", "ALLOCATED", "SPARE", "AGE")
_WIDE = ("PODS", "ADDRESS", "REASON")
_NONE = "<none>"


def add_to(parts: Any) -> None:
    parser: argparse.ArgumentParser = parts.add_parser(
        "list", aliases=["ls"], help="list nodes", description=_ABOUT, epilog=_EXAMPLES
    )
    parser.add_argument("-o", "--output", choices=("wide", "json", "yaml", "name"), default="", help="form")
    add_cluster_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    async def work(session: Session) -> int:
        nodes = await node_summaries(session.client)
        names = [f"node/{one.usage.name}" for one in nodes]
        if print_as(options.output, {"nodes": [node_figures(one) for one in nodes]}, names):
            return 0
        wide = options.output == "wide"
        rows = [_HEAD + (_WIDE if wide else ()), *(_row(one, wide=wide) for one in nodes)]
        show(table(rows, _colours()))
        return 0

    return run_in_session(options, work)


def _colours() -> Callable[[str], str]:
    """How a node is doing, where stdout is a terminal."""
    painter = Painter.on(sys.stdout)

    def paint(word: str) -> str:
        if word == "Ready":
            return painter(word, "green")
        if word.startswith(("Ready,", "NotReady")):
            return painter(word, "red" if "Lost" in word or word.startswith("Not") else "yellow")
        return word

    return paint


def _row(one: NodeSummary, *, wide: bool) -> tuple[str, ...]:
    usage = one.usage
    row = (
        usage.name,
        one.status,
        usage.role,
        one.pool or _NONE,
        one.slice or _NONE,
        ", ".join(f"{amount} {name}" for name, amount in one.accelerators.items()) or _NONE,
        str(usage.allocated),
        one.spare or _NONE,
        short_duration(one.age),
    )
    return (*row, str(len(usage.holdings)), usage.address, one.reason or _NONE) if wide else row
