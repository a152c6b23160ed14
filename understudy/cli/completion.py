"""`understudy completion`: prints a script that lets a shell complete verbs, options and the names of jobs."""

import argparse
from functools import partial
from typing import Any

SHELLS = ("bash", "zsh", "fish")

_ABOUT = """\
Print a completion script: verbs, options, the values they take, and the names of jobs and nodes,
which are asked of the cluster that the line names."""

_EXAMPLES = """\
examples:
  source <(understudy completion bash)
  understudy completion zsh > "${fpath[1]}/_understudy"
  understudy completion fish | source"""


def add_to(verbs: Any) -> None:
    summary = "print a completion script for a shell"
    parser: argparse.ArgumentParser = verbs.add_parser("completion", help=summary, description=_ABOUT, epilog=_EXAMPLES)
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=", ".join(SHELLS))
    parser.set_defaults(run=partial(run, verbs))


def run(verbs: "argparse._SubParsersAction[Any]", options: argparse.Namespace) -> int:
    import sys

    from understudy.cli.completing import bash, fish, zsh
    from understudy.cli.completing.tree import tree_of

    root = argparse.ArgumentParser(prog="understudy")
    root.add_argument("--version", action="version", help="print the version")
    root._actions.append(verbs)
    scripts = {"bash": bash.script, "zsh": zsh.script, "fish": fish.script}
    sys.stdout.write(scripts[options.shell](tree_of(root)))
    return 0
