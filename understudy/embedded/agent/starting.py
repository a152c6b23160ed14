"""Gets one start of a container under way, or says why it cannot be."""

import contextlib
import shutil

import msgspec

from understudy.embedded.agent import outfitting, records
from understudy.embedded.agent.addresses import NoAddress
from understudy.embedded.agent.devices import Exhausted
from understudy.embedded.agent.environment import BadEnvironment
from understudy.embedded.agent.events import PodVoice
from understudy.embedded.agent.household import Household
from understudy.embedded.agent.launching import (
    Attempt,
    NothingToRun,
    Outfit,
    group_name,
    launch_of,
)
from understudy.embedded.agent.lifecycle import Start
from understudy.embedded.agent.limits import limits_of
from understudy.embedded.agent.pods import Container, Pod
from understudy.embedded.agent.projections import BadVolume
from understudy.embedded.agent.sights import Refusal
from understudy.embedded.agent.sources import named_by
from understudy.embedded.agent_protocol import MOUNTS
from understudy.embedded.shim import orders
from understudy.embedded.shim.journal import Journal
from understudy.embedded.shim.layout import AttemptFolder, PodFolder
from understudy.embedded.shim.orders import START_ERROR_CODE, Exit, Launch
from understudy.embedded.wings.holding import held
from understudy.kinds.annotations import WARM_FOR, WARM_IMPORTS
from understudy.ports import Refused, Unreachable

_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 20.0
_KEPT_ATTEMPTS = 2  # this one, and the one before for `logs --previous`


class Starter:
    """Of one pod. What the pod as a whole needs is made with its first container."""

    def __init__(self, house: Household, folder: PodFolder, voice: PodVoice) -> None:
        self._house = house
        self._folder = folder
        self._voice = voice
        self.record = records.load(folder)
        self._accepted_at = house.now()
        self._outfit: Outfit | None = None
        self._pauses: dict[str, float] = {}

    @property
    def began_at(self) -> float:
        """To the fraction of a second: the API knows only the full one."""
        return self._accepted_at if self.record is None else self.record.started_at

    async def start(self, pod: Pod, container: Container, order: Start) -> Refusal | None:
        """None: it is under way, or it has ended already; its folder tells."""
        folder = self._folder.attempt(container.name, order.attempt)
        try:
            launch = await self._prepared(pod, Attempt(container, order.attempt, order.delay, folder))
        except BadVolume as problem:
            self._voice.warning("FailedMount", str(problem))
            return self._refusal(container, "ContainerCreating", str(problem))
        except BadEnvironment as problem:
            self._voice.warning("Failed", f"Error: {problem}", container.name)
            return self._refusal(container, "CreateContainerConfigError", str(problem))
        except (Exhausted, NoAddress) as problem:
            self._voice.warning("FailedCreatePodSandBox", str(problem))
            return self._refusal(container, "ContainerCreating", str(problem))
        except (Refused, Unreachable) as problem:
            return self._refusal(container, "ContainerCreating", str(problem))
        except OSError as problem:
            self._voice.warning("Failed", f"Error: {problem}", container.name)
            return self._refusal(container, "CreateContainerError", str(problem))
        self._pauses.pop(container.name, None)
        if launch is not None:
            await self._house.sweeper.settled()
            self._house.bodies.launch(pod.spec.node_name, folder.path)
        return None

    async def _prepared(self, pod: Pod, attempt: Attempt) -> Launch | None:
        """None where there is nothing to run; then that is written down as the container's end."""
        if self.record is None:
            self.record = outfitting.admit(self._house, pod, self._folder, self._accepted_at)
        if self._outfit is None:
            self._outfit = await outfitting.outfit(self._house, pod, self._folder, self.record)
        facts = msgspec.structs.replace(self._outfit.facts, pod=pod)
        holdings = await self._house.library.fetch(pod.metadata.namespace, named_by(attempt.container))
        self._make_folder(attempt)
        outfit = msgspec.structs.replace(self._outfit, facts=facts)
        try:
            if WARM_FOR in pod.metadata.annotations and self._house.machine.tool is not None:
                raise NothingToRun("only processes can hold themselves ready, not containers of docker or podman")
            launch = launch_of(self._house.machine, outfit, attempt, holdings)
        except NothingToRun as problem:
            _write_end(attempt.folder, str(problem), self._house.now())
            return None
        launch = self._limited(pod, attempt, launch)
        if WARM_FOR in pod.metadata.annotations and attempt.container in pod.spec.containers:
            launch = held(launch, attempt.folder, _named_imports(pod))
        if MOUNTS in launch.env:
            _offer_links(self._folder, launch)
        orders.write(attempt.folder.launch, launch)
        return launch

    def _make_folder(self, attempt: Attempt) -> None:
        attempt.folder.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        attempt.folder.termination_message.touch()
        for number in self._folder.attempts(attempt.container.name):
            if number <= attempt.number - _KEPT_ATTEMPTS:
                shutil.rmtree(self._folder.attempt(attempt.container.name, number).path, ignore_errors=True)

    def _limited(self, pod: Pod, attempt: Attempt, launch: Launch) -> Launch:
        """By control groups; else memory by an rlimit, which programs that use accelerators cannot bear."""
        limits = limits_of(attempt.container)
        if self._house.machine.tool is not None:
            return launch
        if self._house.machine.groups is not None:
            name = group_name(pod.metadata.uid, attempt.container.name)
            return msgspec.structs.replace(launch, cgroups=self._house.machine.groups.make(name, limits))
        uses_devices = any(self._outfit.shares.get(attempt.container.name, {}).values()) if self._outfit else False
        if limits.cpu is not None or (limits.memory is not None and uses_devices):
            self._voice.warning("LimitsNotHeld", "this machine permits no control groups: limits are not held")
        if limits.memory is None or uses_devices:
            return launch
        return msgspec.structs.replace(launch, address_space=limits.memory)

    def _refusal(self, container: Container, reason: str, message: str) -> Refusal:
        pause = self._pauses.get(container.name, _FIRST_PAUSE)
        self._pauses[container.name] = min(pause * 2, _LONGEST_PAUSE)
        return Refusal(reason, message, self._house.now() + pause)


def _named_imports(pod: Pod) -> list[str]:
    given = pod.metadata.annotations.get(WARM_IMPORTS, "").split(",")
    return [name.strip() for name in given if name.strip()]


def _write_end(folder: AttemptFolder, problem: str, now: float) -> None:
    journal = Journal(folder)
    journal.write(b"stderr", f"{problem}\n".encode())
    journal.close()
    orders.write(
        folder.exit, Exit(exit_code=START_ERROR_CODE, finished_at=now, reason="ImageNotPulled", message=problem)
    )


def _offer_links(folder: PodFolder, launch: Launch) -> None:
    """Where mounts cannot be private, volumes are at least at their paths below the folder the container starts in."""
    for mount in launch.mounts:
        link = folder.root / mount.target.lstrip("/")
        with contextlib.suppress(OSError):
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(mount.source)
