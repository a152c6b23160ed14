"""Kubelets and their containers, which are the ground truth: what really runs where, whatever the API says."""

import contextlib
from collections.abc import Callable

from understudy.kinds.annotations import format_time
from understudy.objects.nodes import LEASE_NAMESPACE
from understudy.objects.resources import CLAIMS, LEASES, NODES, PODS
from understudy.ports import Ref, Refused
from understudy.simulate.api_server import ApiServer, Version
from understudy.simulate.context import SimulationContext
from understudy.simulate.patches import Document
from understudy.simulate.scenario import ACCELERATOR, SLICE, NodePlan

LEASE_DURATION = 40  # seconds; it is renewed four times within that
RENEW = LEASE_DURATION / 4
RETRY_DELAY = 5.0  # seconds after which a pod that cannot start yet is tried again
READY = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
StartObserver = Callable[["Kubelet", "Container", Version], None]


class Container:
    """A process that really runs."""

    __slots__ = ("accelerators", "gang", "grace", "name", "stopping", "uid")

    def __init__(self, pod: Version) -> None:
        spec = pod.document["spec"]
        self.uid = pod.uid
        self.name = pod.name[1]
        self.gang: str = pod.metadata.get("labels", {}).get("simulate-job", "")
        self.accelerators = accelerators_of(pod)
        self.grace: int = spec["terminationGracePeriodSeconds"]
        self.stopping = False


def accelerators_of(pod: Version) -> int:
    amount = 0
    for container in pod.document["spec"]["containers"]:
        amount += int(container.get("resources", {}).get("limits", {}).get(ACCELERATOR, 0))
    return amount


class Kubelet:
    def __init__(self, context: SimulationContext, server: ApiServer, leases: "NodeLeases", plan: NodePlan) -> None:
        self.on_start: list[StartObserver] = []
        self.plan = plan
        self._context = context
        self._server = server
        self._leases = leases
        self._durations = {job.name: job.duration for job in context.scenario.jobs}
        self.name = plan.name
        self.powered = True
        self.reachable = True  # from the API server
        self.works = True  # a hung kubelet does nothing, while its containers run on
        self.registered = False
        self.boots = 1
        self.containers: dict[str, Container] = {}
        self._channel = context.channels.channel(f"kubelet-{plan.name}")
        self._due: dict[str, float] = {}  # uid of a pod -> when it is synced

    @property
    def heard(self) -> bool:
        return self.powered and self.reachable and self.works and not self._server.is_down

    # The node

    def register(self) -> None:
        plan = self.plan
        labels = {SLICE: plan.slice, "kubernetes.io/hostname": plan.name}
        if plan.spare:
            labels["understudy.dev/spare"] = "true"
        if plan.spot:
            labels["karpenter.sh/capacity-type"] = "spot"
        amounts = {ACCELERATOR: str(plan.accelerators), "cpu": "64", "memory": "512Gi", "pods": "110"}
        now = format_time(int(self._context.now()))
        ready = {**READY, "lastTransitionTime": now}
        document: Document = {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": plan.name, "labels": labels},
            "spec": {},
            "status": {"allocatable": amounts, "capacity": amounts, "conditions": [ready], "nodeInfo": self._info()},
        }
        self._server.create(NODES, document, self.name)
        self.registered = True
        self.renew()

    def _info(self) -> Document:
        return {"bootID": f"{self.name}-{self.boots}"}

    def renew(self) -> None:
        """Renews the lease if the kubelet can, and schedules the next renewal."""
        context = self._context
        if not self.registered:
            return
        context.loop.call_later(RENEW * (0.98 + 0.04 * self._channel.share()), self.renew)
        if self.heard and not self._leases.stand_still:
            self._leases.renew(self.name, context.loop.time(), self.plan.skew)

    def power_off(self) -> None:
        self.powered = False
        self.containers.clear()

    def come_back(self, rebooted: bool = False) -> None:
        """After silence: renews the lease and syncs what runs with what the API says."""
        if rebooted:
            self.containers.clear()
            self.boots += 1
        self.powered = self.reachable = self.works = True
        context, server = self._context, self._server
        node = server.get(Ref(NODES, name=self.name))
        if node is None:
            return
        self._leases.renew(self.name, context.loop.time(), self.plan.skew)
        status: Document = {"nodeInfo": self._info()}
        if context.scenario.mode == "kube":
            now = format_time(int(context.now()))
            status["conditions"] = [{**READY, "lastTransitionTime": now}]
        server.merge(node, {"status": status}, self.name)
        for uid in list(self.containers):
            self.touch(uid)
        for pod in server.all(PODS):
            if pod.node == self.name:
                if rebooted and pod.phase == "Running" and not pod.leaving:
                    self._end_badly(pod)
                self.touch(pod.uid)

    def _end_badly(self, pod: Version) -> None:
        """A container that failed is restarted if its pod says so."""
        if pod.document["spec"].get("restartPolicy") == "OnFailure":
            self.containers[pod.uid] = Container(pod)
        else:
            self._report(pod, "Failed")

    # Pods

    def touch(self, uid: str, after: float | None = None) -> None:
        """Syncs a pod soon; of several times the earliest counts."""
        loop = self._context.loop
        at = loop.time() + (0.02 + 0.6 * self._channel.share() if after is None else after)
        if at < self._due.get(uid, float("inf")):
            self._due[uid] = at
            loop.call_at(at, self._look, uid, at)

    def _look(self, uid: str, at: float) -> None:
        if self._due.get(uid) != at:
            return
        del self._due[uid]
        if not self.heard:
            return  # it syncs all pods when it is back
        pod = self._server.by_uid.get(uid)
        container = self.containers.get(uid)
        if pod is None or pod.node != self.name:
            if container is not None:
                self._stop(container)
        elif pod.leaving:
            if container is not None:
                self._stop(container)
            else:
                self._let_go(pod)
        elif container is None and pod.phase == "Pending":
            self._start(pod)

    def _start(self, pod: Version) -> None:
        context = self._context
        if self._lacks_a_claim(pod) or self._is_still_full(pod):
            self.touch(pod.uid, RETRY_DELAY)
            return
        context.step("run", self.name, pod.name[1])
        container = self.containers[pod.uid] = Container(pod)
        for observe in self.on_start:
            observe(self, container, pod)
        self._report(pod, "Running")
        duration = self._durations.get(container.gang, 0.0)
        if duration:
            context.loop.call_later(duration, self._finish, pod.uid, "Succeeded")

    def _is_still_full(self, pod: Version) -> bool:
        """The agent of an embedded cluster gives out accelerators when their previous containers have ended; a kubelet
        relies on the API."""
        used = sum(one.accelerators for one in self.containers.values())
        return self._context.scenario.mode == "embedded" and used + accelerators_of(pod) > self.plan.accelerators

    def _lacks_a_claim(self, pod: Version) -> bool:
        for volume in pod.document["spec"].get("volumes", ()):
            name = volume.get("persistentVolumeClaim", {}).get("claimName")
            claim = self._server.get(Ref(CLAIMS, pod.name[0], name)) if name else None
            if name and (claim is None or not claim.document["spec"].get("volumeName")):
                return True
        return False

    def _report(self, pod: Version, phase: str) -> None:
        now = format_time(int(self._context.now()))
        ready = {"type": "Ready", "status": "True" if phase == "Running" else "False", "lastTransitionTime": now}
        status: Document = {"phase": phase, "conditions": [ready]}
        if phase == "Running":
            status["startTime"] = now
        else:
            code = 0 if phase == "Succeeded" else 1
            ended = {"name": "main", "state": {"terminated": {"exitCode": code, "finishedAt": now}}}
            status["containerStatuses"] = [ended]
        self._server.merge(pod, {"status": status}, self.name)

    def _finish(self, uid: str, phase: str) -> None:
        """A process ends by itself; its kubelet reports that as soon as it can."""
        container = self.containers.get(uid)
        if container is None or container.stopping:
            return
        if not self.heard:
            self._context.loop.call_later(RETRY_DELAY, self._finish, uid, phase)
            return
        self._context.step("end", self.name, container.name)
        del self.containers[uid]
        pod = self._server.by_uid.get(uid)
        if pod is not None and pod.phase == "Running":
            self._report(pod, phase) if phase == "Succeeded" else self._end_badly(pod)

    def crash(self, uid: str) -> None:
        self._finish(uid, "Failed")

    def _stop(self, container: Container) -> None:
        if container.stopping:
            return
        container.stopping = True
        self._context.step("stop", self.name, container.name)
        took = container.grace * self._channel.share()
        self._context.loop.call_later(took, self._stopped, container)

    def _stopped(self, container: Container) -> None:
        if self.containers.get(container.uid) is not container:
            return
        if not self.powered or not self.works:
            container.stopping = False
            return
        self._context.step("stopped", self.name, container.name)
        del self.containers[container.uid]
        self.touch(container.uid, 0.0)

    def _let_go(self, pod: Version) -> None:
        """The container has stopped or never ran."""
        with contextlib.suppress(Refused):
            self._server.delete(Ref(PODS, *pod.name), 0, pod.uid, "", self.name)


class NodeLeases:
    """The leases of nodes. Renewals are so frequent that they bypass requests, and their times are written without the
    calendar: a run is shorter than half a day."""

    def __init__(self, server: ApiServer) -> None:
        self._server = server
        self.stand_still = False  # a fault: no lease is renewed
        self.renewed: dict[str, float] = {}  # virtual time, by node

    def renew(self, node: str, now: float, skew: float) -> None:
        server = self._server
        self.renewed[node] = now
        minutes, seconds = divmod(now + skew, 60.0)
        moment = f"2026-01-01T{12 + int(minutes // 60):02d}:{int(minutes % 60):02d}:{seconds:09.6f}Z"
        known = server.get(Ref(LEASES, LEASE_NAMESPACE, node))
        spec = {"holderIdentity": node, "leaseDurationSeconds": LEASE_DURATION, "renewTime": moment}
        if known is None:
            meta = {"name": node, "namespace": LEASE_NAMESPACE}
            server.create(
                LEASES, {"apiVersion": LEASES.api_version, "kind": "Lease", "metadata": meta, "spec": spec}, ""
            )
        else:
            server.replace(known, {**known.document, "spec": spec}, "")
