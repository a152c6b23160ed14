"""The containers of one pod: starts them, watches their shims, signals them, and keeps what is observed of each."""

import asyncio
import logging
import signal
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from understudy.embedded.agent.api.event_queue import PodEvents
from understudy.embedded.agent.api.pod_types import Container, ContainerStatus, LifecycleHandler, Pod
from understudy.embedded.agent.containers import attempts
from understudy.embedded.agent.containers.launch_spec import control_group_name, process_mark, runtime_container_name
from understudy.embedded.agent.containers.observed_container import (
    NOT_OBSERVED,
    HookState,
    ObservedContainer,
    StopRequest,
    Termination,
)
from understudy.embedded.agent.containers.probe_checks import CheckResult
from understudy.embedded.agent.containers.probe_runner import ProbedContainer, ProbeRunner
from understudy.embedded.agent.containers.runtimes import exec_line
from understudy.embedded.agent.pods.container_starter import ContainerStarter
from understudy.embedded.agent.pods.dependencies import PodDependencies
from understudy.embedded.agent.pods.lifecycle import StartContainer
from understudy.embedded.agent.pods.pod_records import PodRecord
from understudy.embedded.agent.processes import fencing
from understudy.embedded.agent.processes.fork_server_connection import ExecProcess, ExecResult
from understudy.embedded.agent.processes.process_watch import ProcessWatch, watch_process
from understudy.embedded.shim import container_files
from understudy.embedded.shim.container_files import START_ERROR, ContainerExit, Launch, ShimState
from understudy.embedded.shim.pod_folders import AttemptFolder, pod_folder
from understudy.kinds.annotations import WARM_FOR
from understudy.train.job_environment import SIGNAL_ANNOTATION, signal_named

_SOON = 0.05  # seconds until the files of a shim that is about to write them are read again,
_LATER = 1.0  # until a failed read is tried again,
_LATE = 10.0  # and until a start is checked even without a message
_POST_START_SECONDS = 120.0
_CUT_OFF = 137

log = logging.getLogger(__name__)


class NotRunning(Exception):
    """Why a command cannot be run in a container."""


class PodContainers:
    def __init__(self, deps: PodDependencies, pod: Pod, events: PodEvents, on_change: Callable[[], None]) -> None:
        self.pod = pod
        self.observations: dict[str, ObservedContainer] = {}
        self.is_killed = False
        self.is_paused = False
        self._deps = deps
        self._folder = pod_folder(deps.folder.pods, pod.metadata.uid)
        self._on_change = on_change
        self.events = events
        self._starter = ContainerStarter(deps, self._folder, events)
        self._shims: dict[str, ProcessWatch] = {}
        self._probe_runners: dict[str, ProbeRunner] = {}
        self._exec_processes: dict[str, set[ExecProcess]] = {}
        self._adopted: set[str] = set()
        self._forked: set[str] = set()  # names of containers whose newest start has, or had, a shim
        self._ordered_again: set[AttemptFolder] = set()

    @property
    def address(self) -> str:
        return self.record.address if self.record is not None else ""

    @property
    def record(self) -> PodRecord | None:
        return self._starter.record

    @property
    def node(self) -> str:
        return self.pod.spec.node_name

    @property
    def uids(self) -> tuple[str, ...]:
        """The uid of the pod, and that of the understudy it was: some processes and control groups carry the latter."""
        held_as = self.record.held_as if self.record is not None else ""
        return (self.pod.metadata.uid, held_as) if held_as else (self.pod.metadata.uid,)

    def _marks(self, name: str, attempt: int) -> list[str]:
        return [process_mark(uid, name, attempt) for uid in self.uids]

    def now(self) -> float:
        return self._deps.now()

    @property
    def began_at(self) -> float:
        return self._starter.began_at

    def close(self) -> None:
        """Stops watching the containers; they keep running."""
        self._on_change = lambda: None
        for name in list(self._shims):
            self._shims.pop(name).close()
        for attendant in self._probe_runners.values():
            attendant.stop()

    # Observation

    def adopt(self) -> None:
        """Finds the containers that an earlier agent has started."""
        for container in self.pod.all_containers():
            numbers = self._folder.attempts(container.name)
            while numbers and not self._was_launched(container, numbers[-1]):
                numbers.pop()
            if numbers:
                self._adopted.add(container.name)
                self.observations[container.name] = self._observation_of(container, numbers[-1])
                self.examine(container.name)

    def _was_launched(self, container: Container, attempt: int) -> bool:
        folder = self._folder.attempt(container.name, attempt)
        return folder.launch.exists() or folder.exit.exists()

    def _observation_of(self, container: Container, attempt: int) -> ObservedContainer:
        launch = container_files.read(self._folder.attempt(container.name, attempt).launch, Launch)
        before = attempts.exit_of(self._folder.attempt(container.name, attempt - 1)) if attempt else None
        return ObservedContainer(
            attempt=attempt,
            asked=True,
            delay=0.0 if launch is None else launch.delay,
            previous=None if before is None else self._end(container, attempt - 1, before),
            post_start=HookState.DONE,
        )

    def examine(self, name: str) -> None:
        """Reads the files of the newest start, and updates what is observed."""
        observed, container = self.observations.get(name, NOT_OBSERVED), self.pod.container(name)
        if container is None or observed.attempt < 0 or observed.end is not None:
            return
        try:
            self._read_files(container, observed)
        except OSError as problem:  # for example too many open files, or a full disk
            log.error("container %s of pod %s: %s", name, self.pod.title, problem)
            asyncio.get_running_loop().call_later(_LATER, self.examine, name)

    def _read_files(self, container: Container, observed: ObservedContainer) -> None:
        name = container.name
        folder = self._folder.attempt(name, observed.attempt)
        alive = attempts.shim_is_alive(folder)  # read first: a shim writes its files before it releases the lock
        state, how = attempts.state_of(folder), attempts.exit_of(folder)
        if how is not None:
            if state is not None and not observed.is_running and not self.is_killed:
                self._record_start(name, state)  # it started and ended since the last read
            self._ended(container, how)
        elif alive and state is not None:
            if not observed.is_running:
                self._started(container, state)
        elif alive:
            if self.is_killed and not self._may_start(name):
                fencing.kill_lock_holders(folder, but=self._deps.node_processes.processes())
            asyncio.get_running_loop().call_later(_SOON, self.examine, name)
        elif self.is_killed and self._may_start(name):
            pass  # it is killed once its shim exists
        elif self.is_killed:
            self._ended(container, attempts.write_lost_exit(folder, durable=False))
        elif state is not None or folder in self._ordered_again:
            fencing.kill_by_mark(self._marks(name, observed.attempt))
            self._ended(container, attempts.write_lost_exit(folder, durable=True))
        else:
            self._ordered_again.add(folder)
            self._deps.node_processes.launch(self.node, folder.path)

    def _may_start(self, name: str) -> bool:
        """Whether a start was ordered that the node's process may still carry out."""
        return name not in self._forked and self._deps.node_processes.is_live(self.node)

    def examine_all(self) -> None:
        for name, observed in list(self.observations.items()):
            if observed.asked:
                self.examine(name)

    def forked(self, name: str, shim: int) -> None:
        """Watches the shim: its death is noticed even if it has not sent a message."""
        self._forked.add(name)
        if name not in self._shims:
            self._shims[name] = watch_process(shim, lambda: self._shim_ended(name))

    def shims(self) -> list[tuple[str, int]]:
        """Running containers, and the process of the shim of each."""
        return [(name, shim.pid) for name, shim in self._shims.items() if self.observations[name].is_running]

    def _shim_ended(self, name: str) -> None:
        """A shim without an exit file was killed, perhaps with its node: the node's failure must be handled first."""
        self._shims.pop(name, None)
        if self.is_killed or self._attempt_folder(name).exit.exists():
            self.examine(name)
        else:
            asyncio.get_running_loop().call_later(_SOON, self.examine, name)

    def _started(self, container: Container, state: ShimState) -> None:
        name = container.name
        self.forked(name, state.shim)
        if self.is_killed:  # the kill was decided before the container existed
            self.note(name, asked=False, started_at=state.started_at)
            self._kill_shim_tree(name)
            return
        known = self._status_in_api(name)
        started = container.startup_probe is None or known.started
        ready = (container.readiness_probe is None and started) or known.ready
        if WARM_FOR in self.pod.metadata.annotations:
            ready = self._holds(name)
        self.note(name, asked=False, started_at=state.started_at, started=started, ready=ready)
        self._record_start(name, state)
        probed = ProbedContainer(self, container)
        self._probe_runners[name] = ProbeRunner(container, probed, probed)
        self._probe_runners[name].start(started=started)

    def _record_start(self, name: str, state: ShimState) -> None:
        if name in self._adopted:
            return
        self.events.normal("Created", f"Created container: {name}", name)
        self.events.normal("Started", f"Started container {name}", name)
        for note in state.notes:
            self.events.warning("NotAsAsked", note, name)

    def _holds(self, name: str) -> bool:
        """An understudy is ready once it has loaded its program; until then this is checked again and again."""
        if self._attempt_folder(name).holding.exists():
            return True
        asyncio.get_running_loop().call_later(_SOON, self._check_holding, name)
        return False

    def _check_holding(self, name: str) -> None:
        if name in self._shims and self.observations[name].is_running and self._holds(name):
            self.note(name, ready=True)

    def _status_in_api(self, name: str) -> ContainerStatus:
        """The status in the API of a container that an earlier agent started: its probes need not start over."""
        status = self.pod.status
        for known in (*status.container_statuses, *status.init_container_statuses):
            if known.name == name and name in self._adopted:
                return known
        return ContainerStatus(name)

    def _ended(self, container: Container, how: ContainerExit) -> None:
        name, observed = container.name, self.observations[container.name]
        end = self._end(container, observed.attempt, how)
        if how.reason == START_ERROR or how.started_at is None:
            self.events.warning("Failed", f"Error: {end.message}", name)
        self._adopted.discard(name)
        if name in self._shims:
            self._shims.pop(name).close()
        if name in self._probe_runners:
            self._probe_runners.pop(name).stop()
        for exec_process in self._exec_processes.pop(name, ()):
            exec_process.kill()
        if self._deps.machine.groups is not None:
            for uid in self.uids:
                self._deps.machine.groups.remove(control_group_name(uid, name))
        self.note(name, asked=False, started_at=end.started_at, end=end, ready=False, started=False)

    def _end(self, container: Container, attempt: int, how: ContainerExit) -> Termination:
        from_log = container.termination_message_policy == "FallbackToLogsOnError"
        return attempts.termination_of(self._folder.attempt(container.name, attempt), how, from_log=from_log)

    def note(self, name: str, **changes: Any) -> None:
        self.observations[name] = msgspec.structs.replace(self.observations.get(name, NOT_OBSERVED), **changes)
        self._on_change()

    # Actions

    async def start(self, order: StartContainer) -> None:
        container = self.pod.container(order.container)
        if container is None:
            return
        before = self.observations.get(order.container, NOT_OBSERVED)
        asked = ObservedContainer(attempt=order.attempt, asked=True, previous=before.end, delay=order.delay)
        self._forked.discard(order.container)
        self.observations[order.container] = (
            asked  # before the start: messages about it may arrive before this coroutine goes on
        )
        refusal = await self._starter.start(self.pod, container, order)
        if refusal is not None:
            self.observations[order.container] = msgspec.structs.replace(before, refusal=refusal)
        elif self.is_killed or self._folder.attempt(order.container, order.attempt).exit.exists():
            self.examine(order.container)
        else:
            asyncio.get_running_loop().call_later(_LATE, self._check_start, order.container)

    def _check_start(self, name: str) -> None:
        """Reads the files of a start whose messages may have been lost."""
        observed = self.observations.get(name, NOT_OBSERVED)
        if observed.asked:
            folder = self._folder.attempt(name, observed.attempt)
            if folder.state.exists() or folder.exit.exists():
                self.examine(name)
            else:
                asyncio.get_running_loop().call_later(_LATE, self._check_start, name)

    def retry(self) -> None:
        """Ends the back-off of refused starts: devices may be free now."""
        for name, observed in list(self.observations.items()):
            if observed.refusal is not None:
                self.note(name, refusal=msgspec.structs.replace(observed.refusal, until=0.0))

    def begin_stop(self, name: str, grace: float) -> None:
        if not self.is_killed:  # a failed node does not record events
            self.events.normal("Killing", f"Stopping container {name}", name)
        self.note(name, stop=StopRequest(self._deps.now(), grace))

    def terminate(self, name: str) -> None:
        attempts.signal_container(self._attempt_folder(name), self._stop_signal(name))
        self.note(name, terminated_at=self._deps.now())

    def _stop_signal(self, name: str) -> signal.Signals:
        """The signal that the pod asked for instead of SIGTERM."""
        asked = self.pod.metadata.annotations.get(SIGNAL_ANNOTATION)
        found = signal.SIGTERM if asked is None else signal_named(asked)
        if found is None:
            problem = f"{SIGNAL_ANNOTATION}: {asked!r} is not a signal that can be caught, such as SIGUSR1"
            self.events.warning("BadSignal", f"{problem}; SIGTERM is sent", name)
        return found or signal.SIGTERM

    def kill(self, name: str) -> None:
        attempts.signal_container(self._attempt_folder(name), signal.SIGKILL)
        self.note(name, killed=True)

    def freeze(self) -> None:
        """Stops all processes by SIGSTOP, as on a machine that hangs."""
        for shim in self._shims.values():
            fencing.signal_shim_tree(shim, signal.SIGSTOP)

    def kill_all(self) -> bool:
        """Kills all processes without grace or events. False where the shim of a container is not known, so that its
        processes have to be found by their mark.
        """
        self.is_killed = True
        busy = [name for name, observed in self.observations.items() if observed.is_busy]
        for name in busy:
            if name in self._probe_runners:
                self._probe_runners.pop(name).stop()
            asyncio.get_running_loop().call_soon(self.examine, name)
        return not [name for name in busy if not self._kill_shim_tree(name)]

    def _kill_shim_tree(self, name: str) -> bool:
        if self._deps.machine.tool is not None:  # its shim has to remove the container from the runtime
            return attempts.signal_container(self._attempt_folder(name), signal.SIGKILL)
        return name in self._shims and fencing.signal_shim_tree(self._shims[name], signal.SIGKILL)

    def pause(self) -> None:
        """The node does not answer: commands run in its containers are ended, and results of probes are ignored."""
        self.is_paused = True
        if self.is_killed:
            self.kill_all()  # the shims are stopped and do not see that their containers were killed
        for exec_process in [one for found in self._exec_processes.values() for one in found]:
            exec_process.left(ExecResult(_CUT_OFF, "its node does not answer"))

    def post_start(self, name: str) -> None:
        self.note(name, post_start=HookState.RUNNING)
        container = self.pod.container(name)
        if container and container.lifecycle.post_start:
            self._run_hook(name, container.lifecycle.post_start, self._post_start_done, _POST_START_SECONDS)

    def _post_start_done(self, name: str, result: CheckResult) -> None:
        if not result.passed:
            self.events.warning("FailedPostStartHook", f"PostStartHook failed: {result.message}", name)
            self.note(name, stop=StopRequest(self._deps.now(), float(self.pod.grace)))
        self.note(name, post_start=HookState.DONE)

    def pre_stop(self, name: str, seconds: float) -> None:
        self.note(name, pre_stop=HookState.RUNNING)
        container = self.pod.container(name)
        if container and container.lifecycle.pre_stop:
            self._run_hook(name, container.lifecycle.pre_stop, self._pre_stop_done, seconds)

    def _pre_stop_done(self, name: str, result: CheckResult) -> None:
        if not result.passed:
            self.events.warning("FailedPreStopHook", f"PreStopHook failed: {result.message}", name)
        self.note(name, pre_stop=HookState.DONE)

    def _run_hook(
        self, name: str, hook: LifecycleHandler, done: Callable[[str, CheckResult], None], seconds: float
    ) -> None:
        if name in self._probe_runners:
            self._probe_runners[name].run_hook(hook, lambda result: done(name, result), seconds)

    def _attempt_folder(self, name: str) -> AttemptFolder:
        return self._folder.attempt(name, max(self.observations.get(name, NOT_OBSERVED).attempt, 0))

    def enter(self, name: str, argv: Sequence[str], streams: Sequence[int], *, tty: bool) -> ExecProcess:
        """Raises NotRunning; the streams then stay with the caller."""
        observed, tool = self.observations.get(name, NOT_OBSERVED), self._deps.machine.tool
        if not observed.is_running:
            raise NotRunning(f'container "{name}" is not running')
        if tool is not None:
            argv = exec_line(tool, runtime_container_name(self.pod.metadata.uid, name, observed.attempt), argv, tty=tty)
        folder = self._attempt_folder(name).path
        exec_process = self._deps.node_processes.enter(self.node, folder, argv, streams, tty=tty)
        self._exec_processes.setdefault(name, set()).add(exec_process)
        exec_process.finished.add_done_callback(lambda _: self._exec_processes.get(name, set()).discard(exec_process))
        return exec_process
