"""Carries a trace out on an embedded cluster: gives notices, takes machines away and brings them back, on time."""

import asyncio
import time
from collections.abc import Sequence
from http import HTTPStatus
from typing import Literal

import msgspec

from bench.spot.modes import Mode
from bench.spot.traces import Churn
from understudy.client import KubeClient
from understudy.embedded.agent_protocol import FailNode, RecoverNode, ask_agent
from understudy.embedded.cluster_folder import ClusterFolder
from understudy.kinds.annotations import NOTICE, format_notice
from understudy.model.nodes import Notice
from understudy.objects.resources import NODES, PODS
from understudy.ports import PatchForm, Ref, Refused

Act = Literal["notice", "remove", "add"]
_ORDER: tuple[Act, ...] = ("remove", "add", "notice")


class Step(msgspec.Struct, frozen=True):
    at: float
    act: Act
    machine: str
    deadline: float = 0.0  # of a notice


class Eviction(msgspec.Struct):
    """A machine that is taken away, and the members that sat there when it was known first and when it went."""

    machine: str
    at_first: int
    at_last: int | None = None

    @property
    def hits(self) -> bool:
        return bool(self.at_first or self.at_last)

    @property
    def is_beaten(self) -> bool:
        """Whether there were members, and none was left when the machine went."""
        return self.at_first > 0 and self.at_last == 0


def steps_of(events: Sequence[Churn], notice: float | None) -> list[Step]:
    """The schedule of a replay. A notice is given as early as it can be, but not before its machine has appeared."""
    steps, appeared = [], dict[str, float]()
    for event in sorted(events):
        if event.appears:
            appeared[event.machine] = event.at
        elif notice is not None:
            begin = max(event.at - notice, appeared.get(event.machine, 0.0))
            steps.append(Step(begin, "notice", event.machine, event.at))
        steps.append(Step(event.at, "add" if event.appears else "remove", event.machine))
    return sorted(steps, key=lambda one: (one.at, _ORDER.index(one.act), one.machine))


class MachineChurn:
    def __init__(self, client: KubeClient, folder: ClusterFolder, mode: Mode) -> None:
        self._client = client
        self._folder = folder
        self._mode = mode
        self._open: dict[str, Eviction] = {}
        self._up: dict[str, float] = {}  # since when
        self.evictions: list[Eviction] = []
        self.machine_seconds = 0.0
        self.late = 0.0  # seconds by which the latest step came later than the trace wants it

    async def begin(self, machines: Sequence[str], there: Sequence[str]) -> None:
        """Takes away the machines that the trace does not have at its begin."""
        for machine in machines:
            if machine not in there:
                await self._take(machine)

    async def run(self, steps: Sequence[Step], seconds: float, machines: Sequence[str]) -> None:
        """Plays the trace; `machines` exist at its begin."""
        began = time.monotonic()
        self._up = dict.fromkeys(machines, began)
        for step in steps:
            await asyncio.sleep(began + step.at - time.monotonic())
            self.late = max(self.late, time.monotonic() - began - step.at)
            await self._do(step, time.time() + began + step.deadline - time.monotonic())
        await asyncio.sleep(began + seconds - time.monotonic())
        self.machine_seconds += sum(time.monotonic() - since for since in self._up.values())

    async def _do(self, step: Step, deadline: float) -> None:
        machine = step.machine
        match step.act:
            case "notice":
                self._open[machine] = Eviction(machine, await self._members(machine))
                await self._announce(machine, deadline)
            case "remove":
                members = await self._members(machine)
                eviction = self._open.pop(machine, None) or Eviction(machine, members)
                eviction.at_last = members
                self.evictions.append(eviction)
                self.machine_seconds += time.monotonic() - self._up.pop(machine, time.monotonic())
                await self._take(machine)
            case "add":
                await ask_agent(self._folder.agent_socket, RecoverNode(machine))
                self._up[machine] = time.monotonic()

    async def _announce(self, machine: str, deadline: float) -> None:
        notice = format_notice(Notice(deadline, "replay", "Preempt", time.time()))
        await self._client.patch(
            Ref(NODES, name=machine), {"metadata": {"annotations": {NOTICE: notice}}}, form=PatchForm.MERGE
        )

    async def _take(self, machine: str) -> None:
        """Takes a machine away: in silence, or as a cloud does it, when the machine dies and its Node is deleted."""
        await ask_agent(self._folder.agent_socket, FailNode(machine, "freeze" if self._mode.silent else "kill"))
        if not self._mode.silent:
            try:
                await self._client.delete(Ref(NODES, name=machine))
            except Refused as error:
                if error.code != HTTPStatus.NOT_FOUND:
                    raise

    async def _members(self, machine: str) -> int:
        """The pods that have not ended, including those that are being deleted."""
        path = f"{PODS.path('')}?fieldSelector=spec.nodeName%3D{machine}"
        pods = msgspec.json.decode(await self._client.request("GET", path))["items"]
        return sum(pod["status"].get("phase") in ("Pending", "Running") for pod in pods)
