"""One part of a cluster as a child process: started, and started again whenever it ends."""

import asyncio
import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

import understudy
from understudy.embedded.clusters.partlogs import last_lines, open_log
from understudy.embedded.folders import ClusterFolder

FIRST_PAUSE, LONGEST_PAUSE = 0.2, 5.0  # seconds before a part that ended is started again
STEADY = 10.0  # seconds after which a part counts as running well
PATIENCE = 10.0  # seconds for a part to end when it is asked to

Tell = Callable[[str], None]
Command = Callable[[str, ClusterFolder], Sequence[str]]


def part_command(part: str, folder: ClusterFolder) -> list[str]:
    return [sys.executable, "-u", "-m", "understudy.embedded", part, str(folder.path)]


def package_root() -> Path:
    """Where a new Python finds this package, whatever folder the user is in."""
    return Path(understudy.__file__).resolve().parents[1]


class Site(msgspec.Struct, frozen=True):
    """Where parts run, how they are started, and who is told about them."""

    folder: ClusterFolder
    tell: Tell
    command: Command = part_command


class Part:
    def __init__(self, name: str, site: Site) -> None:
        self.name = name
        self._site = site
        self._process: asyncio.subprocess.Process | None = None
        self._leaving = asyncio.Event()
        self.kept = asyncio.create_task(self._keep())  # ends when the part was stopped, or cannot be started at all

    async def stop(self) -> None:
        self._leave(signal.SIGTERM)
        try:
            await asyncio.wait_for(asyncio.shield(self.kept), PATIENCE)
        except TimeoutError:
            self._site.tell(f"{self.name} does not end; killed")
            await self.kill()

    async def kill(self) -> None:
        self._leave(signal.SIGKILL)
        await self.kept

    async def _keep(self) -> None:
        pause = FIRST_PAUSE
        while not self._leaving.is_set():
            began = time.monotonic()
            self._process = await self._start()
            if self._leaving.is_set():  # told while it was being started
                self._signal(signal.SIGTERM)
            code = await self._process.wait()
            if self._leaving.is_set():
                return
            pause = FIRST_PAUSE if time.monotonic() - began > STEADY else pause
            self._site.tell(f"{self.name} {how_it_ended(code)}; starting it again{self._last_words(code)}")
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._leaving.wait(), pause)
            pause = min(pause * 2, LONGEST_PAUSE)

    async def _start(self) -> asyncio.subprocess.Process:
        """In a session of its own, so that Ctrl-C reaches the supervisor alone."""
        log = open_log(self._site.folder, self.name)
        try:
            return await asyncio.create_subprocess_exec(
                *self._site.command(self.name, self._site.folder),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                cwd=package_root(),
            )
        finally:
            os.close(log)

    def _leave(self, number: int) -> None:
        self._leaving.set()
        self._signal(number)

    def _signal(self, number: int) -> None:
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(number)

    def _last_words(self, code: int) -> str:
        """Of a part that ended by itself. One that was killed had no time for any."""
        lines = last_lines(self._site.folder, self.name, 1) if code >= 0 else []
        return f" (it said: {lines[0].strip()})" if lines else ""


def how_it_ended(code: int) -> str:
    return f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
