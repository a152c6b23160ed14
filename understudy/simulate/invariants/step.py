"""Invariants that hold at every step, checked on the objects of the API server and on the processes that run."""

from collections.abc import Mapping, Sequence
from typing import Any

from understudy.control.loop import Cycle
from understudy.embedded.loop_settings import EMBEDDED_DEFAULTS
from understudy.kinds.annotations import HOLDS, REQUEUED_AT
from understudy.kinds.ownership import owner_of
from understudy.model.gangs import Suspension
from understudy.model.nodes import Verdict
from understudy.model.plans import Preempt, Requeue
from understudy.objects.pods import Pod
from understudy.objects.resources import CLAIMS, LEASES, NODES, PODS
from understudy.ports import PodBinding, Ref
from understudy.simulate.api_server import Version
from understudy.simulate.cluster import SimulatedCluster
from understudy.simulate.invariants.limits import Explanations
from understudy.simulate.invariants.node_troubles import NodeTroubles
from understudy.simulate.invariants.notices import NoticeInvariants
from understudy.simulate.invariants.partial_seats import PartialSeats
from understudy.simulate.invariants.preemption_use import VAIN, PreemptionUse
from understudy.simulate.invariants.process_starts import WHOLE, ProcessStarts
from understudy.simulate.invariants.seat_losses import SeatLosses
from understudy.simulate.kubelet import RENEW, Container, Kubelet, accelerators_of
from understudy.simulate.scenario import Event, JobPlan
from understudy.simulate.workloads import JOB_LABEL, GangState, resource_of

SEATS = "no seat is given twice"
DOMAINS = "no two islands share an exclusive domain"
VICTIMS = "victims are whole gangs of lower priority"
LOST = "a lost node gets no seat before its lease is renewed"
FENCE = "only the leader writes"
CLAIMED = "no pod gets a seat before its claim exists"
PROCESSES = "no accelerator is used twice"
LONGEST_PARTLY_SEATED = 360.0  # seconds for which rest waits for a gang: a controller has 300 to make a pod again
SILENT = RENEW + 2.0  # seconds without a renewal after which a node is silent
# Causes of a loss that a missed lease explains.
SILENCE_CAUSES = ("lease has run out", "NodeStatusUnknown", "unreachable")
MESSAGE_DELAY = 3.5  # seconds by which messages may be late: a scheduler may not know of a younger loss
BIND_AGAIN = 15.0  # seconds in which a seat counts as given although a fault failed the binding


class StepInvariants:
    """Observes the API server, the kubelets and the processes, and fails the simulation at the first violation."""

    def __init__(self, cluster: SimulatedCluster) -> None:
        self._cluster = cluster
        self._context = cluster.context
        self._server = cluster.server
        self._kubelets = cluster.kubelets
        self._renewed = cluster.leases.renewed
        self.gangs = {plan.name: GangState(plan) for plan in cluster.context.scenario.jobs}
        self.notices = NoticeInvariants(cluster, self.gangs)
        self._by_key = {gang.key: gang for gang in self.gangs.values()}
        self._seats: dict[str, dict[str, Version]] = {}  # node -> uid -> pod that occupies a seat there
        # Life of a loop -> node it counts as lost -> last renewal of the node's lease.
        self._given_up: dict[str, dict[str, float]] = {}
        self._binding: dict[str, int] = {}  # uid -> bindings in progress
        self._gone_at: dict[str, float] = {}  # node -> when it was deleted
        self._failed_binding: dict[str, float] = {}
        self._lives: dict[str, int] = {}  # process -> number of its present life
        self._events: dict[str, Mapping[str, Any]] = {}  # by name
        self.troubles = NodeTroubles(cluster)
        self._losses = SeatLosses(cluster, self.troubles)
        self._starts = ProcessStarts(cluster.context)
        explanations = Explanations(cluster, self.troubles, self._losses, self.gangs)
        self._partial = PartialSeats(cluster.context, explanations)
        self._use = PreemptionUse(cluster, self.troubles, self._losses, explanations)
        cluster.server.observers.append(self.observe)
        for kubelet in cluster.kubelets.values():
            kubelet.on_start.append(self.started)

    # What users and processes do

    def submitted(self, plan: JobPlan) -> None:
        gang = self.gangs[plan.name]
        gang.there, gang.suspended = True, False

    def withdrawn(self, name: str) -> None:
        self.gangs[name].there = False

    def suspended(self, name: str, yes: bool) -> None:
        self.gangs[name].suspended = yes

    def disturbed(self, event: Event) -> None:
        """A user or a fault acts."""
        if (gang := self.gangs.get(event.target)) is not None:
            self._losses.user_changed(gang)
            self._use.changed(gang)
        self.troubles.note([event.target] if event.target in self._kubelets else ())

    def silence_ended(self) -> None:
        """No node was heard, and now they are heard again."""
        self.troubles.note(self._kubelets)

    def event_written(self, name: str, event: Mapping[str, Any] | None) -> None:
        """A Kubernetes event: a new one, or (None) a known one that is counted up."""
        if event is not None:
            self._events[name] = event
        event = self._events.get(name, {})
        about = event.get("involvedObject") or event.get("regarding") or {}
        job = about.get("name", "")
        if event.get("reason") == "Waiting" and job in self.gangs:
            self.gangs[job].waits = event.get("message") or event.get("note") or ""

    def process_started(self, name: str, life: int) -> None:
        self._lives[name] = life

    def bind_begins(self, seatings: Sequence[PodBinding]) -> None:
        for one in seatings:
            self._binding[one.uid] = self._binding.get(one.uid, 0) + 1

    def bind_ends(self, seatings: Sequence[PodBinding]) -> None:
        now = self._context.loop.time()
        for one in seatings:
            self._binding[one.uid] -= 1
            self._failed_binding[one.uid] = now + BIND_AGAIN

    def writes(self, client: str, what: str) -> None:
        """Called before the server applies a write of a process."""
        if self._context.scenario.mode != "kube" or client.endswith("-lease"):
            return
        lease = next((one for one in self._server.all(LEASES) if one.name[0] == "default"), None)
        holder = lease.document["spec"].get("holderIdentity") if lease is not None else ""
        if holder != client:
            self._context.fail(FENCE, f"{client} wrote while {holder or 'no replica'} led: {what}")

    # Changes of objects

    def observe(self, before: Version | None, after: Version | None, writer: str) -> None:
        version = after or before
        assert version is not None
        if version.resource is PODS:
            self._before_loss(before, after, writer)
            self._pod(before, after)
        elif version.resource is LEASES and version.name[0] == "default":
            self._leader_changed(before, after)
        elif version.resource is NODES and before is not None:
            if after is not None:
                self._node(before, after, writer)
            else:
                self._gone_at[version.name[1]] = self._context.loop.time()
        elif version.name[1] in self.gangs:
            gang = self.gangs[version.name[1]]
            if version.resource == resource_of(gang.plan):
                gang.holds = holds_of(after) if after is not None else {}
                gang.requeued = after is not None and REQUEUED_AT in after.metadata.get("annotations", {})
                self._use.took(gang, set(gang.holds.values()))
                self._judge(gang)
                self._losses.observe(gang, after)

    def _leader_changed(self, before: Version | None, after: Version | None) -> None:
        holders = [one.document["spec"].get("holderIdentity") for one in (before, after) if one is not None]
        if len({*holders}) > 1 or len(holders) < 2:
            self._context.hampered()

    def _before_loss(self, before: Version | None, after: Version | None, writer: str) -> None:
        """Notes when all pods of the first stage last existed, before a crash, a user or a controller takes one away: a
        scheduler hears of that later."""
        if before is None or before.leaving or writer.startswith("replica"):
            return
        gang = self.gangs.get(before.metadata.get("labels", {}).get(JOB_LABEL, ""))
        lost = after is None or after.leaving or after.phase == "Failed"
        if gang is not None and lost and gang.first <= gang.made():
            gang.made_at = self._context.loop.time()

    def _pod(self, before: Version | None, after: Version | None) -> None:
        version = after or before
        assert version is not None
        bound = after is not None and after.node and (before is None or not before.node)
        if before is not None and before.node:
            self._seats.get(before.node, {}).pop(version.uid, None)
        if after is not None and after.takes_room:
            self._seats.setdefault(after.node, {})[after.uid] = after
        gang = self.gangs.get(version.metadata.get("labels", {}).get(JOB_LABEL, ""))
        if gang is None:
            return
        self._losses.pod_changed(gang, before, after)
        if after is None:
            gang.pods.pop(version.uid, None)
        else:
            slot = _slot(after)
            gang.pods[after.uid] = (slot, after)
            if after.phase == "Succeeded":
                gang.done.add(slot)
            elif before is None:
                gang.done.discard(slot)  # it is created again, after a restart
        if bound:
            assert after is not None
            self._bound(gang, after)
        self._judge(gang)
        self._losses.observe(gang, self._job(gang))

    def _bound(self, gang: GangState, pod: Version) -> None:
        context, node = self._context, pod.node
        taken = sum(accelerators_of(one) for one in self._seats[node].values())
        offered = self._kubelets[node].plan.accelerators
        if taken > offered:
            names = sorted(one.name[1] for one in self._seats[node].values())
            context.fail(SEATS, f"{node} has {offered} accelerators, {taken} are given to {', '.join(names)}")
        self._losses.bound(gang, pod, taken)
        self._use.took(gang, {node})
        self._check_domain(gang, pod)
        self._check_lost(pod)
        for volume in pod.document["spec"].get("volumes", ()):
            claim = volume.get("persistentVolumeClaim", {}).get("claimName")
            if claim and self._server.get(Ref(CLAIMS, "default", claim)) is None:
                context.fail(CLAIMED, f"{pod.name[1]} got a seat on {node}; claim {claim} does not exist")

    def _check_domain(self, gang: GangState, pod: Version) -> None:
        kubelets = self._kubelets
        domain, island = kubelets[pod.node].plan.slice, _island(gang, pod)
        for name, kubelet in kubelets.items():
            if kubelet.plan.slice != domain or not kubelet.heard:
                continue
            for other in self._seats.get(name, {}).values():
                neighbour = self.gangs.get(other.metadata["labels"].get(JOB_LABEL, ""))
                if neighbour is None or (neighbour is gang and _island(gang, other) == island):
                    continue
                exclusive = [g for g in (gang, neighbour) if g.plan.topology == "exclusive"]
                if exclusive and accelerators_of(other) and accelerators_of(pod):
                    words = f"{pod.name[1]} got a seat in {domain}, where {other.name[1]} sits"
                    self._context.fail(DOMAINS, words)

    def _check_lost(self, pod: Version) -> None:
        renewed = self._renewed.get(pod.node, 0.0)
        for life, lost in self._given_up.items():
            process, _, number = life.partition("/")
            if str(self._lives[process]) == number and lost.get(pod.node) == renewed:
                self._context.fail(LOST, f"{pod.name[1]} got a seat on {pod.node}, which {life} had given up")

    def _is_known_to_be_dead(self, node: str) -> bool:
        """Whether observers can know it: for `leaseSuspect` renewals, a dead node looks alive to all of them."""
        silent = self._context.loop.time() - self._renewed.get(node, 0.0)
        return not self._kubelets[node].powered and silent > EMBEDDED_DEFAULTS.limits.lease_suspect * RENEW

    def _node(self, before: Version, after: Version, writer: str) -> None:
        was, now_is = _ready(before), _ready(after)
        name = after.name[1]
        if was == "Unknown" and now_is == "True" and self._is_known_to_be_dead(name):
            self._context.fail(LOST, f"{writer} wrote Ready=True for {name}, which is dead")

    def _judge(self, gang: GangState) -> None:
        """After every change of a gang: notes whether it is whole, or partly seated."""
        now = self._context.loop.time()
        seated = gang.seated()
        self._starts.observe(gang, gang.seated() | self._held(gang))
        if not any(pod.takes_room for _, pod in gang.pods.values()):
            gang.begun = False
        elif len(seated) >= gang.needed or (not gang.elastic and gang.first <= seated):
            gang.begun = True
        if len(seated) >= gang.needed:
            self._use.settled(gang.key)
        partly = bool(seated - gang.done) and len(seated) < gang.needed
        if not partly:
            gang.partly_since = None
        elif gang.partly_since is None:
            gang.partly_since = now
        self._partial.observe(gang, partly)

    def _is_there(self, node: str) -> bool:
        """Whether the node exists as far as a scheduler can know."""
        there = ("", node) in self._server.objects[NODES.key]
        return there or self._gone_at.get(node, float("-inf")) > self._context.loop.time() - MESSAGE_DELAY

    def _held(self, gang: GangState) -> set[str]:
        """Members for which a seat is held."""
        found = {slot for slot, node in gang.holds.items() if self._is_there(node)}
        for slot, pod in gang.pods.values():
            nominated = pod.document.get("status", {}).get("nominatedNodeName", "")
            if not pod.node and not pod.leaving and self._is_there(nominated):
                found.add(slot)
        return found

    # Processes

    def started(self, kubelet: Kubelet, container: Container, pod: Version) -> None:
        context = self._context
        used = sum(one.accelerators for one in kubelet.containers.values())
        if used > kubelet.plan.accelerators:
            names = sorted(one.name for one in kubelet.containers.values())
            context.fail(PROCESSES, f"{', '.join(names)} run on {kubelet.name}, which has {kubelet.plan.accelerators}")
        gang = self.gangs.get(container.gang)
        if gang is None or not gang.there or gang.suspended:
            return  # the user does not want it to run; until the loops know, it may start for a moment
        self._judge(gang)
        if not gang.requeued:  # it is on its way out
            self._starts.started(gang, pod, gang.seated() | self._held(gang))
        if not gang.begun and not gang.elastic:
            giving = {slot for slot, one in gang.pods.values() if self._is_given(one)}
            missing = sorted(gang.first - gang.seated() - giving)
            if missing:
                context.fail(WHOLE, f"{pod.name[1]} started; of the first stage {', '.join(missing)} have no seat")

    def _is_given(self, pod: Version) -> bool:
        now = self._context.loop.time()
        return bool(self._binding.get(pod.uid, 0)) or self._failed_binding.get(pod.uid, 0.0) > now

    # Plans

    def cycle(self, life: str, cycle: Cycle) -> None:
        """Called after every cycle of a scheduling loop."""
        self.notices.cycle(life, cycle)
        snapshot = cycle.snapshot
        healths = {name: snapshot.nodes[name].node.health for name in snapshot.unhealthy}
        lost = sorted(name for name, health in healths.items() if health.verdict is Verdict.LOST)
        given_up = self._given_up.setdefault(life, {})
        now, renewed = self._context.loop.time(), self._renewed
        for name in [name for name in given_up if name not in lost and renewed.get(name, 0.0) > given_up[name]]:
            del given_up[name]  # it was back
        for name in lost:
            silent = now - renewed.get(name, 0.0) > SILENT
            if name not in given_up and silent and any(words in healths[name].cause for words in SILENCE_CAUSES):
                given_up[name] = renewed.get(name, 0.0)
        if self._context.trace is not None:
            for action in cycle.done:
                self._context.note(f"  {life} did: {action}")
        for action in cycle.done:
            if isinstance(action, Preempt):
                self._preempted(action, cycle)
            elif isinstance(action, Requeue) and action.gang in self._by_key:
                self._losses.requeued(self._by_key[action.gang], action)
                self._use.settled(action.gang)

    def _preempted(self, action: Preempt, cycle: Cycle) -> None:
        context, taker, victim = self._context, self._by_key.get(action.by), self._by_key.get(action.gang)
        if taker is None or victim is None:
            return
        words = f"{victim.key} for {taker.key}"
        if victim.plan.priority >= taker.plan.priority:
            context.fail(VICTIMS, f"{words}: its priority is not lower")
        if cycle.snapshot.gangs[action.by].suspension is Suspension.REQUEUED:
            context.fail(VAIN, f"{words}, which is paused: its pods may never be made")
        if not action.whole and not victim.elastic:
            context.fail(VICTIMS, f"{words}: only in part")
        made = taker.made()
        missing = [] if taker.elastic and len(made) >= taker.needed else sorted(taker.first - made)
        repaired = any(member.node for member in cycle.snapshot.gangs[action.by].members())
        unheard = taker.made_at > context.loop.time() - MESSAGE_DELAY
        if missing and not unheard and taker.there and not repaired and not taker.suspended and not taker.requeued:
            context.fail(VAIN, f"{words}, whose pods do not exist: {', '.join(missing)}")
        self._use.preempted(action, taker)

    def _job(self, gang: GangState) -> Version | None:
        return self._server.get(Ref(resource_of(gang.plan), "default", gang.plan.name))

    # Time

    def waits_for_pods(self) -> bool:
        """Whether a gang is partly seated and may stay so for now. Then no change does not mean rest."""
        now, disturbed = self._context.loop.time(), self._context.last_disturbance
        partly = [gang.partly_since for gang in self.gangs.values() if gang.partly_since is not None]
        return any(now - max(since, disturbed) <= LONGEST_PARTLY_SEATED for since in partly)

    def look(self) -> None:
        """Once a second: checks what may not last any longer."""
        self._losses.look()
        self._partial.look()
        self._use.look()


def holds_of(job: Version) -> dict[str, str]:
    text = job.metadata.get("annotations", {}).get(HOLDS, "")
    return dict(part.partition("=")[::2] for part in text.split(",") if part)


def _slot(pod: Version) -> str:
    obj = pod.obj
    assert isinstance(obj, Pod)
    return owner_of(obj).slot or pod.name[1]


def _island(gang: GangState, pod: Version) -> str:
    slot = gang.slots.get(_slot(pod))
    return slot.island if slot is not None else ""


def _ready(node: Version) -> str:
    for condition in node.document.get("status", {}).get("conditions", ()):
        if condition["type"] == "Ready":
            return str(condition["status"])
    return ""
