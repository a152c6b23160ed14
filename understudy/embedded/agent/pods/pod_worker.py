"""Keeps one pod: looks at its containers, decides, acts, tells the API; sleeps whenever nothing happens."""

import asyncio
import logging
from collections.abc import Callable

from understudy.embedded.agent.api.event_recorder import EventSubject, PodEventRecorder
from understudy.embedded.agent.api.pod_types import Pod, PodCondition
from understudy.embedded.agent.containers.runtimes import PROCESS
from understudy.embedded.agent.pods import pod_setup, pod_status
from understudy.embedded.agent.pods.dependencies import PodDependencies
from understudy.embedded.agent.pods.lifecycle import (
    BeginContainerStop,
    KillContainer,
    PodDecision,
    PodInstruction,
    PodState,
    RunPostStart,
    RunPreStop,
    StartContainer,
    TerminateContainer,
    decide,
)
from understudy.embedded.agent.pods.pod_containers import PodContainers
from understudy.embedded.agent.pods.pod_status import Document, StatusContext
from understudy.embedded.agent.pods.status_manager import PodStatusManager
from understudy.embedded.shim.pod_folders import pod_folder

log = logging.getLogger(__name__)
_AFTER_A_FAULT = 2.0
_LOOK = 0.02


class PodWorker:
    """Everything about one pod happens in one task, one thing after the other; the task is there only while needed."""

    def __init__(self, house: PodDependencies, pod: Pod, on_done: Callable[["PodWorker"], None]) -> None:
        meta = pod.metadata
        self.uid = meta.uid
        self._folder = pod_folder(house.folder.pods, meta.uid)
        self._voice = PodEventRecorder(
            house.recorder, EventSubject("Pod", meta.name, meta.uid, meta.namespace, node=pod.spec.node_name)
        )
        self.crew = PodContainers(house, pod, self._folder, self._voice)
        self.crew.on_change = self.poke
        self._house = house
        self._on_done = on_done
        self._reporter = PodStatusManager(house.cluster, pod)
        self._conditions = {one.type: (one.status, _since(one)) for one in pod.status.conditions}
        self._ending_since: float | None = None
        self._backing_off: set[str] = set()
        self._discharged = False
        self._gone = False
        self._dead = False
        self._dirty = False
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self.crew.adopt()
        self._make_known()

    @property
    def pod(self) -> Pod:
        return self.crew.pod

    def update(self, pod: Pod) -> None:
        self.crew.pod = pod
        if self._discharged and pod.is_over and not pod.is_going:
            self._let_go()  # the API knows that it has ended; the pod needs a keeper again when it is deleted
            self._on_done(self)
        else:
            self._make_known()
            self.poke()

    def vanish(self) -> None:
        """The pod is no longer in the API: another may have its place already, so nothing of it is to go on."""
        self._gone = True
        self.crew.slay()
        self.poke()

    def perish(self) -> bool:
        """Its node dies: the processes with it, and nobody is told. False where some have yet to be found."""
        self._dead = True
        self._reporter.fall_silent()
        self.poke()
        return self.crew.slay()

    def hush(self) -> None:
        """Its node does not answer: nothing is decided, and nobody is told, until it is heard of again."""
        self.crew.hush()

    def wake(self) -> None:
        """Its node is back. What happened meanwhile is in the files."""
        self.crew.is_hushed = False
        self.crew.examine_all()
        self.poke()

    @property
    def is_gone(self) -> bool:
        """From the API: when nothing of it runs any more, it clears up after itself."""
        return self._gone

    def retry(self) -> None:
        """Devices came back that this pod may have been waiting for."""
        if self.crew.record is None:
            self.crew.retry()

    async def fallen(self) -> None:
        """Returns when nothing of a pod that perished runs any more."""
        while not self._discharged:
            await asyncio.sleep(_LOOK)

    def poke(self) -> None:
        self._dirty = True
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._work())

    def retire(self) -> None:
        """What it kept is another pod from now on: nothing is told, and nothing cleared up."""
        self._let_go()
        if self._task is not None:
            self._task.cancel()

    async def close(self) -> None:
        """The pod runs on."""
        self._let_go()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def _let_go(self) -> None:
        self.crew.on_change = lambda: None
        self.crew.close()
        self._reporter.fall_silent()
        if self._timer is not None:
            self._timer.cancel()

    def _make_known(self) -> None:
        """Names follow the labels of the pod, and are there again after a restart of the agent."""
        if not (self._discharged or self._gone or self.pod.is_over):
            pod_setup.register_names(self._house, self.pod)

    async def _work(self) -> None:
        while self._dirty:
            self._dirty = False
            try:
                await self._step()
            except Exception:
                log.exception("pod %s", self.pod.title)
                self._wake_at(self._house.now() + _AFTER_A_FAULT)

    async def _step(self) -> None:
        if self.crew.is_hushed and not (self._gone or self._dead):
            return
        decision = self._decision()
        while decision.instructions:
            for instruction in decision.instructions:
                await self._carry_out(instruction)
            decision = self._decision()
        self._wake_at(decision.wake_at)
        if not self._gone:
            self._report(decision)
        if decision.over:
            await self._finish()

    def _case(self) -> PodState:
        return PodState(
            pod=self.pod,
            sights=self.crew.sights,
            now=self._house.now(),
            started_at=self.crew.began_at,
            ending_since=self._ending_since,
            gone=self._gone or self._dead,
        )

    def _decision(self) -> PodDecision:
        case = self._case()
        decision = decide(case)
        if decision.ending and self._ending_since is None:
            self._ending_since = case.now
            if decision.failure is not None:
                self._voice.normal(decision.failure.reason, decision.failure.message)
        return decision

    async def _carry_out(self, instruction: PodInstruction) -> None:
        match instruction:
            case StartContainer():
                await self.crew.start(instruction)
            case BeginContainerStop(name, grace):
                self.crew.begin_stop(name, grace)
            case RunPostStart(name):
                self.crew.post_start(name)
            case RunPreStop(name):
                self.crew.pre_stop(name, float(self.pod.grace))
            case TerminateContainer(name):
                self.crew.terminate(name)
            case KillContainer(name):
                self.crew.kill(name)

    def _report(self, decision: PodDecision) -> None:
        node = self._house.nodes[self.pod.spec.node_name]
        tool = self._house.machine.tool
        around = StatusContext(self.crew.address, node.address, tool.name if tool else PROCESS)
        document = pod_status.pod_status(self._case(), decision, around, self._conditions)
        self._conditions |= pod_status.known_conditions(document)
        self._note_back_off(document)
        self._reporter.say(document, later=any(sight.asked for sight in self.crew.sights.values()))

    def _note_back_off(self, document: Document) -> None:
        waiting = {one["name"]: one["state"].get("waiting", {}).get("reason") for one in document["containerStatuses"]}
        backing_off = {name for name, reason in waiting.items() if reason == "CrashLoopBackOff"}
        for name in backing_off - self._backing_off:
            self._voice.warning("BackOff", f"Back-off restarting failed container {name} in pod {self.pod.title}", name)
        self._backing_off = backing_off

    async def _finish(self) -> None:
        """Nothing runs any more. What was lent comes back; a pod that was to go, goes."""
        if not self._discharged:
            if self.crew.is_slain:
                await asyncio.gather(*map(self._house.sweeper.swept, self.crew.uids))
            self._discharged = True
            pod_setup.release_pod(self._house, self.uid)
        if self._dead and not self._gone:
            return
        if self._gone or self.pod.is_going:
            if not self._gone:
                await self._reporter.settled()
                await self._reporter.remove()
            self._let_go()
            pod_setup.forget_pod(self._house, self._folder, self.uid)
            self._on_done(self)

    def _wake_at(self, moment: float | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None
        if moment is not None:
            delay = max(moment - self._house.now(), 0.0)
            self._timer = asyncio.get_running_loop().call_later(delay, self.poke)


def _since(condition: PodCondition) -> str:
    moment = condition.last_transition_time
    return "" if moment is None else pod_status.timestamp(moment.timestamp())
