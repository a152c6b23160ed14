"""`understudy demo`: the hot-swap demo with real processes on a temporary cluster, or a dry run by the planner."""

import argparse
import sys
from collections.abc import Callable, Mapping

from understudy.cli.demo.dry_run import print_dry_run
from understudy.cli.demo.run import run_demo
from understudy.cli.errors import BadInput
from understudy.cli.options import VerbParser

ABOUT = """\
See a hot swap happen. A cluster of five accelerator slices is started on this machine, in a
folder and with a name of its own, and two training jobs with it: their pods are real
processes and so are the nodes, their accelerators are made up. A node is killed and the idle
slice steps in; another is, and the less important job saves, makes room, and comes back when
a node does. On a terminal the picture of the slices changes as they do. At the end stands a
table of the incidents: when each was detected, decided, and over, from the cluster's own
records. It takes about ten seconds, and nothing of it is left behind.

With --dry-run nothing is started: the planner says what it would do, step by step."""

EXAMPLES = """\
examples:
  understudy demo
  understudy demo hotswap --incidents 50      so many that their median and p99 mean something
  understudy demo --dry-run

exit codes: 0 the story came about, 1 it did not, 130 it was interrupted"""

_FEWEST = 2  # incidents: those of the story


def add_flags(parser: VerbParser) -> None:
    parser.add_argument(
        "story", metavar="STORY", nargs="?", choices=tuple(_STORIES), default="hotswap",
        help=f"which one: {', '.join(_STORIES)} (default: hotswap)",
    )  # fmt: skip
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--dry-run", action="store_true", help="only plan it; start nothing")
    how.add_argument("--keep", action="store_true", help="leave the cluster running, and say how to reach it")
    parser.add_argument(
        "--incidents", metavar="N", type=int, help="let nodes die until there were so many incidents (default: 2)"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    return _STORIES[options.story](options)


def _hotswap(options: argparse.Namespace) -> int:
    if options.incidents is not None and options.dry_run:
        raise BadInput("--incidents: a dry run has no incidents to time; leave out one of the two")
    if options.incidents is not None and options.incidents < _FEWEST:
        raise BadInput(f"--incidents: {options.incidents} is too few; the story has {_FEWEST}")
    if options.dry_run:
        print_dry_run(sys.stdout)
        return 0
    return run_demo(keep=options.keep, incidents=options.incidents or _FEWEST)


_STORIES: Mapping[str, Callable[[argparse.Namespace], int]] = {"hotswap": _hotswap}
