"""Starts a container once: prepares the pod and the launch file and orders the start, or returns why it cannot."""

import contextlib
import shutil

import msgspec

from understudy.embedded.agent.api.config_objects import sources_of_environment
from understudy.embedded.agent.api.event_queue import PodEvents
from understudy.embedded.agent.api.pod_types import Container, Pod
from understudy.embedded.agent.containers.control_groups import limits_of
from understudy.embedded.agent.containers.device_manager import DevicesExhausted
from understudy.embedded.agent.containers.environment import BadEnvironment
from understudy.embedded.agent.containers.launch_spec import (
    ContainerAttempt,
    NoCommand,
    PodSetup,
    build_launch,
    control_group_name,
)
from understudy.embedded.agent.containers.observed_container import StartRefusal
from understudy.embedded.agent.network.address_pool import AddressPoolExhausted
from understudy.embedded.agent.pods import pod_records, pod_setup
from understudy.embedded.agent.pods.dependencies import PodDependencies
from understudy.embedded.agent.pods.lifecycle import StartContainer
from understudy.embedded.agent.volumes.volume_projection import BadVolume
from understudy.embedded.agent_protocol import MOUNTS
from understudy.embedded.shim import container_files
from understudy.embedded.shim.container_files import IMAGE_NOT_PULLED, START_ERROR_CODE, ContainerExit, Launch
from understudy.embedded.shim.container_log import ContainerLog
from understudy.embedded.shim.pod_folders import AttemptFolder, PodFolder
from understudy.embedded.warm_start.warm_launch import warm_launch
from understudy.kinds.annotations import WARM_FOR, WARM_IMPORTS
from understudy.ports import Refused, Unreachable

_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 20.0
_KEPT_ATTEMPTS = 2  # the current one, and the one before for `logs --previous`


class ContainerStarter:
    """Starts the containers of one pod. What the pod as a whole needs is made with its first container."""

    def __init__(self, deps: PodDependencies, folder: PodFolder, events: PodEvents) -> None:
        self._deps = deps
        self._folder = folder
        self._events = events
        self.record = pod_records.load_record(folder)
        self._accepted_at = deps.now()
        self._setup: PodSetup | None = None
        self._pauses: dict[str, float] = {}

    @property
    def began_at(self) -> float:
        """With fractions of a second, which the API does not keep."""
        return self._accepted_at if self.record is None else self.record.started_at

    async def start(self, pod: Pod, container: Container, order: StartContainer) -> StartRefusal | None:
        """None where the start was ordered or the container has ended already; its folder says which."""
        folder = self._folder.attempt(container.name, order.attempt)
        try:
            launch = await self._prepared(pod, ContainerAttempt(container, order.attempt, order.delay, folder))
        except BadVolume as problem:
            self._events.warning("FailedMount", str(problem))
            return self._refusal(container, "ContainerCreating", str(problem))
        except BadEnvironment as problem:
            self._events.warning("Failed", f"Error: {problem}", container.name)
            return self._refusal(container, "CreateContainerConfigError", str(problem))
        except (DevicesExhausted, AddressPoolExhausted) as problem:
            self._events.warning("FailedCreatePodSandBox", str(problem))
            return self._refusal(container, "ContainerCreating", str(problem))
        except (Refused, Unreachable) as problem:
            return self._refusal(container, "ContainerCreating", str(problem))
        except OSError as problem:
            self._events.warning("Failed", f"Error: {problem}", container.name)
            return self._refusal(container, "CreateContainerError", str(problem))
        self._pauses.pop(container.name, None)
        if launch is not None:
            await self._deps.sweeper.wait_until_idle()
            self._deps.node_processes.launch(pod.spec.node_name, folder.path)
        return None

    async def _prepared(self, pod: Pod, attempt: ContainerAttempt) -> Launch | None:
        """None where there is no command to run; then the exit file says so."""
        if self.record is None:
            self.record = pod_setup.admit_pod(self._deps, pod, self._folder, self._accepted_at)
        if self._setup is None:
            self._setup = await pod_setup.set_up_pod(self._deps, pod, self._folder, self.record)
        facts = msgspec.structs.replace(self._setup.facts, pod=pod)
        config_data = await self._deps.config_reader.fetch(
            pod.metadata.namespace, sources_of_environment(attempt.container)
        )
        self._make_folder(attempt)
        setup = msgspec.structs.replace(self._setup, facts=facts)
        try:
            if WARM_FOR in pod.metadata.annotations and self._deps.machine.tool is not None:
                raise NoCommand("only processes can hold themselves ready, not containers of docker or podman")
            launch = build_launch(self._deps.machine, setup, attempt, config_data)
        except NoCommand as problem:
            _write_start_failure(attempt.folder, str(problem), self._deps.now())
            return None
        launch = self._limited(pod, attempt, launch)
        if WARM_FOR in pod.metadata.annotations and attempt.container in pod.spec.containers:
            launch = warm_launch(launch, attempt.folder, _named_imports(pod))
        if MOUNTS in launch.env:
            _link_volumes(self._folder, launch)
        container_files.write(attempt.folder.launch, launch)
        return launch

    def _make_folder(self, attempt: ContainerAttempt) -> None:
        attempt.folder.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        attempt.folder.termination_message.touch()
        for number in self._folder.attempts(attempt.container.name):
            if number <= attempt.number - _KEPT_ATTEMPTS:
                shutil.rmtree(self._folder.attempt(attempt.container.name, number).path, ignore_errors=True)

    def _limited(self, pod: Pod, attempt: ContainerAttempt, launch: Launch) -> Launch:
        """Limits by control groups; else memory by an rlimit, under which programs that use accelerators cannot run."""
        limits = limits_of(attempt.container)
        if self._deps.machine.tool is not None:
            return launch
        if self._deps.machine.groups is not None:
            name = control_group_name(pod.metadata.uid, attempt.container.name)
            return msgspec.structs.replace(launch, cgroups=self._deps.machine.groups.make(name, limits))
        uses_devices = any(self._setup.shares.get(attempt.container.name, {}).values()) if self._setup else False
        if limits.cpu is not None or (limits.memory is not None and uses_devices):
            self._events.warning("LimitsNotHeld", "this machine permits no control groups: limits are not held")
        if limits.memory is None or uses_devices:
            return launch
        return msgspec.structs.replace(launch, address_space=limits.memory)

    def _refusal(self, container: Container, reason: str, message: str) -> StartRefusal:
        pause = self._pauses.get(container.name, _FIRST_PAUSE)
        self._pauses[container.name] = min(pause * 2, _LONGEST_PAUSE)
        return StartRefusal(reason, message, self._deps.now() + pause)


def _named_imports(pod: Pod) -> list[str]:
    given = pod.metadata.annotations.get(WARM_IMPORTS, "").split(",")
    return [name.strip() for name in given if name.strip()]


def _write_start_failure(folder: AttemptFolder, problem: str, now: float) -> None:
    journal = ContainerLog(folder)
    journal.write(b"stderr", f"{problem}\n".encode())
    journal.close()
    container_files.write(
        folder.exit,
        ContainerExit(exit_code=START_ERROR_CODE, finished_at=now, reason=IMAGE_NOT_PULLED, message=problem),
    )


def _link_volumes(folder: PodFolder, launch: Launch) -> None:
    """Where mounts cannot be private, links put the volumes at their paths below the folder the container starts in."""
    for mount in launch.mounts:
        link = folder.root / mount.target.lstrip("/")
        with contextlib.suppress(OSError):
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(mount.source)
