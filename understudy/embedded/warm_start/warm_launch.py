"""Turns a Launch into one that holds before its command, and writes the activation that lets it go on."""

import contextlib
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from understudy.embedded.shim import container_files
from understudy.embedded.shim.container_files import Launch
from understudy.embedded.shim.pod_folders import AttemptFolder
from understudy.embedded.warm_start.python_program import python_program

_HOLD = str(Path(__file__).with_name("hold.py"))


def warm_launch(launch: Launch, folder: AttemptFolder, imports: Iterable[str] = ()) -> Launch:
    """The same container, holding; `imports` are modules to load besides those that the program imports."""
    with contextlib.suppress(FileExistsError):
        os.mkfifo(folder.activation_fifo, 0o600)
    program = python_program(launch.argv, launch.env.get("PATH", os.defpath))
    if program is None:
        argv: tuple[str, ...] = (sys.executable, "-I", _HOLD)
    else:
        argv = (*program.interpreter, _HOLD, program.mode, program.target, ",".join(imports), *program.interpreter)
    return msgspec.structs.replace(launch, argv=argv, hold_folder=str(folder.path))


def write_activation(folder: AttemptFolder, launch: Launch) -> None:
    """Writes what the container becomes once it is activated. It reads the file once, however often it is written."""
    program = python_program(launch.argv, launch.env.get("PATH", os.defpath))
    activation: dict[str, Any] = {
        "argv": launch.argv,
        "env": launch.env,
        "cwd": launch.cwd,
        "root": launch.root,
        "hostname": launch.hostname if launch.isolated else "",  # else it would change the name of the machine
    }
    container_files.write(
        folder.activation, activation if program is None else activation | msgspec.to_builtins(program)
    )


def activate(folder: AttemptFolder) -> None:
    """Wakes the holding container. One that has gone on already ignores it."""
    with contextlib.suppress(OSError):  # the container has not opened the FIFO yet: it reads the activation first
        activate = os.open(folder.activation_fifo, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            os.write(activate, b"\n")
        finally:
            os.close(activate)
