"""What users and faults do: turns the events of a scenario into what happens to the world, and heals it in the end."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from understudy.kinds.annotations import PREFIX, format_time
from understudy.kinds.job_control import suspend_patch
from understudy.kinds.registry import control_of
from understudy.objects.jobs import Workload
from understudy.objects.resources import CLAIMS, CLUSTER_TRAINING_RUNTIMES, NODES, PODS, STORAGE_CLASSES, Resource
from understudy.ports import Ref, Refused
from understudy.simulate.api_server import Version
from understudy.simulate.client import RequestFaults
from understudy.simulate.patches import Document
from understudy.simulate.scenario import Event, JobPlan
from understudy.simulate.workloads import JOB_LABEL, RESOURCES, document_of, runtime_of

if TYPE_CHECKING:
    from understudy.simulate.simulation import Simulation

USER = "user"
NOTICE = "cloud.google.com/impending-node-termination"


class EventInjector:
    """One method for each thing an event can do; `table` has them by name."""

    def __init__(self, world: "Simulation") -> None:
        self._world = world
        self._plans = {plan.name: plan for plan in world.scenario.jobs}
        self._quotas: dict[str, tuple[float, int]] = {}  # job -> until when, and how many pods may exist
        world.server.rules.append(self._quota)
        self.table: dict[str, Callable[[Event], None]] = {
            "submit": self._submit,
            "delete": self._delete,
            "suspend": self._suspend,
            "resume": self._resume,
            "claim": self._claim,
            "cordon": self._cordon,
            "uncordon": self._uncordon,
            "drain": self._drain,
            "crash": self._crash,
            "no-pods": self._no_pods,
            "kill": self._kill,
            "kill-at-write": self._kill_at_write,
            "pause": self._pause,
            "cut-off": self._cut_off,
            "break-watches": self._break_watches,
            "refuse": self._refuse,
            "lose-answers": self._lose_answers,
            "lose-requests": self._lose_requests,
            "server-down": self._server_down,
            "leases-stop": self._leases_stop,
            "power-off": self._power_off,
            "partition": self._partition,
            "hang": self._hang,
            "reboot": self._reboot,
            "delete-node": self._delete_node,
            "unready": self._unready,
            "notice": self._notice,
        }

    def happen(self, event: Event) -> None:
        self._world.step("event", event.does, event.target, event.number)
        self._world.disturbed(event)
        self.table[event.does](event)

    # Users

    def _submit(self, event: Event) -> None:
        world, plan = self._world, self._plans[event.target]
        if plan.kind == "TrainJob":
            self._created(CLUSTER_TRAINING_RUNTIMES, runtime_of(plan, world.scheduler))
        if self._created(RESOURCES[plan.kind], document_of(plan, world.scheduler)):
            world.checks.submitted(plan)

    def _created(self, resource: Resource, document: Document) -> bool:
        try:
            self._world.server.create(resource, document, USER)
        except Refused:
            return False
        return True

    def _job(self, name: str) -> Version | None:
        plan = self._plans[name]
        return self._world.server.get(Ref(RESOURCES[plan.kind], "default", name))

    def _delete(self, event: Event) -> None:
        if (job := self._job(event.target)) is not None:
            self._world.checks.withdrawn(event.target)
            self._world.server.remove(job, None, "Background", USER)

    def _suspend(self, event: Event) -> None:
        self._switch(event.target, True)

    def _resume(self, event: Event) -> None:
        self._switch(event.target, False)

    def _switch(self, name: str, suspended: bool) -> None:
        """A user's own suspension; one by the scheduler is ended by the scheduler."""
        job = self._job(name)
        if job is None or not isinstance(job.obj, Workload):
            return
        requeued = f"{PREFIX}requeued-at" in job.metadata.get("annotations", {})
        patch = suspend_patch(control_of(job.obj), suspended)
        if patch and not requeued:
            self._world.checks.suspended(name, suspended)
            self._world.server.merge(job, patch, USER)

    def _claim(self, event: Event) -> None:
        """A claim appears; with a number, of a class that waits for its first consumer."""
        spec: Document = {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}}
        if event.number:
            spec["storageClassName"] = "waits"
            waits = {"provisioner": "simulated", "volumeBindingMode": "WaitForFirstConsumer"}
            head = {"apiVersion": STORAGE_CLASSES.api_version, "kind": "StorageClass", "metadata": {"name": "waits"}}
            self._created(STORAGE_CLASSES, {**head, **waits})
        meta = {"name": event.target, "namespace": "default"}
        self._created(CLAIMS, {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": spec})

    def _node(self, name: str) -> Version | None:
        return self._world.server.get(Ref(NODES, name=name))

    def _cordon(self, event: Event) -> None:
        self._change(event.target, {"spec": {"unschedulable": True}})

    def _uncordon(self, event: Event) -> None:
        deadline = {f"{PREFIX}drain-deadline": None}
        self._change(event.target, {"spec": {"unschedulable": None}, "metadata": {"annotations": deadline}})

    def _drain(self, event: Event) -> None:
        deadline = format_time(int(self._world.now() + event.seconds))
        self._change(event.target, {"metadata": {"annotations": {f"{PREFIX}drain-deadline": deadline}}})

    def _notice(self, event: Event) -> None:
        """The cloud announces the end of a node, which comes."""
        node = self._node(event.target)
        if node is not None:
            taint = {"key": NOTICE, "effect": "NoSchedule", "timeAdded": format_time(int(self._world.now()))}
            kept = node.document["spec"].get("taints") or []
            self._world.server.merge(node, {"spec": {"taints": [*kept, taint]}}, USER)
            self._world.loop.call_later(max(30.0, event.seconds), self._power_off, event)

    def _change(self, name: str, patch: Document) -> None:
        if (node := self._node(name)) is not None:
            self._world.server.merge(node, patch, USER)

    # Jobs that go wrong

    def _crash(self, event: Event) -> None:
        """One of its processes ends with an error."""
        for kubelet in self._world.kubelets.values():
            for container in list(kubelet.containers.values()):
                if container.gang == event.target:
                    kubelet.crash(container.uid)
                    return

    def _no_pods(self, event: Event) -> None:
        """A quota: not more than so many pods of a job can be made for a while. No seconds: for ever."""
        until = self._world.loop.time() + event.seconds if event.seconds else float("inf")
        self._quotas[event.target] = (until, event.number)

    def _quota(self, resource: Resource, document: Document) -> None:
        if resource is not PODS or not self._quotas:
            return
        name = document["metadata"].get("labels", {}).get(JOB_LABEL, "")
        until, most = self._quotas.get(name, (0.0, 0))
        if self._world.loop.time() < until and self._world.checks.pods_made(name) >= most:
            raise Refused(403, "Forbidden", f"exceeded quota: pods of {name}")

    def lacks_pods_for_ever(self, plan: JobPlan) -> bool:
        return self._quotas.get(plan.name, (0.0, 0))[0] == float("inf")

    # Processes

    def _kill(self, event: Event) -> None:
        self._world.kill(event.target, event.seconds)

    def _kill_at_write(self, event: Event) -> None:
        for client in self._world.processes[event.target].clients[:1]:
            client.fate.kill_in = max(1, event.number)

    def _pause(self, event: Event) -> None:
        process = self._world.processes[event.target]
        process.pause()
        self._world.loop.call_later(event.seconds, process.go_on)

    def _cut_off(self, event: Event) -> None:
        process = self._world.processes[event.target]
        process.cut_off()
        self._world.loop.call_later(event.seconds, process.go_on)

    def _break_watches(self, event: Event) -> None:
        """All watches of a process; with a number, every so many of them."""
        for client in self._world.processes[event.target].clients[:1]:
            for number, watch in enumerate(client.watches):
                if not event.number or number % event.number == 0:
                    watch.break_off(event.seconds)

    def _refuse(self, event: Event) -> None:
        for client in self._world.processes[event.target].clients[:1]:
            client.fate.refusals += [event.number] * max(1, int(event.seconds))

    def _lose_answers(self, event: Event) -> None:
        for client in self._world.processes[event.target].clients[:1]:
            client.fate.lost_answers += event.number

    def _lose_requests(self, event: Event) -> None:
        for client in self._world.processes[event.target].clients[:1]:
            client.fate.lost_requests += event.number

    def _server_down(self, event: Event) -> None:
        world = self._world
        world.server_is_down = True
        for process in world.processes.values():
            process.cut_off()
        world.loop.call_later(event.seconds, self._server_up)

    def _server_up(self) -> None:
        world = self._world
        if world.server_is_down:
            world.server_is_down = False
            for process in world.processes.values():
                process.go_on()
            for kubelet in world.kubelets.values():
                if kubelet.heard:
                    kubelet.come_back()

    # Nodes

    def _leases_stop(self, event: Event) -> None:
        """No node renews: their agent stands still."""
        world = self._world
        world.leases_stand_still = True
        world.loop.call_later(event.seconds, self._leases_go_on)

    def _leases_go_on(self) -> None:
        self._world.leases_stand_still = False

    def _power_off(self, event: Event) -> None:
        """With a notice, this may come after all other faults: the world is not at rest before it was noticed."""
        self._world.disturbed(event)
        self._world.kubelets[event.target].power_off()

    def _partition(self, event: Event) -> None:
        kubelet = self._world.kubelets[event.target]
        if kubelet.powered:
            kubelet.reachable = False
            self._world.loop.call_later(event.seconds, self._come_back, event.target, False)

    def _hang(self, event: Event) -> None:
        kubelet = self._world.kubelets[event.target]
        if kubelet.powered:
            kubelet.works = False
            self._world.loop.call_later(event.seconds, self._come_back, event.target, False)

    def _reboot(self, event: Event) -> None:
        kubelet = self._world.kubelets[event.target]
        if kubelet.registered:
            kubelet.power_off()
            self._world.loop.call_later(event.seconds, self._come_back, event.target, True)

    def _come_back(self, name: str, rebooted: bool) -> None:
        kubelet = self._world.kubelets[name]
        if kubelet.powered or rebooted:
            self._world.step("return", "node", name)
            self._world.disturbed(Event(self._world.loop.time(), "return", name))
            kubelet.come_back(rebooted)

    def _delete_node(self, event: Event) -> None:
        kubelet = self._world.kubelets[event.target]
        kubelet.power_off()
        kubelet.registered = False
        if (node := self._node(event.target)) is not None:
            self._world.server.remove(node, None, "", USER)

    def _unready(self, event: Event) -> None:
        """Its kubelet is alive and says that it is unwell, for a while."""
        now = format_time(int(self._world.now()))
        condition = {"type": "Ready", "status": "False", "reason": "KubeletNotReady", "lastTransitionTime": now}
        if self._world.kubelets[event.target].heard:
            self._change(event.target, {"status": {"conditions": [condition]}})
            self._world.loop.call_later(event.seconds, self._ready_again, event.target)

    def _ready_again(self, name: str) -> None:
        kubelet, now = self._world.kubelets[name], format_time(int(self._world.now()))
        if kubelet.heard:
            condition = {"type": "Ready", "status": "True", "reason": "KubeletReady", "lastTransitionTime": now}
            self._change(name, {"status": {"conditions": [condition]}})

    # The end of the faults

    def heal(self) -> None:
        """Processes run, messages are prompt, silent nodes are back. What was switched off stays off."""
        world = self._world
        world.step("heal", "", "")
        world.messages.heal()
        self._server_up()
        self._leases_go_on()
        for process in world.processes.values():
            for client in process.clients:
                client.fate = RequestFaults()
            process.go_on()
            process.start()
        for name, kubelet in world.kubelets.items():
            if kubelet.powered and not (kubelet.reachable and kubelet.works):
                self._come_back(name, False)
