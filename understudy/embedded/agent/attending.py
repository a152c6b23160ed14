"""Looks after one running container: its probes, its hooks, and commands run beside it."""

import asyncio
import os
from collections.abc import Callable, Coroutine, Sequence
from typing import IO, Any, Protocol

from understudy.embedded.agent.checks import Action, check
from understudy.embedded.agent.line import Beside
from understudy.embedded.agent.pods import Container, Hook, Probe
from understudy.embedded.agent.probing import Finding, Result, Tally, counted, finding

_LONGEST_OUTPUT = 10 * 1024


class Interior(Protocol):
    """The inside of a container."""

    @property
    def address(self) -> str: ...

    def enter(self, argv: Sequence[str], streams: Sequence[int], *, tty: bool) -> Beside: ...


async def run_inside(interior: Interior, argv: Sequence[str], seconds: float) -> Result:
    """What the command said is the message where it failed."""
    reading, writing = os.pipe2(os.O_CLOEXEC)
    nothing = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    beside = interior.enter(argv, (nothing, writing, os.dup(writing)), tty=False)
    output = asyncio.ensure_future(_output(os.fdopen(reading, "rb", buffering=0)))
    try:
        async with asyncio.timeout(seconds):
            how = await asyncio.shield(beside.finished)
            said = await output
    except TimeoutError:
        return Result(False, f'command "{" ".join(argv)}" timed out after {seconds:g}s')
    finally:
        beside.hang_up()
        output.cancel()
        await asyncio.gather(output, return_exceptions=True)
    return Result(how.exit_code == 0 and not how.problem, how.problem or said or f"exit code {how.exit_code}")


async def _output(pipe: IO[bytes]) -> str:
    """To the end, so that the command never blocks; the beginning of it is kept."""
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    try:
        text = b""
        while block := await reader.read(1 << 16):
            text = (text + block)[:_LONGEST_OUTPUT]
        return text.decode(errors="replace").strip()
    finally:
        transport.close()


class Listener(Protocol):
    """Who wants to know what probes find. `kind` is Startup, Liveness or Readiness."""

    def found(self, kind: str, finding: Finding) -> None: ...

    def failed(self, kind: str, message: str) -> None:
        """One check, whatever the thresholds say."""
        ...


class Attendant:
    def __init__(self, container: Container, interior: Interior, listener: Listener) -> None:
        self._container = container
        self._interior = interior
        self._listener = listener
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, *, started: bool) -> None:
        """`started` where the startup probe has passed before."""
        if self._container.startup_probe is not None and not started:
            self._begin(self._watch("Startup", self._container.startup_probe))
        else:
            self._watch_on()

    def run_hook(self, hook: Hook, done: Callable[[Result], None], seconds: float) -> None:
        self._begin(self._run_hook(hook, done, seconds))

    def stop(self) -> None:
        for task in self._tasks:
            task.cancel()

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _watch_on(self) -> None:
        for kind, probe in (
            ("Liveness", self._container.liveness_probe),
            ("Readiness", self._container.readiness_probe),
        ):
            if probe is not None:
                self._begin(self._watch(kind, probe))

    async def _watch(self, kind: str, probe: Probe) -> None:
        action = probe.exec or probe.http_get or probe.tcp_socket or probe.grpc
        if action is None:
            return
        await asyncio.sleep(probe.initial_delay_seconds)
        tally, before = Tally(), Finding.OPEN
        while True:
            result = await self._check(action, probe.timeout_seconds)
            if not result.passed:
                self._listener.failed(kind, result.message)
            tally = counted(tally, result)
            found = finding(probe, tally)
            if found not in (Finding.OPEN, before):
                before = found
                self._listener.found(kind, found)
                if kind == "Startup":
                    if found is Finding.PASSED:
                        self._watch_on()
                    return
            await asyncio.sleep(probe.period_seconds)

    async def _check(self, action: Action, seconds: float) -> Result:
        async def runner(argv: Sequence[str], limit: float) -> Result:
            return await run_inside(self._interior, argv, limit)

        return await check(action, self._container, self._interior.address, runner, seconds)

    async def _run_hook(self, hook: Hook, done: Callable[[Result], None], seconds: float) -> None:
        action = hook.exec or hook.http_get or hook.tcp_socket
        if hook.sleep is not None:
            await asyncio.sleep(min(hook.sleep.seconds, seconds))
            done(Result(True))
        elif action is None:
            done(Result(True))
        else:
            done(await self._check(action, seconds))
