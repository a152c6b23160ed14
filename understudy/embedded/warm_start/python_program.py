"""The Python program of a command: turns the command line into interpreter, mode, target and arguments.

A command that cannot be analysed is held without loading anything, and starts cold on activation: correct but slower.
"""

import os
import re
import shlex
import shutil
from collections.abc import Sequence

import msgspec

_PYTHON = re.compile(r"python(3(\.\d+)?)?", re.ASCII)
_FLAGS = re.compile(r"-[bBdEIOPsSuvq]+", re.ASCII)
_SHELLS = ("sh", "bash", "dash")
_SHELL_WORDS = re.compile(r"[^\w\s./:,@%+=\"'-]", re.ASCII)  # characters that a shell may interpret
_LITERAL = re.compile(r"'[^']*'")
_FIRST_LINE = 256


class PythonProgram(msgspec.Struct, frozen=True):
    interpreter: tuple[str, ...]  # with its options
    mode: str  # script, module or code
    target: str
    args: tuple[str, ...] = ()


def python_program(argv: Sequence[str], path: str) -> PythonProgram | None:
    """`path` is the search path of commands."""
    if not argv:
        return None
    name = os.path.basename(argv[0])
    if name in _SHELLS and len(argv) == 3 and argv[1] == "-c":
        return python_program(_plain_words(argv[2]), path)
    if _PYTHON.fullmatch(name):
        return _of_python(argv)
    return _of_script(argv, path)


def _plain_words(line: str) -> list[str]:
    """The words of a command line that a shell would not change; none where it might."""
    meant = _LITERAL.sub("", line.strip())
    if _SHELL_WORDS.search(meant) or "\n" in meant:
        return []
    try:
        words = shlex.split(line)
    except ValueError:
        return []
    words = words[1:] if words[:1] == ["exec"] else words
    return [] if not words or "=" in words[0] else words


def _of_python(argv: Sequence[str]) -> PythonProgram | None:
    at = 1
    while at < len(argv) and (_FLAGS.fullmatch(argv[at]) or argv[at] in ("-W", "-X")):
        at += 2 if argv[at] in ("-W", "-X") else 1
    interpreter, rest = tuple(argv[:at]), tuple(argv[at:])
    modes = {"-m": "module", "-c": "code"}
    if rest and rest[0] in modes and len(rest) > 1:
        return PythonProgram(interpreter, modes[rest[0]], rest[1], rest[2:])
    if not rest or rest[0].startswith("-"):
        return None
    return PythonProgram(interpreter, "script", rest[0], rest[1:])


def _of_script(argv: Sequence[str], path: str) -> PythonProgram | None:
    """A file whose first line names a Python, such as `torchrun`."""
    file = shutil.which(argv[0], path=path)
    if file is None:
        return None
    try:
        with open(file, "rb") as opened:
            line = opened.readline(_FIRST_LINE).decode(errors="replace")
    except OSError:
        return None
    words = line.removeprefix("#!").split() if line.startswith("#!") and line.endswith("\n") else []
    words = words[1:] if words and os.path.basename(words[0]) == "env" else words
    if not words or not _PYTHON.fullmatch(os.path.basename(words[0])):
        return None
    return _of_python([*words, file, *argv[1:]])
