"""The `understudy` command: wires the verbs together. The one place that knows every part."""

import argparse
import importlib
import os
import sys
from collections.abc import Sequence

from understudy import __version__
from understudy.cli.arguments import OneLineParser
from understudy.cli.complaint import BadInput, one_line

BAD_INPUT = 2
INTERRUPTED = 130

# In the order of the help: clusters, jobs, what jobs run on, the rest. Each is a module of understudy.cli.
VERBS = (
    "up", "status", "down", "kubeconfig", "reset", "demo",
    "submit", "apply", "list_jobs", "get", "why", "logs", "events", "incidents", "describe", "attach",
    "suspend", "resume", "delete", "prune",
    "top", "node", "spares", "priority", "plan",
    "serve", "doctor", "config", "version", "completion",
)  # fmt: skip

_ABOUT = """\
Keeps distributed training jobs running on shared accelerators.

When a node dies, a spare steps in. When no spare is left, the least important job
gives up its place, whole, and comes back later by itself."""

_EXAMPLES = """\
examples:
  understudy up                                                 a cluster on this machine, for kubectl and friends
  understudy submit pytorch --name train --gpus 1 --workers 2 "python train.py"
  understudy get train                                          its status, its instances and where they run
  understudy why train                                          why it waits, or how it came to be where it is
  understudy plan -f cluster.yaml --what-if fail-node=node-7    what if this node died now?
  understudy demo                                               see a hot swap happen, with real processes

`understudy VERB --help` tells more about a verb."""


def parser(verbs: Sequence[str] = VERBS) -> argparse.ArgumentParser:
    root = OneLineParser(prog="understudy", description=_ABOUT, epilog=_EXAMPLES)
    root.add_argument("--version", action="version", version=f"understudy {__version__}")
    root.add_argument("--loglevel", choices=("debug", "info", "warn", "error"), default="info", help=argparse.SUPPRESS)
    added = root.add_subparsers(title="verbs", metavar="VERB", required=True)
    for verb in verbs:
        importlib.import_module(f"understudy.cli.{verb}").add_to(added)
    return root


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; the exit code is 0 when it did what was asked, 2 when the input is wrong."""
    _open_standard_streams()
    try:
        options = parser(_typed(sys.argv[1:] if arguments is None else arguments)).parse_args(arguments)
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


def _open_standard_streams() -> None:
    """One that the caller has closed is given to nothing: else the next file opened would get what is meant for it."""
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(descriptor)
        except OSError:
            nothing = os.open(os.devnull, os.O_RDWR)  # the lowest descriptor that is free, which is this one
            setattr(sys, name, open(nothing, "w" if descriptor else "r", encoding="utf-8"))  # noqa: SIM115


def _typed(arguments: Sequence[str]) -> Sequence[str]:
    """The verb that was typed, if it is plain to see: the others need not be loaded. Completion is about them all."""
    plain = arguments and arguments[0] in VERBS and arguments[0] != "completion"
    return arguments[:1] if plain else VERBS
