"""A terminal for guides: runs their commands one after the other, on embedded clusters that end with the test.

A command that only looks is repeated until it shows what the guide shows, as a reader takes a moment too. A monitor
watches the cluster from the moment it is up, and the rules have to be kept at every change.
"""

import asyncio
import contextlib
import fcntl
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from tests.embedded.cluster_monitor import PATIENCE, ClusterMonitor
from tests.embedded.real_cluster import complaints
from tests.guides.transcripts import Step
from understudy.client import connect
from understudy.decide.policy import Policy
from understudy.embedded.cluster_folder import ClusterFolder

ROOT = Path(__file__).parents[2]
_LOOK = 0.1
_LONGEST_LOOK = 1.0  # seconds; output of pods comes without a change of the API
_LOOKS = re.compile(
    r"(understudy (--\S+ \S+ )?(get|list|top|why|logs|events|incidents|describe|status|node list|priority list)\b"
    r"|kubectl (get|logs|events|describe)\b|cat )"
)
_STARTS, _ENDS = re.compile(r"understudy up\b"), re.compile(r"understudy (down|reset)\b")
Rule = Callable[[ClusterMonitor], Iterable[str]]


class Printed(msgspec.Struct, frozen=True):
    text: str  # of both streams, in the order it came
    code: int


class Terminal:
    def __init__(self, folder: Path, rules: Sequence[Rule] = ()) -> None:
        self.home = folder / "home"
        self.environment = {
            name: value for name, value in os.environ.items() if name not in ("KUBECONFIG", "UNDERSTUDY_HOME")
        } | {
            "UNDERSTUDY_HOME": str(self.home),
            "HOME": str(folder),
            "PATH": f"{folder / 'programs'}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "COLUMNS": "200",
        }
        self.place = ROOT  # where commands are typed
        self.monitor: ClusterMonitor | None = None
        self._rules = rules
        self._watch = contextlib.AsyncExitStack()

    def program(self, name: str, script: str) -> None:
        """One that this terminal and its pods find before all others of that name."""
        path = self.home.parent / "programs" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(script)
        path.chmod(0o755)

    async def play(self, steps: Iterable[Step]) -> None:
        for step in steps:
            await self.perform(step)

    async def perform(self, step: Step) -> None:
        deadline = time.monotonic() + PATIENCE
        while True:
            looked_at = time.monotonic()
            printed = await self.run(step.command)
            if (printed.code != 0) is step.fails and step.is_what_was_shown(printed.text):
                return
            if not _LOOKS.match(step.command) or time.monotonic() > deadline:
                raise AssertionError(
                    f"line {step.line}: {step.command}\n--- shows\n{step.shown}\n--- printed, and exit code "
                    f"{printed.code}\n{printed.text}\n--- seen\n{self.monitor.picture() if self.monitor else ''}"
                )
            await self._until_something_happens(looked_at)

    async def _until_something_happens(self, looked_at: float) -> None:
        """A look starts a process, so it is repeated only when the cluster has changed, or after a second."""
        await asyncio.sleep(_LOOK)
        if self.monitor is not None:
            await self.monitor.stirs(since=looked_at, within=_LONGEST_LOOK)

    async def types(self, command: str) -> str:
        """A command that is to go well; what it printed."""
        printed = await self.run(command)
        assert printed.code == 0, f"{command}\n{printed.text}"
        return printed.text

    async def apply(self, *documents: dict[str, Any]) -> None:
        file = self.home.parent / "applied.json"
        for document in documents:
            file.write_text(json.dumps(document))
            await self.types(f"understudy apply -f {file}")

    async def run(self, command: str) -> Printed:
        """What it exports is there for the commands after it."""
        if _ENDS.match(command):
            await self._unwatch()
        with _alone() if _STARTS.match(command) else contextlib.nullcontext():
            printed = await self._run(command)
        if _STARTS.match(command) and printed.code == 0:
            await self._watch_cluster()
        return printed

    async def _run(self, command: str) -> Printed:
        kept = self.home.parent / "environment"
        process = await asyncio.create_subprocess_exec(
            "bash", "-c", f"{command}\ncode=$?; env -0 > {kept}; exit $code",
            cwd=self.place, env=self.environment, stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        async with asyncio.timeout(PATIENCE * 2):
            output, _ = await process.communicate()
        variables = kept.read_text().rstrip("\0").split("\0")
        self.environment |= dict(variable.split("=", 1) for variable in variables)
        return Printed(output.decode(), process.returncode or 0)

    async def _watch_cluster(self) -> None:
        await self._unwatch()
        [newest] = sorted((self.home / "clusters").iterdir(), key=lambda path: path.stat().st_mtime)[-1:]
        client = await self._watch.enter_async_context(connect(ClusterFolder(newest).kubeconfig))
        monitor = self.monitor = ClusterMonitor(client, (), Policy())
        monitor.more_rules = [lambda rule=rule: rule(monitor) for rule in self._rules]  # type: ignore[misc]
        await self._watch.enter_async_context(monitor.watching())

    async def _unwatch(self) -> None:
        await self._watch.aclose()
        if self.monitor is not None:
            assert not self.monitor.wrong, f"rules were broken on the way: {self.monitor.wrong}"
        for cluster in sorted((self.home / "clusters").glob("*")):
            assert not (words := list(complaints(ClusterFolder(cluster)))), "\n".join(words)

    async def close(self) -> None:
        await self._watch.aclose()
        await self._run("understudy down --all --now")


@contextlib.asynccontextmanager
async def terminal(folder: Path, rules: Sequence[Rule] = ()) -> AsyncIterator[Terminal]:
    opened = Terminal(folder, rules)
    try:
        yield opened
        await opened._unwatch()
    finally:
        await opened.close()


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Clusters that start at the same moment in different homes would take the same port."""
    with open(Path(tempfile.gettempdir(), "understudy-guides.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
