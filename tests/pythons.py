"""`make test-pythons`: the quick tests on the oldest and on the newest supported Python at hand.

It looks for interpreters on PATH, among those of pyenv and among those of uv, and says which it found.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
OLDEST = (3, 11)  # as pyproject.toml has it
KNOWN = tuple((3, minor) for minor in range(OLDEST[1], 15))  # newer ones are taken as well
_NAME = re.compile(r"python3\.\d+")
_QUESTION = "import sys, ensurepip, venv; print(sys.version_info.releaselevel, *sys.version_info[:3])"
_ANSWER_SECONDS = 20


class Interpreter(NamedTuple):
    version: tuple[int, int, int]
    path: Path

    @property
    def line(self) -> tuple[int, int]:
        return self.version[:2]

    def __str__(self) -> str:
        return f"Python {_dotted(self.version)} ({self.path})"


def main() -> int:
    own = interpreter(Path(sys.executable))
    if own is None:
        print(f"{sys.executable} is no released Python that can make virtual environments", file=sys.stderr)
        return 1
    found = sorted({own, *filter(None, map(interpreter, candidates(os.environ)))})
    chosen = oldest_and_newest(found, own)
    for sentence in findings(found, chosen):
        print(sentence, flush=True)
    for one in chosen:
        print(f"\n== the quick tests on {one}", flush=True)
        if subprocess.run(["make", "test-quick", *settings(one, own)], cwd=ROOT, check=False).returncode:
            print(f"the quick tests fail on {one}", file=sys.stderr)
            return 1
    return 0


def candidates(environment: Mapping[str, str]) -> Iterator[Path]:
    """Files that may be interpreters."""
    home = Path(environment.get("HOME", "/"))
    for folder in filter(None, environment.get("PATH", "").split(os.pathsep)):
        yield from (path for path in _glob(Path(folder), "python3.*") if _NAME.fullmatch(path.name))
    pyenv = Path(environment.get("PYENV_ROOT") or home / ".pyenv")
    yield from _glob(pyenv / "versions", "3.*/bin/python3")
    data = Path(environment.get("XDG_DATA_HOME") or home / ".local" / "share")
    yield from _glob(Path(environment.get("UV_PYTHON_INSTALL_DIR") or data / "uv" / "python"), "*/bin/python3")


def _glob(folder: Path, pattern: str) -> Iterable[Path]:
    try:
        return sorted(folder.glob(pattern))
    except OSError:  # a folder on PATH that may not be read
        return ()


def interpreter(path: Path) -> Interpreter | None:
    """What it says of itself; None where it does not run, is a preview, or cannot make virtual environments."""
    try:
        told = subprocess.run(
            [path, "-c", _QUESTION], capture_output=True, text=True, timeout=_ANSWER_SECONDS, check=True
        )
        level, major, minor, patch = told.stdout.split()
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    return Interpreter((int(major), int(minor), int(patch)), path) if level == "final" else None


def oldest_and_newest(found: Iterable[Interpreter], own: Interpreter) -> list[Interpreter]:
    """Of each release line the newest patch; .venv's own Python, which is there already, for its line."""
    lines = {one.line: one for one in sorted(found) if one.line >= OLDEST} | {own.line: own}
    return [lines[line] for line in sorted({min(lines), max(lines)})]


def findings(found: Iterable[Interpreter], chosen: Iterable[Interpreter]) -> Iterator[str]:
    lines = {one.line for one in found if one.line >= OLDEST}
    yield f"found: {', '.join(f'Python {_dotted(line)}' for line in sorted(lines))}"
    missing = [f"Python {_dotted(line)}" for line in KNOWN if line not in lines]
    if missing:
        yield f"not found: {', '.join(missing)}"
    if OLDEST not in lines:
        yield f"Python {_dotted(OLDEST)}, the oldest that is supported, is not tested here"
    yield f"tested: {' and '.join(map(str, chosen))}"


def settings(one: Interpreter, own: Interpreter) -> list[str]:
    """For make: an environment beside .venv for every other release line."""
    return [] if one.line == own.line else [f"VENV=.venv-{_dotted(one.line)}", f"PYTHON={one.path}"]


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


if __name__ == "__main__":
    sys.exit(main())
