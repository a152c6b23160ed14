"""Lets the pips of a shared environment go one after the other.

Every Python of such an environment imports this file at its start, whatever its version, so it does little.

A pip that was killed may have left half of a package behind. The next one then installs what it is asked for anew.
"""

import os
import sys

_HAS_TURN = "UNDERSTUDY_PIP_HAS_TURN"  # the processes that pip starts belong to its turn


def is_pip(line: "list[str]") -> bool:
    """Whether a command line of Python runs pip."""
    words = list(line)
    while words:
        word = words.pop(0)
        if word in ("-W", "-X"):
            words = words[1:]
        elif word == "-m":
            return words[:1] == ["pip"]
        elif not word.startswith("-"):
            return os.path.basename(word).startswith("pip")
    return False


def take_turn(folder: str) -> None:
    """Waits for other pips of this environment. The turn ends with the process."""
    import atexit
    import fcntl

    lock = os.open(os.path.join(folder, "pip.lock"), os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o644)
    fcntl.flock(lock, fcntl.LOCK_EX)
    os.environ[_HAS_TURN] = "1"
    marker = os.path.join(folder, "pip.unfinished")
    if os.path.exists(marker):
        os.environ["PIP_FORCE_REINSTALL"] = "1"
    with open(marker, "w"):
        pass
    atexit.register(os.unlink, marker)


def _words() -> "list[str]":
    with open("/proc/self/cmdline", "rb") as line:
        return [os.fsdecode(word) for word in line.read().split(b"\0")[1:-1]]


if os.path.exists(os.path.join(sys.prefix, "understudy-shared")) and _HAS_TURN not in os.environ:
    try:
        if is_pip(_words()):
            take_turn(sys.prefix)
    except OSError:
        pass
