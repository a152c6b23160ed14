"""The worker of one pod: reads its containers, decides, acts, reports the status; sleeps while nothing happens."""

import asyncio
import logging
from collections.abc import Callable

from understudy.control.record.event_formats import EventSubject
from understudy.embedded.agent.api.event_queue import PodEvents
from understudy.embedded.agent.api.pod_types import Pod, PodCondition
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
from understudy.kinds.annotations import format_time
from understudy.objects.resources import PODS

log = logging.getLogger(__name__)
_AFTER_A_FAULT = 2.0
_LOOK = 0.02


class PodWorker:
    """One task does all work on a pod, one step after the other; it exists only while there is work."""

    def __init__(self, deps: PodDependencies, pod: Pod, on_done: Callable[["PodWorker"], None]) -> None:
        meta = pod.metadata
        self.uid = meta.uid
        self._folder = pod_folder(deps.folder.pods, meta.uid)
        self._events = PodEvents(
            deps.recorder,
            EventSubject(PODS.api_version, PODS.kind, meta.namespace, meta.name, meta.uid),
            pod.spec.node_name,
        )
        self.containers = PodContainers(deps, pod, self._events, self.wake_up)
        self._deps = deps
        self._on_done = on_done
        self._status_manager = PodStatusManager(deps.cluster, pod)
        self._conditions = {one.type: (one.status, _since(one)) for one in pod.status.conditions}
        self._ending_since: float | None = None
        self._backing_off: set[str] = set()
        self._released = False
        self._deleted = False
        self._node_failed = False
        self._dirty = False
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self.containers.adopt()
        self._register_names()
        pod_setup.publish_requests(pod, self._folder)

    @property
    def pod(self) -> Pod:
        return self.containers.pod

    def update(self, pod: Pod) -> None:
        before, self.containers.pod = self.containers.pod, pod
        if pod.metadata.annotations != before.metadata.annotations:
            pod_setup.publish_requests(pod, self._folder)
        if self._released and pod.is_over and not pod.is_going:
            pod_setup.release_pod(self._deps, self.uid)  # it may have died with its node, and will not start again
            self._detach()  # the API knows that it has ended; it needs a worker again when it is deleted
            self._on_done(self)
        else:
            self._register_names()
            self.wake_up()

    def pod_deleted(self) -> None:
        """The pod was deleted from the API: a replacement may run already, so all its processes are killed."""
        self._deleted = True
        self.containers.kill_all()
        self.wake_up()

    def kill_with_node(self) -> bool:
        """Kills the processes with the failed node, without a report. False where some have yet to be found."""
        self._node_failed = True
        self._status_manager.stop()
        self.wake_up()
        return self.containers.kill_all()

    def pause(self) -> None:
        """The node does not answer: nothing is decided or reported until its process answers again."""
        self.containers.pause()

    def resume(self) -> None:
        """The node answers again. The files say what happened meanwhile."""
        self.containers.is_paused = False
        self.containers.examine_all()
        self.wake_up()

    @property
    def uids(self) -> tuple[str, ...]:
        return self.containers.uids

    def freeze(self) -> None:
        """Stops its processes as on a machine that hangs."""
        self.containers.freeze()

    @property
    def _died_with_node(self) -> bool:
        """It is still in the API."""
        return self._node_failed and not self._deleted

    @property
    def is_deleted(self) -> bool:
        """Deleted from the API: the worker removes the pod once no process of it runs."""
        return self._deleted

    def retry(self) -> None:
        """Devices are free again that this pod may be waiting for."""
        if self.containers.record is None:
            self.containers.retry()

    async def wait_until_killed(self) -> None:
        """Returns when no process of a pod that was killed with its node runs any more."""
        while not self._released:
            await asyncio.sleep(_LOOK)

    def wake_up(self) -> None:
        self._dirty = True
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._work())

    def hand_over(self) -> None:
        """The processes belong to another pod from now on: nothing is reported or removed."""
        self._detach()
        if self._task is not None:
            self._task.cancel()

    async def close(self) -> None:
        """Ends the worker; the pod keeps running."""
        self._detach()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def _detach(self) -> None:
        self.containers.close()
        self._status_manager.stop()
        if self._timer is not None:
            self._timer.cancel()

    def _register_names(self) -> None:
        """Names follow the labels of the pod, and are registered again after a restart of the agent."""
        if not (self._released or self._deleted or self.pod.is_over):
            pod_setup.register_names(self._deps, self.pod)

    async def _work(self) -> None:
        while self._dirty:
            self._dirty = False
            try:
                await self._step()
            except Exception:
                log.exception("pod %s", self.pod.title)
                self._wake_at(self._deps.now() + _AFTER_A_FAULT)

    async def _step(self) -> None:
        if self.containers.is_paused and not (self._deleted or self._node_failed):
            return
        decision = self._decision()
        while decision.instructions:
            for instruction in decision.instructions:
                await self._carry_out(instruction)
            decision = self._decision()
        self._wake_at(decision.wake_at)
        if not self._deleted:
            self._report(decision)
        if decision.over:
            await self._finish()

    def _pod_state(self) -> PodState:
        return PodState(
            pod=self.pod,
            observations=self.containers.observations,
            now=self._deps.now(),
            started_at=self.containers.began_at,
            ending_since=self._ending_since,
            gone=self._deleted or self._node_failed,
        )

    def _decision(self) -> PodDecision:
        state = self._pod_state()
        decision = decide(state)
        if decision.ending and self._ending_since is None:
            self._ending_since = state.now
            if decision.failure is not None:
                self._events.normal(decision.failure.reason, decision.failure.message)
        return decision

    async def _carry_out(self, instruction: PodInstruction) -> None:
        match instruction:
            case StartContainer():
                await self.containers.start(instruction)
            case BeginContainerStop(name, grace):
                self.containers.begin_stop(name, grace)
            case RunPostStart(name):
                self.containers.post_start(name)
            case RunPreStop(name):
                self.containers.pre_stop(name, float(self.pod.grace))
            case TerminateContainer(name):
                self.containers.terminate(name)
            case KillContainer(name):
                self.containers.kill(name)

    def _report(self, decision: PodDecision) -> None:
        node = self._deps.nodes[self.pod.spec.node_name]
        around = StatusContext(self.containers.address, node.address, self._deps.container_runtime)
        document = pod_status.pod_status(self._pod_state(), decision, around, self._conditions)
        self._conditions |= pod_status.known_conditions(document)
        self._record_back_off(document)
        self._status_manager.set_status(
            document, later=any(observed.asked for observed in self.containers.observations.values())
        )

    def _record_back_off(self, document: Document) -> None:
        waiting = {one["name"]: one["state"].get("waiting", {}).get("reason") for one in document["containerStatuses"]}
        backing_off = {name for name, reason in waiting.items() if reason == "CrashLoopBackOff"}
        for name in backing_off - self._backing_off:
            self._events.warning(
                "BackOff", f"Back-off restarting failed container {name} in pod {self.pod.title}", name
            )
        self._backing_off = backing_off

    async def _finish(self) -> None:
        """No process runs any more: resources are released, and a pod that is being deleted is removed from the API."""
        if not self._released:
            if self.containers.is_killed:
                await asyncio.gather(*map(self._deps.sweeper.wait_for, self.containers.uids))
            self._released = True
            release = pod_setup.release_names if self._died_with_node else pod_setup.release_pod
            release(self._deps, self.uid)
        if self._died_with_node:
            return
        if self._deleted or self.pod.is_going:
            if not self._deleted:
                await self._status_manager.settled()
                await self._status_manager.remove()
            self._detach()
            pod_setup.forget_pod(self._deps, self._folder, self.uid)
            self._on_done(self)

    def _wake_at(self, moment: float | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None
        if moment is not None:
            delay = max(moment - self._deps.now(), 0.0)
            self._timer = asyncio.get_running_loop().call_later(delay, self.wake_up)


def _since(condition: PodCondition) -> str:
    moment = condition.last_transition_time
    return "" if moment is None else format_time(int(moment.timestamp()))
