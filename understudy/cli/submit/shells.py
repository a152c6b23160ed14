"""What people type as a job's command into what a shell runs, so that the signal to save reaches the program itself.

A shell that waits for a program keeps SIGTERM to itself: the program is killed later and has saved nothing. Where the
line is one plain command, the shell can make way for it.
"""

import re
import shlex

# Those that change the shell, and those that begin something longer than one command. Small ones have nothing to save.
_NOT_PROGRAMS = re.compile(
    r"[.:!{]|\[\[?|alias|builtin|case|cd|command|declare|echo|eval|exec|exit|export|false|for|function|if|let|local"
    r"|printf|read|return|set|shift|shopt|source|test|time|trap|true|type|ulimit|umask|unset|until|wait|while"
)
_PROGRAM = re.compile(r"[\w./~+-]+")  # neither an assignment, nor anything the shell would put something else for


def making_way(command: str) -> str:
    return f"exec {command}" if _is_one_program(command) else command


def _is_one_program(command: str) -> bool:
    if "\n" in command.strip() or "`" in command:
        return False
    words = shlex.shlex(command, posix=True, punctuation_chars="();&|")
    words.commenters = ""
    try:
        found = list(words)
    except ValueError:  # a quote that is not closed: the shell will say so
        return False
    if not found or not _PROGRAM.fullmatch(found[0]) or _NOT_PROGRAMS.fullmatch(found[0]):
        return False
    return not any(set(word) <= set("();&|") for word in found if word)
