"""Console scripts for pods: the scripts of the user's Python, such as pip and torchrun, run by the Python of the pod.

A script names the interpreter it was installed for, which does not see what a pod installs. The copies made here name
the first `python3` on PATH, which is that of the pod.
"""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from understudy.embedded.agent.python.interpreter import Interpreter, own_folders

_PYTHON = re.compile(r"#!\s*(\S+)/python[\d.]*t?\s*$", re.ASCII)
_LONG_PYTHON = re.compile(r"'''exec' \"?(\S+?)/python[\d.]*t?\"? ", re.ASCII)  # where the first line would be too long
_PASSED_OVER = re.compile(r"(python|pip|pypy|activate)[\w.-]*|easy_install.*|.*\.(py|pyc)", re.IGNORECASE)
_OWN = "understudy"
_HEAD = 512
_LARGEST = 1 << 20
_PIP = """\
#!/usr/bin/env python3
import runpy, subprocess, sys
try:
    import pip
except ImportError:
    subprocess.check_call([sys.executable, "-m", "ensurepip"], stdout=subprocess.DEVNULL)
runpy.run_module("pip", run_name="__main__", alter_sys=True)
"""


class ConsoleScripts:
    """A folder of programs. `refresh` follows what the user installs while the cluster is up."""

    def __init__(self, folder: Path, interpreter: Interpreter, path: str) -> None:
        """`path` is the search path of the user's shell."""
        self.folder = folder
        self._interpreter = interpreter
        listed = [one for one in path.split(os.pathsep) if one]
        found = {os.path.realpath(one) for one in listed}
        # The folder of an interpreter that is started through another program, as pyenv does, is not on PATH.
        first = [] if os.path.realpath(interpreter.programs) in found else [interpreter.programs]
        self._places = [*first, *listed]
        self._seen: tuple[int, ...] | None = None

    @property
    def is_current(self) -> bool:
        return self._seen == self._changed_at()

    def refresh(self) -> None:
        """Looks at all programs on PATH, which takes a while."""
        seen = self._changed_at()
        self.folder.mkdir(mode=0o755, parents=True, exist_ok=True)
        wanted = self._wanted()
        for name, content in wanted.items():
            _install(self.folder / name, content)
        for name in os.listdir(self.folder):
            if name not in wanted:
                (self.folder / name).unlink(missing_ok=True)
        self._seen = seen

    def _changed_at(self) -> tuple[int, ...]:
        return tuple(map(_changed_at, self._places))

    def _wanted(self) -> Mapping[str, str | Path]:
        """The text of a script, or the program that a link leads to."""
        version = self._interpreter.version
        wanted: dict[str, str | Path] = dict.fromkeys(("pip", "pip3", f"pip{version}"), _PIP)
        known = set(wanted)
        for place in self._places:
            left_out = os.path.realpath(place) in own_folders()  # of the PATH of pods
            for program in _programs(place):
                if program.name in known or _PASSED_OVER.fullmatch(program.name):
                    continue
                known.add(program.name)
                script = self._rewritten(program) if program.name != _OWN else None
                if script is not None:
                    wanted[program.name] = script
                elif left_out:
                    wanted[program.name] = program
        return wanted

    def _rewritten(self, program: Path) -> str | None:
        """None for what is no script of this interpreter."""
        try:
            with program.open("rb") as opened:
                head = opened.read(_HEAD)
                if not head.startswith(b"#!") or (interpreter := _named_interpreter(head.decode())) is None:
                    return None
                text = (head + opened.read(_LARGEST)).decode()
        except (OSError, UnicodeDecodeError):
            return None
        lines = text.splitlines(keepends=True)
        folders = {os.path.dirname(one) for one in (self._interpreter.executable, self._interpreter.base)}
        if interpreter not in folders | {self._interpreter.programs}:
            return None
        return "#!/usr/bin/env python3\n" + "".join(lines[3 if lines[0].startswith("#!/bin/sh") else 1 :])


def _named_interpreter(head: str) -> str | None:
    """The folder of the Python that a script names."""
    first, *rest = head.splitlines()
    match = _PYTHON.match(first) or (_LONG_PYTHON.match(rest[0]) if first == "#!/bin/sh" and rest else None)
    return match[1] if match else None


def _programs(place: str) -> Iterator[Path]:
    try:
        entries = sorted(os.scandir(place), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if entry.is_file() and os.access(entry.path, os.X_OK):
            yield Path(entry.path)


def _changed_at(place: str) -> int:
    try:
        return os.stat(place).st_mtime_ns
    except OSError:
        return 0


def _install(path: Path, content: str | Path) -> None:
    """Replaces the file in one step: a pod may be reading it."""
    fresh = path.with_name(f".{path.name}")
    fresh.unlink(missing_ok=True)
    if isinstance(content, Path):
        fresh.symlink_to(content)
    elif not path.is_symlink() and path.exists() and path.read_text() == content:
        return
    else:
        fresh.write_text(content)
        fresh.chmod(0o755)
    fresh.replace(path)
