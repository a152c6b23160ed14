"""Installs mpirun and its helpers as scripts in a folder at the end of the PATH of every container."""

import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

import understudy
from understudy.embedded.agent_protocol import MARK
from understudy.embedded.mpi import drain, rank_supervisor
from understudy.objects.mpi import DRAIN, REMOTE_SHELL

_ROOT = Path(understudy.__file__).resolve().parents[1]
_PACKAGE = "understudy.embedded.mpi"
_MODULES = {"mpirun": "__main__", "mpiexec": "__main__", REMOTE_SHELL: "rsh"}


def install(folder: Path, socket: Path) -> Path:
    """`socket` is the path of the agent's socket, which the programs use."""
    folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    for name, text in _scripts(socket).items():
        if _is_installed(folder / name, text):
            continue  # so that a full disk does not matter
        fresh = folder / f".{name}"
        fresh.write_text(text)
        fresh.chmod(0o755)
        fresh.rename(folder / name)  # atomically: a process may be reading the old script
    return folder


def _is_installed(path: Path, text: str) -> bool:
    try:
        return os.access(path, os.X_OK) and path.read_text() == text
    except OSError:
        return False


def _scripts(socket: Path) -> Mapping[str, str]:
    found = {name: _script(_starter(module, socket)) for name, module in _MODULES.items()}
    return {**found, DRAIN: _script([drain.__file__, MARK, rank_supervisor.__file__, f"{_PACKAGE}.__main__"])}


def _starter(module: str, socket: Path) -> list[str]:
    """The arguments of an isolated Python: the container's settings of Python do not apply to these programs."""
    lines = (
        "import pathlib, sys",
        f"sys.path.insert(0, {str(_ROOT)!r})",
        f"from {_PACKAGE}.{module} import main",
        f"sys.exit(main(pathlib.Path({str(socket)!r}), sys.argv[1:]))",
    )
    return ["-c", "; ".join(lines)]


def _script(words: list[str]) -> str:
    return f'#!/bin/sh\nexec {shlex.join([sys.executable, "-I", *words])} "$@"\n'
