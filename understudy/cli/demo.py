"""`understudy demo`: the hot-swap story, told by the planner itself. A dry run: nothing is started anywhere."""

import argparse
import sys
from typing import Any

_ABOUT = """\
Tell the hot-swap story on a small cluster of accelerator slices: two training jobs start,
a node dies and a spare slice steps in, another dies and the less important job makes room,
a node comes back and so does that job.

It is a dry run: every plan is made by the real planner, and none is carried out."""


def add_to(verbs: Any) -> None:
    summary = "tell the hot-swap story, as a dry run"
    parser: argparse.ArgumentParser = verbs.add_parser("demo", help=summary, description=_ABOUT)
    parser.add_argument(
        "--from", metavar="DIR", dest="folder", help="where the story's objects are (default: examples/hot-swap)"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from understudy.cli.hotswap import tell_hot_swap

    tell_hot_swap(options.folder, sys.stdout)
    return 0
