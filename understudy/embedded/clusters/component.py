"""One part of a cluster as a child process: started, and started again whenever it ends."""

import asyncio
import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

import understudy
from understudy.embedded.cluster_folder import ClusterFolder
from understudy.embedded.clusters.component_logs import last_lines, open_log

FIRST_PAUSE, LONGEST_PAUSE = 0.2, 5.0  # seconds before a part that ended is started again
STEADY = 10.0  # seconds after which a part counts as running well
PATIENCE = 10.0  # seconds for a part to end when it is asked to

Tell = Callable[[str], None]
Command = Callable[[str, ClusterFolder], Sequence[str]]


def component_command(part: str, folder: ClusterFolder) -> list[str]:
    return [sys.executable, "-u", "-m", "understudy.embedded", part, str(folder.path)]


def package_root() -> Path:
    """Where a new Python finds this package, whatever folder the user is in."""
    return Path(understudy.__file__).resolve().parents[1]


class Launcher(msgspec.Struct, frozen=True):
    """Where parts run, how they are started, and who is told about them."""

    folder: ClusterFolder
    tell: Tell
    command: Command = component_command

    def report(self, text: str) -> None:
        """A report that cannot be made ends nothing."""
        with contextlib.suppress(OSError, ValueError):
            self.tell(text)


class _Ending(NamedTuple):
    how: str
    last_words: str = ""


class Component:
    """Kept for ever: whatever keeps it from being started is told, and tried again."""

    def __init__(self, name: str, site: Launcher, before_start: Callable[[], None] = lambda: None) -> None:
        self.name = name
        self._site = site
        self._before_start = before_start
        self._process: asyncio.subprocess.Process | None = None
        self._leaving = asyncio.Event()
        self.kept = asyncio.create_task(self._keep())  # ends when the part was stopped

    async def stop(self) -> None:
        self._leave(signal.SIGTERM)
        try:
            await asyncio.wait_for(asyncio.shield(self.kept), PATIENCE)
        except TimeoutError:
            self._site.report(f"{self.name} does not end; killed")
            await self.kill()

    async def kill(self) -> None:
        self._leave(signal.SIGKILL)
        await self.kept

    def restart(self) -> None:
        """For it to read its files anew."""
        process = self._process
        self._signal(signal.SIGTERM)
        asyncio.get_running_loop().call_later(
            PATIENCE, lambda: self._signal(signal.SIGKILL) if self._process is process else None
        )

    async def _keep(self) -> None:
        pause = FIRST_PAUSE
        while not self._leaving.is_set():
            began = time.monotonic()
            ending = await self._run()
            if self._leaving.is_set():
                return
            pause = FIRST_PAUSE if time.monotonic() - began > STEADY else pause
            self._site.report(f"{self.name} {ending.how}; starting it again{ending.last_words}")
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._leaving.wait(), pause)
            pause = min(pause * 2, LONGEST_PAUSE)

    async def _run(self) -> _Ending:
        """One life of its process."""
        try:
            self._before_start()
            self._process = await self._start()
        except Exception as problem:  # a full disk, no memory, no process or descriptor left: it may pass
            return _Ending(f"cannot be started: {problem}")
        if self._leaving.is_set():  # told while it was being started
            self._signal(signal.SIGTERM)
        code = await self._process.wait()
        return _Ending(how_it_ended(code), self._last_words(code))

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
        lines = last_lines(self._site.folder, self.name, 1) if code > 0 else []
        return f" (it said: {lines[0].strip()})" if lines else ""


def how_it_ended(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    known = {int(number): number.name for number in signal.Signals}
    return f"was killed by {known.get(-code, f'signal {-code}')}"
