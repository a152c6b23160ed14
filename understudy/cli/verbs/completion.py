"""`understudy completion`: prints a script that lets a shell complete verbs, options and the names of jobs."""

import argparse
import importlib
import sys

from understudy.cli.completing import bash, fish, zsh
from understudy.cli.completing.tree import tree_of
from understudy.cli.options import VerbParser

SHELLS = ("bash", "zsh", "fish")

ABOUT = """\
Print a completion script: verbs, options, the values they take, and the names of jobs and nodes,
which are asked of the cluster that the line names."""

EXAMPLES = """\
examples:
  source <(understudy completion bash)
  understudy completion zsh > "${fpath[1]}/_understudy"
  understudy completion fish | source"""


def add_flags(parser: VerbParser) -> None:
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=", ".join(SHELLS))
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    root = importlib.import_module("understudy.cli.verbs.parser").root_parser()
    scripts = {"bash": bash.script, "zsh": zsh.script, "fish": fish.script}
    sys.stdout.write(scripts[options.shell](tree_of(root)))
    return 0
