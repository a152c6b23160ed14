"""Users and faults: applies the events of a scenario to the simulated cluster, and heals it after the last fault."""

from collections.abc import Callable, Mapping

from understudy.kinds.annotations import NOTICE as NOTICE_ANNOTATION
from understudy.kinds.annotations import PREFIX, format_notice, format_time
from understudy.kinds.job_control import suspend_patch
from understudy.kinds.registry import control_of
from understudy.model.nodes import Notice
from understudy.objects.jobs import Workload
from understudy.objects.resources import CLAIMS, CLUSTER_TRAINING_RUNTIMES, NODES, STORAGE_CLASSES, Resource
from understudy.ports import Ref, Refused
from understudy.simulate.api_server import Version
from understudy.simulate.cluster import SimulatedCluster
from understudy.simulate.connection import RequestFaults
from understudy.simulate.invariants.step import StepInvariants
from understudy.simulate.patches import Document
from understudy.simulate.processes import Process
from understudy.simulate.scenario import Event
from understudy.simulate.workloads import document_of, resource_of, runtime_of

USER = "user"
NOTICE = "cloud.google.com/impending-node-termination"


class EventInjector:
    """One method for each kind of event; `table` maps the kinds to the methods."""

    def __init__(self, cluster: SimulatedCluster, invariants: StepInvariants, processes: Mapping[str, Process]) -> None:
        self._context = cluster.context
        self._cluster = cluster
        self._server = cluster.server
        self._kubelets = cluster.kubelets
        self._invariants = invariants
        self._processes = processes
        self._plans = {plan.name: plan for plan in cluster.context.scenario.jobs}
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
            "refuse-reads": self._refuse_reads,
            "lose-reads": self._lose_reads,
            "set-clock": self._set_clock,
            "server-down": self._server_down,
            "leases-stop": self._leases_stop,
            "power-off": self._power_off,
            "partition": self._partition,
            "hang": self._hang,
            "reboot": self._reboot,
            "delete-node": self._delete_node,
            "unready": self._unready,
            "notice": self._notice,
            "announce": self._announce,
            "withdraw": self._withdraw,
        }

    def inject(self, event: Event) -> None:
        self._context.step("event", event.does, event.target, event.number)
        self._disturbed(event)
        self.table[event.does](event)

    def _disturbed(self, event: Event) -> None:
        self._context.disturbed()
        self._invariants.disturbed(event)

    # Users

    def _submit(self, event: Event) -> None:
        context, plan = self._context, self._plans[event.target]
        if plan.kind == "TrainJob":
            self._created(CLUSTER_TRAINING_RUNTIMES, runtime_of(plan, context.scheduler))
        if self._created(resource_of(plan), document_of(plan, context.scheduler)):
            self._invariants.submitted(plan)

    def _created(self, resource: Resource, document: Document) -> bool:
        try:
            self._server.create(resource, document, USER)
        except Refused:
            return False
        return True

    def _job(self, name: str) -> Version | None:
        plan = self._plans[name]
        return self._server.get(Ref(resource_of(plan), "default", name))

    def _delete(self, event: Event) -> None:
        if (job := self._job(event.target)) is not None:
            self._invariants.withdrawn(event.target)
            self._server.remove(job, None, "Background", USER)

    def _suspend(self, event: Event) -> None:
        self._switch(event.target, True)

    def _resume(self, event: Event) -> None:
        self._switch(event.target, False)

    def _switch(self, name: str, suspended: bool) -> None:
        """Suspends or resumes as a user. A suspension by the scheduler is left to the scheduler."""
        job = self._job(name)
        if job is None or not isinstance(job.obj, Workload):
            return
        requeued = f"{PREFIX}requeued-at" in job.metadata.get("annotations", {})
        patch = suspend_patch(control_of(job.obj), suspended)
        if patch and not requeued:
            self._invariants.suspended(name, suspended)
            self._server.merge(job, patch, USER)

    def _claim(self, event: Event) -> None:
        """Creates a claim; with a number, of a class that waits for its first consumer."""
        spec: Document = {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}}
        if event.number:
            spec["storageClassName"] = "waits"
            waits = {"provisioner": "simulated", "volumeBindingMode": "WaitForFirstConsumer"}
            head = {"apiVersion": STORAGE_CLASSES.api_version, "kind": "StorageClass", "metadata": {"name": "waits"}}
            self._created(STORAGE_CLASSES, {**head, **waits})
        meta = {"name": event.target, "namespace": "default"}
        self._created(CLAIMS, {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": spec})

    def _node(self, name: str) -> Version | None:
        return self._server.get(Ref(NODES, name=name))

    def _cordon(self, event: Event) -> None:
        self._change(event.target, {"spec": {"unschedulable": True}})

    def _uncordon(self, event: Event) -> None:
        deadline = {f"{PREFIX}drain-deadline": None}
        self._change(event.target, {"spec": {"unschedulable": None}, "metadata": {"annotations": deadline}})

    def _drain(self, event: Event) -> None:
        deadline = format_time(int(self._context.now() + event.seconds))
        self._change(event.target, {"metadata": {"annotations": {f"{PREFIX}drain-deadline": deadline}}})

    def _notice(self, event: Event) -> None:
        """The cloud announces that a node will go, and later it goes."""
        node = self._node(event.target)
        if node is not None:
            taint = {"key": NOTICE, "effect": "NoSchedule", "timeAdded": format_time(int(self._context.now()))}
            kept = node.document["spec"].get("taints") or []
            self._server.merge(node, {"spec": {"taints": [*kept, taint]}}, USER)
            self._context.loop.call_later(max(30.0, event.seconds), self._power_off, event)

    def _announce(self, event: Event) -> None:
        """A notice with a deadline in so many seconds; a later one replaces it. With a number, the machine goes."""
        now = self._context.now()
        notice = Notice(now + event.seconds, "simulated", "Preempt", now)
        if self._node(event.target) is not None and self._kubelets[event.target].heard:
            self._change(event.target, {"metadata": {"annotations": {NOTICE_ANNOTATION: format_notice(notice)}}})
            self._invariants.notices.announced(event, self._power_off)

    def _withdraw(self, event: Event) -> None:
        self._invariants.notices.withdrawn(event.target)
        self._change(event.target, {"metadata": {"annotations": {NOTICE_ANNOTATION: None}}})

    def _change(self, name: str, patch: Document) -> None:
        if (node := self._node(name)) is not None:
            self._server.merge(node, patch, USER)

    # Jobs that go wrong

    def _crash(self, event: Event) -> None:
        """One of its processes ends with an error."""
        for kubelet in self._kubelets.values():
            for container in list(kubelet.containers.values()):
                if container.gang == event.target:
                    kubelet.crash(container.uid)
                    return

    def _no_pods(self, event: Event) -> None:
        """A quota: no more than so many pods of a job can be created for a while. No seconds: for ever."""
        self._cluster.quotas.limit(event.target, event.number, event.seconds)

    # Processes

    def _kill(self, event: Event) -> None:
        self._processes[event.target].crash(event.seconds)

    def _kill_at_write(self, event: Event) -> None:
        for client in self._processes[event.target].clients[:1]:
            client.connection.faults.kill_in = max(1, event.number)

    def _pause(self, event: Event) -> None:
        process = self._processes[event.target]
        process.pause()
        self._context.loop.call_later(event.seconds, process.resume)

    def _cut_off(self, event: Event) -> None:
        process = self._processes[event.target]
        process.cut_off()
        self._context.loop.call_later(event.seconds, process.resume)

    def _break_watches(self, event: Event) -> None:
        """All watches of a process; with a number n, every n-th of them."""
        for client in self._processes[event.target].clients[:1]:
            for number, watch in enumerate(client.connection.watches):
                if not event.number or number % event.number == 0:
                    watch.break_off(event.seconds)

    def _refuse(self, event: Event) -> None:
        for client in self._processes[event.target].clients[:1]:
            client.connection.faults.refusals += [event.number] * max(1, int(event.seconds))

    def _lose_answers(self, event: Event) -> None:
        for client in self._processes[event.target].clients[:1]:
            client.connection.faults.lost_answers += event.number

    def _lose_requests(self, event: Event) -> None:
        for client in self._processes[event.target].clients[:1]:
            client.connection.faults.lost_requests += event.number

    def _refuse_reads(self, event: Event) -> None:
        for client in self._processes[event.target].clients:
            client.connection.faults.refused_reads += [event.number] * max(1, int(event.seconds))

    def _lose_reads(self, event: Event) -> None:
        for client in self._processes[event.target].clients:
            client.connection.faults.lost_reads += event.number

    def _set_clock(self, event: Event) -> None:
        """From now on the clock of a process is so many seconds ahead of the server's."""
        self._processes[event.target].set_clock(event.seconds)

    def _server_down(self, event: Event) -> None:
        context = self._context
        self._server.is_down = True
        for process in self._processes.values():
            process.cut_off()
        context.loop.call_later(event.seconds, self._server_up)

    def _server_up(self) -> None:
        if self._server.is_down:
            self._server.is_down = False
            self._invariants.silence_ended()
            for process in self._processes.values():
                process.resume()
            for kubelet in self._kubelets.values():
                if kubelet.heard:
                    kubelet.come_back()

    # Nodes

    def _leases_stop(self, event: Event) -> None:
        """No node renews its lease: the agent of all nodes is stuck."""
        context = self._context
        self._cluster.leases.stand_still = True
        context.loop.call_later(event.seconds, self._leases_go_on)

    def _leases_go_on(self) -> None:
        if self._cluster.leases.stand_still:
            self._cluster.leases.stand_still = False
            self._invariants.silence_ended()

    def _power_off(self, event: Event) -> None:
        """After a notice, this may be later than all faults: rest begins only when the loops have noticed it."""
        self._disturbed(event)
        self._kubelets[event.target].power_off()

    def _partition(self, event: Event) -> None:
        kubelet = self._kubelets[event.target]
        if kubelet.powered:
            kubelet.reachable = False
            self._context.loop.call_later(event.seconds, self._come_back, event.target, False)

    def _hang(self, event: Event) -> None:
        kubelet = self._kubelets[event.target]
        if kubelet.powered:
            kubelet.works = False
            self._context.loop.call_later(event.seconds, self._come_back, event.target, False)

    def _reboot(self, event: Event) -> None:
        kubelet = self._kubelets[event.target]
        if kubelet.registered:
            kubelet.power_off()
            self._context.loop.call_later(event.seconds, self._come_back, event.target, True)

    def _come_back(self, name: str, rebooted: bool) -> None:
        kubelet = self._kubelets[name]
        if kubelet.powered or rebooted:
            self._context.step("return", "node", name)
            self._disturbed(Event(self._context.loop.time(), "return", name))
            kubelet.come_back(rebooted)

    def _delete_node(self, event: Event) -> None:
        kubelet = self._kubelets[event.target]
        kubelet.power_off()
        kubelet.registered = False
        if (node := self._node(event.target)) is not None:
            self._server.remove(node, None, "", USER)

    def _unready(self, event: Event) -> None:
        """The kubelet reports the node as not ready for a while."""
        now = format_time(int(self._context.now()))
        condition = {"type": "Ready", "status": "False", "reason": "KubeletNotReady", "lastTransitionTime": now}
        if self._kubelets[event.target].heard:
            self._change(event.target, {"status": {"conditions": [condition]}})
            self._context.loop.call_later(event.seconds, self._ready_again, event.target)

    def _ready_again(self, name: str) -> None:
        kubelet, now = self._kubelets[name], format_time(int(self._context.now()))
        if kubelet.heard:
            condition = {"type": "Ready", "status": "True", "reason": "KubeletReady", "lastTransitionTime": now}
            self._change(name, {"status": {"conditions": [condition]}})

    # The end of the faults

    def heal(self) -> None:
        """Processes run, messages are prompt, silent nodes are back. Nodes that were switched off stay off."""
        context = self._context
        context.step("heal", "", "")
        context.channels.heal()
        self._server_up()
        self._leases_go_on()
        for process in self._processes.values():
            for client in process.clients:
                client.connection.faults = RequestFaults()
            process.resume()
            for watch in [watch for client in process.clients for watch in client.connection.watches]:
                watch.mend()
            process.start()
        for name, kubelet in self._kubelets.items():
            if kubelet.powered and not (kubelet.reachable and kubelet.works):
                self._come_back(name, False)
