"""Runs the probes and hooks of one container, and turns the results of probes into what is known of the container."""

import asyncio
import enum
import os
from collections.abc import Callable, Coroutine, Sequence
from typing import IO, Any, Protocol

import msgspec

from understudy.embedded.agent.api.event_queue import PodEvents
from understudy.embedded.agent.api.pod_types import Container, LifecycleHandler, Pod, Probe
from understudy.embedded.agent.containers.observed_container import NOT_OBSERVED, ObservedContainer, StopRequest
from understudy.embedded.agent.containers.probe_checks import CheckAction, CheckResult, run_check
from understudy.embedded.agent.processes.fork_server_connection import ExecProcess


class ProbeOutcome(enum.Enum):
    PASSED = enum.auto()
    FAILED = enum.auto()
    OPEN = enum.auto()  # neither threshold has been reached since the last change


class ResultStreak(msgspec.Struct, frozen=True):
    """Equal results in a row."""

    passed: bool = False
    count: int = 0


def add_result(streak: ResultStreak, result: CheckResult) -> ResultStreak:
    return ResultStreak(result.passed, streak.count + 1 if streak.passed == result.passed else 1)


def probe_outcome(probe: Probe, streak: ResultStreak) -> ProbeOutcome:
    if streak.passed:
        return ProbeOutcome.PASSED if streak.count >= probe.success_threshold else ProbeOutcome.OPEN
    return ProbeOutcome.FAILED if streak.count >= probe.failure_threshold else ProbeOutcome.OPEN


_LONGEST_OUTPUT = 10 * 1024


class ContainerInterior(Protocol):
    """A container in which commands can be run."""

    @property
    def address(self) -> str: ...

    def enter(self, argv: Sequence[str], streams: Sequence[int], *, tty: bool) -> ExecProcess: ...


async def run_in_container(interior: ContainerInterior, argv: Sequence[str], seconds: float) -> CheckResult:
    """If the command fails, its output is the message."""
    reading, writing = os.pipe2(os.O_CLOEXEC)
    nothing = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    exec_process = interior.enter(argv, (nothing, writing, os.dup(writing)), tty=False)
    output = asyncio.ensure_future(_output(os.fdopen(reading, "rb", buffering=0)))
    try:
        async with asyncio.timeout(seconds):
            how = await asyncio.shield(exec_process.finished)
            text = await output
    except TimeoutError:
        return CheckResult(False, f'command "{" ".join(argv)}" timed out after {seconds:g}s')
    finally:
        exec_process.kill()
        output.cancel()
        await asyncio.gather(output, return_exceptions=True)
    return CheckResult(how.exit_code == 0 and not how.problem, how.problem or text or f"exit code {how.exit_code}")


async def _output(pipe: IO[bytes]) -> str:
    """Reads to the end, so that the command never blocks, and keeps the beginning."""
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


class ProbeListener(Protocol):
    """Receives the results of probes. `kind` is Startup, Liveness or Readiness."""

    def found(self, kind: str, finding: ProbeOutcome) -> None: ...

    def failed(self, kind: str, message: str) -> None:
        """One check has failed, whatever the thresholds are."""
        ...


class ProbeRunner:
    def __init__(self, container: Container, interior: ContainerInterior, listener: ProbeListener) -> None:
        self._container = container
        self._interior = interior
        self._listener = listener
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, *, started: bool) -> None:
        """`started`: the startup probe has passed before."""
        if self._container.startup_probe is not None and not started:
            self._begin(self._watch("Startup", self._container.startup_probe))
        else:
            self._watch_on()

    def run_hook(self, hook: LifecycleHandler, done: Callable[[CheckResult], None], seconds: float) -> None:
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
        streak, before = ResultStreak(), ProbeOutcome.OPEN
        while True:
            result = await self._check(action, probe.timeout_seconds)
            if not result.passed:
                self._listener.failed(kind, result.message)
            streak = add_result(streak, result)
            found = probe_outcome(probe, streak)
            if found not in (ProbeOutcome.OPEN, before):
                before = found
                self._listener.found(kind, found)
                if kind == "Startup":
                    if found is ProbeOutcome.PASSED:
                        self._watch_on()
                    return
            await asyncio.sleep(probe.period_seconds)

    async def _check(self, action: CheckAction, seconds: float) -> CheckResult:
        async def runner(argv: Sequence[str], limit: float) -> CheckResult:
            return await run_in_container(self._interior, argv, limit)

        return await run_check(action, self._container, self._interior.address, runner, seconds)

    async def _run_hook(self, hook: LifecycleHandler, done: Callable[[CheckResult], None], seconds: float) -> None:
        action = hook.exec or hook.http_get or hook.tcp_socket
        if hook.sleep is not None:
            await asyncio.sleep(min(hook.sleep.seconds, seconds))
            done(CheckResult(True))
        elif action is None:
            done(CheckResult(True))
        else:
            done(await self._check(action, seconds))


class ProbedContainers(Protocol):
    """The containers of a pod, as far as probes read and change them."""

    is_paused: bool
    observations: dict[str, ObservedContainer]
    pod: Pod

    @property
    def events(self) -> PodEvents: ...

    def note(self, name: str, **changes: Any) -> None: ...

    def now(self) -> float: ...

    @property
    def address(self) -> str: ...

    def enter(self, name: str, argv: Sequence[str], streams: Sequence[int], *, tty: bool) -> ExecProcess: ...


class ProbedContainer(msgspec.Struct, frozen=True):
    """One container with probes. Results are ignored while its node does not answer."""

    containers: ProbedContainers
    container: Container

    @property
    def address(self) -> str:
        return self.containers.address

    def enter(self, argv: Sequence[str], streams: Sequence[int], *, tty: bool) -> ExecProcess:
        return self.containers.enter(self.container.name, argv, streams, tty=tty)

    def found(self, kind: str, finding: ProbeOutcome) -> None:
        name, passed = self.container.name, finding is ProbeOutcome.PASSED
        if self.containers.is_paused or not self.containers.observations.get(name, NOT_OBSERVED).is_running:
            return
        match kind:
            case "Readiness":
                self.containers.note(name, ready=passed)
            case "Startup" if passed:
                self.containers.note(name, started=True, ready=self.container.readiness_probe is None)
            case _ if not passed:
                self._stop_unhealthy(kind)

    def failed(self, kind: str, message: str) -> None:
        if not self.containers.is_paused:
            self.containers.events.warning("Unhealthy", f"{kind} probe failed: {message}", self.container.name)

    def _stop_unhealthy(self, kind: str) -> None:
        container, containers = self.container, self.containers
        probe = container.startup_probe if kind == "Startup" else container.liveness_probe
        asked = probe.termination_grace_period_seconds if probe else None
        if containers.observations[container.name].stop is None:
            message = f"Container {container.name} failed {kind.lower()} probe, will be restarted"
            containers.events.normal("Killing", message, container.name)
            grace = float(containers.pod.grace if asked is None else asked)
            containers.note(container.name, stop=StopRequest(containers.now(), grace))
