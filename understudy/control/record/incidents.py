"""Incidents as they happen: opened when a gang loses a seat, followed through its repair, closed when it runs again."""

import hashlib
from collections.abc import Collection, Container, Iterable, Mapping

import msgspec

from understudy.control.record.event_formats import EventSubject, EventText
from understudy.control.record.event_recorder import EventRecorder
from understudy.control.record.gang_losses import (
    broken_nodes,
    deadlines,
    decisions,
    has_pods_on,
    losses,
    lost_nodes,
    planned_losses,
)
from understudy.control.record.incident_records import IncidentRecords, IncidentStore
from understudy.control.view.cluster_view import ClusterView
from understudy.kinds.gangs.lone_pod import is_live
from understudy.kinds.ownership import owner_of, pods_key
from understudy.kinds.pod_groups.lookup import group_named
from understudy.model.gangs import Gang
from understudy.model.incidents import (
    GangLoss,
    GangProgress,
    Incident,
    IncidentDecision,
    IncidentOutcome,
    merged_records,
    step_seconds,
    with_decision,
    with_loss,
    with_progress,
)
from understudy.model.plans import Grow, Plan, Wait
from understudy.model.snapshot import Snapshot
from understudy.objects.meta import KubeObject
from understudy.objects.pods import Pod
from understudy.ports import Clock


class PodCounter:
    """Counts the live pods of one gang, pod by pod: counting all of them after each change would be slow for large
    gangs."""

    def __init__(self, pods: Iterable[Pod]) -> None:
        self._nodes: dict[str, str] = {}  # pod -> node, of bound pods
        self._running: set[str] = set()
        for pod in pods:
            self.put(pod)

    def put(self, pod: Pod) -> None:
        name = pod.metadata.name
        if not is_live(pod) or not pod.spec.node_name:
            self.remove(pod)
            return
        self._nodes[name] = pod.spec.node_name
        if pod.status.phase == "Running":
            self._running.add(name)
        else:
            self._running.discard(name)

    def remove(self, pod: Pod) -> None:
        self._nodes.pop(pod.metadata.name, None)
        self._running.discard(pod.metadata.name)

    @property
    def seated(self) -> int:
        return len(self._nodes)

    @property
    def running(self) -> int:
        return len(self._running)

    def any_on(self, nodes: Container[str]) -> bool:
        return any(node in nodes for node in self._nodes.values())


LOST, RECOVERED = "NodeLost", "Recovered"


class NoticeCount(msgspec.Struct):
    """Notices that cost a gang its seats, by this loop."""

    total: int = 0
    beaten: int = 0

    def add(self, incident: Incident) -> None:
        if incident.beaten is not None:
            self.total += 1
            self.beaten += incident.beaten


class OpenIncident(msgspec.Struct):
    """An open incident, and what is known about its gang."""

    incident: Incident
    pods_seen: PodCounter
    broken: Collection[str] = ()  # nodes whose members do not count
    wanted: int = 0  # upper limit of the members that have to run
    victims_in: bool = False
    looked_at: bool = False  # before, it is not known which of its seats count


class IncidentTracker:
    def __init__(self, view: ClusterView, recorder: EventRecorder, clock: Clock, store: IncidentStore) -> None:
        self._view = view
        self._recorder = recorder
        self._clock = clock
        self._tracked: dict[str, OpenIncident] = {}  # by the key that its pods carry
        self._lost_nodes: Collection[str] = ()  # at the last snapshot
        self._deadlines: Mapping[str, float] = {}  # by node, as its notice said
        self.opened = 0  # by this loop
        self.notices = NoticeCount()
        self.records = IncidentRecords(store, clock, self._adopt)

    @property
    def open(self) -> int:
        return len(self._tracked)

    # Calls of the loop. None of them waits for a write.

    def see(self, snapshot: Snapshot, now: float) -> None:
        """Called with the snapshot, before a plan is made."""
        lost = lost_nodes(snapshot)
        self._lost_nodes = lost.keys()
        self._deadlines = deadlines(snapshot, self._deadlines)
        for gang, loss in losses(snapshot, lost).items():
            self._lost(snapshot, gang, self._with_deadline(loss, now), now)
        for key in list(self._tracked):
            self._look(key, snapshot, now)

    def decide(self, snapshot: Snapshot, plan: Plan) -> bool:
        """Called with the plan, before it is applied. Returns whether an incident has to be written before the plan's
        own writes; the loop does not wait for the answer."""
        now, hurried = self._clock.now(), False
        for gang, loss in planned_losses(snapshot, plan).items():
            if pods_key(gang) not in self._tracked:
                self._lost(snapshot, gang, loss, now)
        helped = {action.gang for action in plan.actions if not isinstance(action, Wait | Grow)}
        self._accept_shrunk_gangs(snapshot, helped, now)
        for gang, decision in decisions(snapshot, plan):
            tracked = self._tracked.get(pods_key(gang))
            if tracked is not None:
                self._change(tracked, with_decision(tracked.incident, decision, now))
                tracked.victims_in = _victims_in(tracked.incident, snapshot)
                # What a later loop could not find out from the cluster is written at once, everything else after the
                # members are bound.
                if _is_only_in_memory(decision, snapshot.gangs[gang]) and not self.records.has(tracked.incident):
                    self.records.write_at_once(tracked.incident)
                    hurried = True
        return hurried

    def _accept_shrunk_gangs(self, snapshot: Snapshot, helped: Container[str], now: float) -> None:
        """An elastic gang whose replacement failed, and for which nothing more is planned, continues with the members
        it has: it has shrunk, although no plan contains a Shrink."""
        for key, tracked in list(self._tracked.items()):
            gang = snapshot.gangs.get(tracked.incident.gang)
            if gang is None or not gang.elastic or gang.key in helped or gang.holds or gang.leaving:
                continue
            sound = sum(1 for member in gang.seated() if member.node not in snapshot.unhealthy)
            if tracked.incident.decided_at is not None and gang.minimum <= sound < tracked.incident.wanted:
                shrunk = IncidentDecision(IncidentOutcome.SHRUNK, wanted=sound)
                self._change(tracked, with_decision(tracked.incident, shrunk, now))
                self._advance(key, tracked, now)

    def observe(self, obj: KubeObject, gone: bool) -> None:
        """A changed pod shows at once how far its gang is: the next look of the loop may be later."""
        if not self._tracked or not isinstance(obj, Pod):
            return
        key = owner_of(obj).key
        if key not in self._tracked and (group := group_named(obj.metadata, obj.spec)) is not None:
            key = group.key
        tracked = self._tracked.get(key)
        if tracked is None:
            return
        if gone:
            tracked.pods_seen.remove(obj)
        else:
            tracked.pods_seen.put(obj)
        if tracked.looked_at:
            self._advance(key, tracked, self._clock.now())

    # A single incident

    def _with_deadline(self, loss: GangLoss, now: float) -> GangLoss:
        """Of a node that was lost after a notice, before its members had moved: it went now at the latest."""
        found = [self._deadlines[node] for node in loss.nodes if node in self._deadlines]
        if not found:
            return loss
        return msgspec.structs.replace(loss, deadline=min(*found, now if loss.since is None else loss.since))

    def _lost(self, snapshot: Snapshot, gang: str, loss: GangLoss, now: float) -> None:
        key = pods_key(gang)
        tracked = self._tracked.get(key)
        if tracked is not None:
            self._change(tracked, with_loss(tracked.incident, loss))
            return
        uid = self._uid_of(gang)
        known = snapshot.gangs[gang]
        incident = Incident(
            name=_name(known.name, uid or gang, loss, now),
            gang=gang,
            uid=uid,
            cause=loss.cause,
            nodes=loss.nodes,
            members=loss.members,
            wanted=max(len(known.seated()), known.minimum),
            detected_at=now if loss.told_at is None else min(loss.told_at, now),
            failed_at=None if loss.since is None else min(loss.since, now),
            deadline=loss.deadline,
        )
        kept = self.records.open_of(gang, uid)
        tracked = self._follow(merged_records(kept, incident) if kept is not None else incident)
        tracked.broken, tracked.looked_at = broken_nodes(snapshot, self._lost_nodes, tracked.incident.nodes), True
        if kept is None:
            self.opened += 1
            self._record(incident, EventText(LOST, incident.cause, warning=True))

    def _adopt(self, kept: Incident) -> None:
        """Called for an open incident in the cluster: it belongs to an earlier loop, or to this one."""
        tracked = self._tracked.get(pods_key(kept.gang))
        if tracked is None:
            self._follow(kept)
        elif tracked.incident.uid == kept.uid and not self.records.has(tracked.incident):
            self.records.drop(tracked.incident)
            self._change(tracked, merged_records(kept, tracked.incident))
        else:  # it belongs to a deleted job of the same name
            self.records.put(with_progress(kept, GangProgress(gone=True), kept.latest))

    def _follow(self, incident: Incident) -> OpenIncident:
        pods = self._view.pods_of(incident.gang)
        tracked = self._tracked[pods_key(incident.gang)] = OpenIncident(
            incident, PodCounter(pods), wanted=incident.wanted
        )
        self.records.put(incident)
        return tracked

    def _look(self, key: str, snapshot: Snapshot, now: float) -> None:
        tracked = self._tracked[key]
        incident = tracked.incident
        gang = snapshot.gangs.get(incident.gang)
        if gang is None or self._uid_of(incident.gang) != incident.uid:
            self._close(key, tracked, with_progress(incident, GangProgress(gone=True), now))
            return
        tracked.wanted, tracked.looked_at = gang.size, True
        tracked.broken = broken_nodes(snapshot, self._lost_nodes, incident.nodes)
        tracked.victims_in = _victims_in(incident, snapshot)
        self._advance(key, tracked, now)

    def _advance(self, key: str, tracked: OpenIncident, now: float) -> None:
        pods_seen = tracked.pods_seen
        # Whether any pod sits on a lost node is asked last, since that looks at all pods.
        full = pods_seen.seated >= min(tracked.incident.wanted, tracked.wanted)
        broken = full and pods_seen.any_on(tracked.broken)
        progress = GangProgress(tracked.wanted, pods_seen.seated, pods_seen.running, broken, tracked.victims_in)
        after = with_progress(tracked.incident, progress, now)
        if after.open:
            bound = after.seated_at is not None and tracked.incident.seated_at is None
            self._change(tracked, after)
            if bound and not self.records.has(after):
                self.records.write_at_once(after)
        else:
            self._close(key, tracked, after)

    def _change(self, tracked: OpenIncident, after: Incident) -> None:
        if after != tracked.incident:
            tracked.incident = after
            self.records.put(after)

    def _close(self, key: str, tracked: OpenIncident, after: Incident) -> None:
        del self._tracked[key]
        self.records.put(after)
        self.records.write_at_once(after)
        self.notices.add(after)
        if after.outcome is not IncidentOutcome.ENDED:
            self._record(after, EventText(RECOVERED, recovery_message(after, tracked.pods_seen.running)))

    def _record(self, incident: Incident, text: EventText) -> None:
        job = self._view.job_of(incident.gang)
        if job is not None:
            self._recorder.event(EventSubject.of(job), text)

    def _uid_of(self, gang: str) -> str:
        """The uid of the job, or of a lone pod."""
        job = self._view.job_of(gang)
        if job is not None:
            return job.metadata.uid
        _, namespace, name = gang.split("/", 2)
        pod = self._view.pod(namespace, name) if gang.startswith("Pod/") else None
        return pod.metadata.uid if pod is not None else ""


def _is_only_in_memory(decision: IncidentDecision, gang: Gang) -> bool:
    """If a gang keeps some seats, the cluster shows which are missing. If it keeps none, it looks like any gang that
    waits."""
    moved = sum(1 for move in decision.moves if move.from_node)
    return decision.leads_to is not IncidentOutcome.SWAPPED or moved >= len(gang.seated())


def _victims_in(incident: Incident, snapshot: Snapshot) -> bool:
    """Whether a victim still has a seat that is meant for a member."""
    return bool(incident.victims) and has_pods_on(snapshot, incident.victims, {move.to_node for move in incident.moves})


def recovery_message(incident: Incident, running: int) -> str:
    """A closed incident in one sentence."""
    took = step_seconds(incident)
    since = "the failure" if incident.failed_at is not None else "it was detected"
    steps = [("detected", "detected"), ("decided", "decided"), ("victims_out", "victims out"), ("seated", "seated")]
    timings = ", ".join(f"{words} {took[step]:.3f} s" for step, words in steps if step in took)
    who = f"{running} member{'s' * (running != 1)}"
    again = "run" if running != 1 else "runs"
    whole = f"all {who} {again} again" if incident.outcome is not IncidentOutcome.SHRUNK else f"it goes on with {who}"
    return f"{whole} {took['total']:.3f} s after {since} ({timings})"


def _name(job: str, identity: str, loss: GangLoss, now: float) -> str:
    """Equal for the same loss of the same job, in every loop, provided that the time of the failure is recorded."""
    text = f"{identity}\n{loss.nodes[0]}\n{now if loss.since is None else loss.since}"
    return f"{job[:200]}-{hashlib.blake2b(text.encode(), digest_size=5).hexdigest()}"
