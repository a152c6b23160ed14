"""Where the command begins that stands behind the flags of `understudy submit KIND`, quoted or not.

`--name x mpirun tail -f /dev/null` becomes `--name x -- mpirun tail -f /dev/null`. A command in quotes is one word;
flags may follow it. Flags may also follow a program without arguments: `true --name x`.
"""

import argparse
from collections.abc import Mapping, Sequence

from understudy.cli.errors import BadInput

Flags = Mapping[str, argparse.Action]


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
    """None: there is no command, it is marked already, or an unknown flag comes before it."""
    position = 0
    while position < len(words):
        word = words[position]
        if not word.startswith("-"):
            return position
        position += _length(word, flags)
    return None


def _length(word: str, flags: Flags) -> int:
    """How many words a flag takes with its value. A flag that is not known takes the rest of the line."""
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
