"""`understudy demo`: the hot-swap story, with real processes on a cluster of its own, or as the planner tells it."""

import argparse
import sys
from typing import Any

_ABOUT = """\
See a hot swap happen. A cluster of five accelerator slices is started on this machine, in a
folder and with a name of its own, and two training jobs with it: their pods are real
processes, their accelerators are made up. A node dies and the idle slice steps in; another
dies and the less important job saves, makes room, and comes back when a node does. It takes
about twenty seconds, and nothing of it is left behind.

With --dry-run nothing is started: the planner says what it would do, step by step."""

_EXAMPLES = """\
exit codes: 0 the story came about, 1 it did not, 130 it was interrupted"""


def add_to(verbs: Any) -> None:
    summary = "see a hot swap happen, with real processes"
    parser: argparse.ArgumentParser = verbs.add_parser("demo", help=summary, description=_ABOUT, epilog=_EXAMPLES)
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--dry-run", action="store_true", help="only plan it; start nothing")
    how.add_argument("--keep", action="store_true", help="leave the cluster running, and say how to reach it")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    if options.dry_run:
        from understudy.cli.story.planned import tell_hot_swap

        tell_hot_swap(sys.stdout)
        return 0
    from understudy.cli.story.showing import show

    return show(keep=options.keep)
