"""The `understudy` command: wires the verbs together. The one place that knows every part."""

import argparse
import os
import sys
from collections.abc import Sequence

from understudy import __version__
from understudy.cli import demo, down, kubeconfig, plan, reset, status, up
from understudy.cli.arguments import OneLineParser
from understudy.cli.complaint import BadInput, one_line

BAD_INPUT = 2
INTERRUPTED = 130

_ABOUT = """\
Keeps distributed training jobs running on shared accelerators.

When a node dies, a spare steps in. When no spare is left, the least important job
gives up its place, whole, and comes back later by itself."""

_EXAMPLES = """\
examples:
  understudy up                                                 a cluster on this machine, for kubectl and friends
  understudy plan -f cluster.yaml                               what would be done now, and why
  kubectl get nodes,pods,jobs,priorityclasses -A -o yaml | understudy plan -f -
  understudy plan -f cluster.yaml --what-if fail-node=node-7    what if this node died now?
  understudy demo                                               see a hot swap happen, with real processes

`understudy VERB --help` tells more about a verb."""


def parser() -> argparse.ArgumentParser:
    root = OneLineParser(prog="understudy", description=_ABOUT, epilog=_EXAMPLES)
    root.add_argument("--version", action="version", version=f"understudy {__version__}")
    verbs = root.add_subparsers(title="verbs", metavar="VERB", required=True)
    for verb in (up, status, down, kubeconfig, reset, plan, demo):
        verb.add_to(verbs)
    return root


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; the exit code is 0 when it did what was asked, 2 when the input is wrong."""
    try:
        options = parser().parse_args(arguments)
        code: int = options.run(options)
        sys.stdout.flush()
        return code
    except BadInput as error:
        print(f"understudy: {one_line(str(error))}", file=sys.stderr)
        return BAD_INPUT
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return INTERRUPTED
