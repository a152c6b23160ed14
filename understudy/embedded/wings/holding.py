"""Holds a container before its command, and gives it its cue: turns a Launch into one that waits, and into what it is
told when it is somebody's turn."""

import contextlib
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from understudy.embedded.shim import orders
from understudy.embedded.shim.layout import AttemptFolder
from understudy.embedded.shim.orders import Launch
from understudy.embedded.wings.programs import program_of

_HOLD = str(Path(__file__).with_name("hold.py"))


def held(launch: Launch, folder: AttemptFolder, imports: Iterable[str] = ()) -> Launch:
    """The same container, holding; `imports` are modules to load besides those the program names."""
    with contextlib.suppress(FileExistsError):
        os.mkfifo(folder.cue_call, 0o600)
    program = program_of(launch.argv, launch.env.get("PATH", os.defpath))
    if program is None:
        argv: tuple[str, ...] = (sys.executable, "-I", _HOLD)
    else:
        argv = (*program.interpreter, _HOLD, program.mode, program.target, ",".join(imports), *program.interpreter)
    return msgspec.structs.replace(launch, argv=argv, wings=str(folder.path))


def write_cue(folder: AttemptFolder, launch: Launch) -> None:
    """What it is to become, for when it is called. It reads that once, however often it is written."""
    program = program_of(launch.argv, launch.env.get("PATH", os.defpath))
    cue: dict[str, Any] = {
        "argv": launch.argv,
        "env": launch.env,
        "cwd": launch.cwd,
        "root": launch.root,
        "hostname": launch.hostname if launch.isolated else "",  # else it would be the machine's
    }
    orders.write(folder.cue, cue if program is None else cue | msgspec.to_builtins(program))


def call(folder: AttemptFolder) -> None:
    """It is its turn. Whoever has gone on already does not hear it."""
    with contextlib.suppress(OSError):  # nobody listens yet: it looks before it listens
        call = os.open(folder.cue_call, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            os.write(call, b"\n")
        finally:
            os.close(call)
