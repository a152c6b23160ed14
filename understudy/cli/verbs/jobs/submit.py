"""`understudy submit KIND`: flags, or a manifest with flags on top, into a job on the cluster, or into YAML.

The command behind the flags may be quoted or not: `--name x mpirun tail -f /dev/null` becomes
`--name x -- mpirun tail -f /dev/null`. A command in quotes is one word; flags may follow it. Flags may also follow a
program without arguments: `true --name x`.
"""

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from understudy.cli.errors import BadInput
from understudy.cli.options import VerbParser, add_cluster_options
from understudy.cli.submit import flags
from understudy.cli.submit.kinds.registered import KINDS, SubmitKind
from understudy.cli.submit.submission import submit

ABOUT = """\
Submit a training job: `understudy submit KIND` with flags that describe it and the command it
runs, in quotes; or `understudy submit -f job.yaml`. Everything is checked before anything is made.

`understudy submit KIND --help` lists the flags; docs/reference/submit.md says what each becomes."""
EXAMPLES = """\
examples:
  understudy submit pytorch --name=mnist --gpus=4 --workers=3 --priority=medium \\
      --sync-mode=git --sync-source=https://example.com/team/mnist.git \\
      "python /root/code/mnist/train.py --epochs 20"
  understudy submit mpi --name=ring --workers=2 --gpus=1 --dry-run "mpirun python ring.py"
  understudy submit jobset --name=llm --slices=3 --workers=2 --device=google.com/tpu=4 \\
      --exclusive=cloud.google.com/gke-nodepool --watch "python train.py"
  understudy submit -f job.yaml --priority=high --set spec.runPolicy.backoffLimit=3

exit codes: 0 submitted (with --wait or --watch: and it succeeded), 1 it could not be, or the job
failed, 2 the input is wrong and nothing was made"""
_NOT_FLAGS = {"run", "kind", "parser", "verb", "cluster_flags", "loglevel"}
_BEFORE = "before_kind_"  # flags in front of KIND: argparse would let those behind it, and their defaults, win

Flags = Mapping[str, argparse.Action]


def add_flags(parser: VerbParser) -> None:
    shared = type(parser)(add_help=False)
    for one in (parser, shared):
        flags.add_shared(one)
        flags.add_doing(one)
        add_cluster_options(one)
    for action in parser._actions[1:]:
        action.dest = _BEFORE + action.dest
    parser.set_defaults(run=run, kind=None, parser=parser)
    kinds = parser.add_subparsers(title="kinds", metavar="KIND")
    for kind in KINDS:
        _add_kind(kinds, kind, shared)


def _add_kind(kinds: Any, kind: SubmitKind, shared: argparse.ArgumentParser) -> None:
    name, *aliases = kind.NAMES
    also = f" (also: {', '.join(aliases)})" if aliases else ""
    about = f"a {kind.RESOURCES[0].kind}{also}"
    parser = kinds.add_parser(name, aliases=aliases, parents=[shared], help=about, description=kind.__doc__)
    parser.add_argument(
        "command", nargs="*", metavar="COMMAND", default=[], help="what it runs: one line in quotes, or words after --"
    )
    parser.mark_command = with_command_marked
    kind.add_flags(parser)
    parser.set_defaults(run=run, kind=kind, parser=parser)


def run(options: argparse.Namespace) -> int:
    return submit(in_one_place(options))


def in_one_place(options: argparse.Namespace) -> argparse.Namespace:
    """Flags have the same names whether a KIND was given or not. `given` are those on the command line."""
    values = vars(options)
    before = {name.removeprefix(_BEFORE): value for name, value in values.items() if name.startswith(_BEFORE)}
    behind = {name: value for name, value in values.items() if not name.startswith(_BEFORE)}
    parser: argparse.ArgumentParser = options.parser
    early = {name for name, value in before.items() if value != shared_default(parser, name)}
    if options.kind is not None and early:
        named = ", ".join(sorted(f"--{name.replace('_', '-')}" for name in early))
        raise BadInput(f"{named}: put flags behind the KIND of the job, where they count")
    merged = behind if options.kind is not None else {**behind, **before}
    given = {name for name, value in merged.items() if value != shared_default(parser, name)}
    return argparse.Namespace(**merged, given=given - _NOT_FLAGS)


def shared_default(parser: argparse.ArgumentParser, name: str) -> Any:
    """The default of a flag, under the name by which this parser has it."""
    known = {action.dest: action.default for action in parser._actions}
    default = known.get(name, known.get(_BEFORE + name))
    return None if default is argparse.SUPPRESS else default


def with_command_marked(words: Sequence[str], parser: argparse.ArgumentParser) -> list[str]:
    """The words with `--` in front of an unquoted command. A flag of submit within such a command is refused."""
    flags = parser._option_string_actions
    start = _first_word_of_command(words, flags)
    if start is None or not _is_unquoted_line(words[start:], flags):
        return list(words)
    command = words[start:]
    for word in command:
        if _is_long(word, flags):
            raise BadInput(
                f"{word}: it may be meant for submit or for {command[0]}; put the flags of submit first and the "
                "command behind `--`, or put the command in quotes"
            )
    return [*words[:start], "--", *command]


def _first_word_of_command(words: Sequence[str], flags: Flags) -> int | None:
    """The index of the first word of the command. None if there is no command, it is marked already, or an unknown flag
    comes before it."""
    position = 0
    while position < len(words):
        word = words[position]
        if not word.startswith("-"):
            return position
        position += _length(word, flags)
    return None


def _length(word: str, flags: Flags) -> int:
    """The number of words a flag takes with its value. An unknown flag takes the rest of the line."""
    if word == "--" or (word.partition("=")[0] not in flags and word[:2] not in flags):
        return 1_000_000
    action = flags.get(word)
    return 2 if action is not None and action.nargs is None else 1


def _is_unquoted_line(command: Sequence[str], flags: Flags) -> bool:
    if len(command) == 1 or any(character.isspace() for character in command[0]):
        return False
    return command[1] != "--" and not _is_long(command[1], flags)


def _is_long(word: str, flags: Flags) -> bool:
    return word.startswith("--") and word.partition("=")[0] in flags
