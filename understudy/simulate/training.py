"""Simulated training code: reports a checkpoint after its start, and another one a while after it was asked to save."""

from collections.abc import Mapping

from understudy.kinds.annotations import CHECKPOINT_BY, PREFIX, format_time
from understudy.objects.resources import PODS
from understudy.ports import Ref, Refused
from understudy.simulate.api_server import ApiServer, Version
from understudy.simulate.context import SimulationContext
from understudy.simulate.kubelet import Container, Kubelet
from understudy.simulate.scenario import JobPlan
from understudy.simulate.workloads import JOB_LABEL, RESOURCES

FIRST_SAVE = 1.0  # seconds after the start of a process
LAST_CHECKPOINT = f"{PREFIX}last-checkpoint"


class TrainingProcesses:
    def __init__(self, context: SimulationContext, server: ApiServer, kubelets: Mapping[str, Kubelet]) -> None:
        self._context = context
        self._server = server
        self._kubelets = kubelets
        self._plans = {plan.name: plan for plan in context.scenario.jobs if plan.saves_within}
        self._asked: dict[str, str] = {}  # job -> the request that it answers
        self._channel = context.channels.channel("training")
        server.observers.append(self._observe)
        for kubelet in kubelets.values():
            kubelet.on_start.append(self._started)

    def _started(self, _: Kubelet, container: Container, __: Version) -> None:
        if container.gang in self._plans:
            self._context.loop.call_later(FIRST_SAVE, self._save, container.gang)

    def _observe(self, _: Version | None, after: Version | None, __: str) -> None:
        if after is None or after.resource is not PODS:
            return
        by = after.metadata.get("annotations", {}).get(CHECKPOINT_BY, "")
        job = after.metadata.get("labels", {}).get(JOB_LABEL, "")
        plan = self._plans.get(job)
        if by and plan is not None and plan.answers and self._asked.get(job) != by:
            self._asked[job] = by
            self._context.loop.call_later(plan.saves_within * self._channel.share(), self._save, job)

    def _save(self, name: str) -> None:
        """Only a process that runs and reaches the API server reports."""
        plan: JobPlan = self._plans[name]
        job = self._server.get(Ref(RESOURCES[plan.kind], "default", name))
        runs = any(kubelet.heard and self._has(kubelet, name) for kubelet in self._kubelets.values())
        if job is None or not runs:
            return
        self._context.step("save", name, "")
        note = {LAST_CHECKPOINT: format_time(self._context.now())}
        try:
            self._server.merge(job, {"metadata": {"annotations": note}}, "training")
        except Refused:
            return

    def _has(self, kubelet: Kubelet, name: str) -> bool:
        return any(one.gang == name and not one.stopping for one in kubelet.containers.values())
