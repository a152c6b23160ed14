"""Invariants that hold at rest: every wait has a true reason, and nothing is left open."""

import re
from collections.abc import Mapping, Sequence

import msgspec

from understudy.control.view.cluster_view import ClusterView, WatchedCluster
from understudy.control.view.gang_parts import PassedOver
from understudy.control.view.invalid_objects import InvalidObjects
from understudy.control.view.node_health import HealthLimits
from understudy.control.watch.reflector import WATCHED_RESOURCES
from understudy.decide.cycle import plan
from understudy.decide.describe import describe, reason_with_holder
from understudy.embedded.loop_settings import EMBEDDED_DEFAULTS
from understudy.kinds.annotations import NOTICE, PREFIX
from understudy.kinds.registry import KINDS
from understudy.model.plans import Hold, Plan, Preempt, Wait, WaitCode
from understudy.objects.incidents import incident_of
from understudy.objects.resources import INCIDENTS, LEASES, NODES
from understudy.ports import Ref
from understudy.simulate.api_server import ApiServer, Version
from understudy.simulate.cluster import SimulatedCluster
from understudy.simulate.invariants.partial_seats import PARTLY
from understudy.simulate.invariants.priority_order import PriorityOrder
from understudy.simulate.invariants.step import StepInvariants
from understudy.simulate.workloads import GangState, resource_of

Gangs = Mapping[str, GangState]

KEPT = "no job is lost"
FITS = "nothing waits that could be helped"
REASON = "every wait has a true reason"
INCIDENT = "every incident closes"
HELD = "no seat is held without need"
RUNS = "what has a seat runs"
RECENT = 10.0  # seconds
_LOST = re.compile(r"\b(is|are) lost\b")
_NOT_OF_NODES = ("needs ", "room for ", "held by ", "cannot start ")


def check_at_rest(cluster: SimulatedCluster, invariants: StepInvariants, now: float) -> None:
    """`now` is the time of the loop that schedules. When no kubelet renews a lease, the loops suspect the API server,
    not the nodes, and change nothing."""
    if cluster.silent:
        return
    gangs = invariants.gangs
    made = planned(cluster, gangs, now)
    if not all(isinstance(action, Wait) for action in made.actions):
        # The loop may be about to do what became possible only just now.
        made = planned(cluster, gangs, now - RECENT)
    order = PriorityOrder(cluster, invariants.troubles, gangs)
    for gang in gangs.values():
        if gang.there:
            _check_gang(cluster, gang, made, order)
    _check_plan(cluster, gangs, made)
    _check_incidents(cluster, gangs)


def planned(cluster: SimulatedCluster, gangs: Gangs, now: float) -> Plan:
    """The plan for the objects as they are, without anything that a loop remembers."""
    context = cluster.context
    limits = HealthLimits() if context.kube else EMBEDDED_DEFAULTS.limits
    scheduler = context.scheduler if context.kube else None
    watched = WatchedCluster(job_lag=EMBEDDED_DEFAULTS.job_lag)
    view = ClusterView(context.policy, scheduler, limits, InvalidObjects(), watched)
    for source in WATCHED_RESOURCES:
        for resource in source.versions:
            if resource == LEASES or not cluster.server.serves(resource):
                continue  # a new view would have to wait for a renewal of each lease; silent nodes are marked by now
            for version in cluster.server.all(resource):
                if version.obj is not None:
                    view.put(version.obj)
    view.snapshot(now)
    for gang in gangs.values():
        if gang.there and not gang.seated() - gang.done and lacks_pods(cluster, gang):
            view.pass_over(PassedOver.of(gang.key, view.pods_of(gang.key), view.job_of(gang.key)))
    return plan(view.snapshot(now), cluster.context.policy, now)


def _check_gang(cluster: SimulatedCluster, gang: GangState, made: Plan, order: PriorityOrder) -> None:
    job = cluster.server.get(Ref(resource_of(gang.plan), "default", gang.plan.name))
    if job is None:
        cluster.context.fail(KEPT, f"{gang.key} is gone")
        return
    if _is_over(job) or gang.suspended:
        return
    seated = gang.seated()
    if seated - gang.done and len(seated) < gang.needed:
        missing = ", ".join(sorted(set(gang.slots) - seated))
        cluster.context.fail(PARTLY, f"{gang.key} has no seats for {missing}, and nothing happens any more")
    elif len(seated) >= gang.needed:
        _check_running(cluster, gang)
    else:
        _check_waiting(cluster, gang, made)
        # While pods of a more important gang are missing, seats are kept for it until its controller's time is up.
        awaited = any(other.plan.priority >= gang.plan.priority and lacks_pods(cluster, other) for other in order.gangs)
        if not awaited:
            order.check(gang, job)


def _is_over(job: Version) -> bool:
    return KINDS[job.resource.kind].has_ended(job.document)


def _check_running(cluster: SimulatedCluster, gang: GangState) -> None:
    for _, pod in gang.pods.values():
        if pod.takes_room and pod.uid not in cluster.kubelets[pod.node].containers:
            cluster.context.fail(RUNS, f"{pod.name[1]} has a seat on {pod.node} and does not run there")
    seats = {slot: pod.node for slot, pod in gang.pods.values() if pod.takes_room}
    kept = {slot: node for slot, node in gang.holds.items() if slot in seats and seats[slot] != node}
    if kept and len(gang.seated()) == len(gang.slots):
        cluster.context.fail(HELD, f"{gang.key} has all its seats, and keeps {kept}")


def _check_waiting(cluster: SimulatedCluster, gang: GangState, made: Plan) -> None:
    if lacks_pods(cluster, gang):
        if gang.holds:
            cluster.context.fail(HELD, f"{gang.key} lacks pods, and keeps {gang.holds}")
        return
    waiting = next((one for one in made.actions if isinstance(one, Wait) and one.gang == gang.key), None)
    if waiting is None or waiting.reason.code is WaitCode.SUSPENDED:
        return  # _check_plan judges what is planned for it
    true = reason_with_holder(waiting.reason)
    messages = [_message(pod) for _, pod in gang.pods.values() if not pod.node and not pod.leaving] or [gang.waits]
    wrong = [words for words in messages if not _is_same_reason(words, true)]
    if wrong:
        cluster.context.fail(REASON, f"{gang.key} was told {wrong[0]!r}; the reason is {true!r}")


def _is_same_reason(words: str, true: str) -> bool:
    """Lost nodes are left out: a new view does not know the silence of a lease, so it names other causes, and groups
    these nodes differently. Then more or fewer of the other nodes are among those that are named."""
    (refused, others), (truly_refused, true_others) = _clauses(words), _clauses(true)
    named = min(len(refused), len(truly_refused))
    return others == true_others and refused[:named] == truly_refused[:named]


def _clauses(words: str) -> tuple[list[str], list[str]]:
    """What is said of nodes that are not lost, and all the rest."""
    clauses = words.split("; ")
    places = [one for one in clauses if not one.startswith(_NOT_OF_NODES)]
    return [one for one in places if not _LOST.search(one)], [one for one in clauses if one.startswith(_NOT_OF_NODES)]


def _message(pod: Version) -> str:
    for condition in pod.document.get("status", {}).get("conditions") or ():
        if condition["type"] == "PodScheduled":
            return str(condition.get("message", ""))
    return ""


def lacks_pods(cluster: SimulatedCluster, gang: GangState) -> bool:
    """Whether its controller does not create pods that it could create now. A requeued job has none on purpose."""
    job = cluster.server.get(Ref(resource_of(gang.plan), "default", gang.plan.name))
    if job is not None and "understudy.dev/requeued-at" in job.metadata.get("annotations", {}):
        return False
    # Where all members have ended, the job would be over if its controller had counted a pod that ended while it left.
    return gang.done >= set(gang.slots) or not gang.next_stage() <= gang.made()


def _check_plan(cluster: SimulatedCluster, gangs: Gangs, made: Plan) -> None:
    """A new plan for the same objects must contain nothing but waits, except for gangs that lack pods."""
    lacking = {gang.key for gang in gangs.values() if lacks_pods(cluster, gang)}
    for action in made.actions:
        taker = action.by if isinstance(action, Preempt) else ""
        if isinstance(action, Wait) or action.gang in lacking:
            continue
        if taker in lacking:
            lacking.add(action.gang)  # what happens to the victim follows from that
            continue
        invariant = HELD if isinstance(action, Hold) else FITS
        cluster.context.fail(invariant, f"nothing happens any more, but a new plan would {describe(action)}")
        return


def _sits_on_drained(gang: GangState, nodes: Sequence[str], server: ApiServer) -> bool:
    there = {pod.node for _, pod in gang.pods.values() if pod.takes_room} & set(nodes)
    known = server.objects[NODES.key]
    notes = [known["", name].metadata.get("annotations", {}) for name in there if ("", name) in known]
    return any(f"{PREFIX}drain-deadline" in found or NOTICE in found for found in notes)


def _check_incidents(cluster: SimulatedCluster, gangs: Gangs) -> None:
    by_key = {gang.key: gang for gang in gangs.values()}
    for version in cluster.server.all(INCIDENTS):
        try:
            incident = incident_of(version.raw)
        except (ValueError, msgspec.DecodeError):
            continue
        gang = by_key.get(incident.gang)
        whole = gang is not None and gang.there and len(gang.seated()) >= gang.needed and not gang.suspended
        gone = gang is None or not gang.there
        if whole and gang is not None and _sits_on_drained(gang, incident.nodes, cluster.server):
            continue  # a node should leave and nothing can replace it: the incident is not over
        if incident.open and (gone or whole):
            state = "gone" if gone else "whole"
            cluster.context.fail(INCIDENT, f"{incident.name} of {incident.gang} is open; the gang is {state}")
