"""One component of a cluster as a child process, restarted whenever it ends."""

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

FIRST_PAUSE, LONGEST_PAUSE = 0.2, 5.0  # seconds before a component that ended is restarted
STEADY = 10.0  # seconds after which the pause is reset
PATIENCE = 10.0  # seconds between SIGTERM and SIGKILL

Tell = Callable[[str], None]
Command = Callable[[str, ClusterFolder], Sequence[str]]


def component_command(part: str, folder: ClusterFolder) -> list[str]:
    return [sys.executable, "-u", "-m", "understudy.embedded", part, str(folder.path)]


def package_root() -> Path:
    """The folder that contains this package: components start there, so that Python finds it."""
    return Path(understudy.__file__).resolve().parents[1]


class Launcher(msgspec.Struct, frozen=True):
    """The folder of the cluster, the command of each component, and where reports about them go."""

    folder: ClusterFolder
    tell: Tell
    command: Command = component_command

    def report(self, text: str) -> None:
        """Does not raise: a report that cannot be written must not end the supervisor."""
        with contextlib.suppress(OSError, ValueError):
            self.tell(text)


class _Ending(NamedTuple):
    how: str
    last_words: str = ""


class Component:
    """Restarts until `stop` or `kill`. A failure to start is reported, and tried again."""

    def __init__(self, name: str, site: Launcher, before_start: Callable[[], None] = lambda: None) -> None:
        self.name = name
        self._site = site
        self._before_start = before_start
        self._process: asyncio.subprocess.Process | None = None
        self._leaving = asyncio.Event()
        self.kept = asyncio.create_task(self._keep())  # ends when the component was stopped

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
        """Makes the component read its files again."""
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
        """Starts the process and waits for its end."""
        try:
            self._before_start()
            self._process = await self._start()
        except Exception as problem:  # a full disk, no memory, no free pid or descriptor: may be temporary
            return _Ending(f"cannot be started: {problem}")
        if self._leaving.is_set():  # stopped while the process was being started
            self._signal(signal.SIGTERM)
        code = await self._process.wait()
        return _Ending(how_it_ended(code), self._last_log_lines(code))

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

    def _last_log_lines(self, code: int) -> str:
        """The last log line of a process that exited by itself; a killed one had no time to write one."""
        lines = last_lines(self._site.folder, self.name, 1) if code > 0 else []
        return f" (it said: {lines[0].strip()})" if lines else ""


def how_it_ended(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    known = {int(number): number.name for number in signal.Signals}
    return f"was killed by {known.get(-code, f'signal {-code}')}"
