"""Builds the library that gives pods ports of their own (interposer.c), where this machine has a C compiler."""

import hashlib
import os
import platform
import shutil
import subprocess
from pathlib import Path

ADDRESS = "UNDERSTUDY_ADDRESS"  # the variable with the address of the pod
_SOURCE = Path(__file__).with_suffix(".c")
_COMPILERS = ("cc", "gcc", "clang")
_SECONDS = 60


class CannotBuild(Exception):
    """Why pods have to share the ports of the machine."""


def cache() -> Path | None:
    """A folder that all clusters of this user share; None where other users could write to it."""
    place = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "understudy"
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = place.stat()
    except (OSError, RuntimeError):
        return None
    safe = found.st_uid == os.getuid() and not found.st_mode & 0o022 and os.access(place, os.W_OK)
    return place if safe else None


def build(folder: Path) -> Path:
    """The library, compiled now or earlier."""
    version = hashlib.sha256(_SOURCE.read_bytes()).hexdigest()[:16]
    library = folder / f"interposer-{platform.machine()}-{version}.so"
    if library.exists():
        return library
    compiler = next((path for name in _COMPILERS if (path := shutil.which(name))), None)
    if compiler is None:
        raise CannotBuild("there is no C compiler")
    aside = folder / f".interposer-{os.getpid()}.so"
    line = [compiler, "-O2", "-shared", "-fPIC", "-o", str(aside), str(_SOURCE), "-ldl"]
    try:
        done = subprocess.run(line, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise CannotBuild(str(problem)) from problem
    if done.returncode != 0:
        raise CannotBuild(f"{compiler} says: {done.stderr.strip()[:500]}")
    os.replace(aside, library)
    return library
