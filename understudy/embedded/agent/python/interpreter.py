"""Finds the Python that the user's shell has, and asks it where its packages and programs are."""

import asyncio
import logging
import os
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

import msgspec

log = logging.getLogger(__name__)

NAMES = ("python3", "python")  # in this order: `python` may be Python 2
_ANSWER_SECONDS = 20.0
_QUESTION = """
import json, sys, sysconfig
print(json.dumps({
    "executable": sys.executable,
    "base": getattr(sys, "_base_executable", None) or sys.executable,
    "version": "%d.%d" % sys.version_info[:2] + getattr(sys, "abiflags", "").replace("m", ""),
    "prefix": sys.prefix,
    "virtual": sys.prefix != sys.base_prefix,
    "programs": sysconfig.get_path("scripts"),
    "packages": sorted({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}),
}))
"""


class Interpreter(msgspec.Struct, frozen=True, kw_only=True):
    """A Python 3 of this machine: of a virtual environment, or of a whole installation."""

    executable: str
    base: str  # the executable of the installation, for a virtual environment; else the executable
    version: str  # such as 3.12, as the folder of its packages is named
    prefix: str
    virtual: bool
    programs: str  # the folder of its console scripts
    packages: tuple[str, ...]

    @property
    def sees_installation(self) -> bool:
        """Whether it sees the packages of the installation. A virtual environment says so in a file."""
        if not self.virtual:
            return True
        try:
            text = Path(self.prefix, "pyvenv.cfg").read_text()
        except OSError:
            return False
        settings = dict(line.partition("=")[::2] for line in text.lower().replace(" ", "").splitlines())
        return settings.get("include-system-site-packages") == "true"


async def find_interpreter(path: str) -> Interpreter | None:
    """The first that works: the one on the PATH of the user's shell, else the one that runs this."""
    candidates = [found for name in NAMES if (found := shutil.which(name, path=path))]
    for candidate in dict.fromkeys([*candidates, sys.executable]):
        try:
            return await ask(candidate)
        except (OSError, ValueError, TimeoutError, msgspec.DecodeError) as problem:
            log.warning("%s is not used for pods: %s", candidate, problem)
    return None


async def ask(executable: str) -> Interpreter:
    """Raises OSError, ValueError, TimeoutError and msgspec.DecodeError where it gives no answer."""
    process = await asyncio.create_subprocess_exec(
        executable,
        "-I",
        "-c",
        _QUESTION,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(_ANSWER_SECONDS):
            answer, _ = await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()
        raise
    if process.returncode:
        raise ValueError(f"it ended with exit code {process.returncode}")
    return msgspec.json.decode(answer, type=Interpreter)


def own_folders() -> set[str]:
    """The folders of programs of the virtual environment that Understudy runs in; none where it runs in no such one."""
    if sys.prefix == sys.base_prefix:
        return set()
    return {os.path.realpath(folder) for folder in (os.path.dirname(sys.executable), os.path.join(sys.prefix, "bin"))}


def without(path: str, folders: Iterable[str]) -> str:
    """The search path without these folders."""
    left_out = set(folders)
    kept = [one for one in path.split(os.pathsep) if one and os.path.realpath(one) not in left_out]
    return os.pathsep.join(kept) or os.defpath
