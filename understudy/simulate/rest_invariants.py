"""The invariants that hold when nothing happens any more: what waits has a true reason, and nothing is left open."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from understudy.control.view.cluster_view import ClusterView
from understudy.control.view.invalid_objects import InvalidObjects
from understudy.control.view.node_health import HealthLimits
from understudy.control.watch.reflector import WATCHED_RESOURCES
from understudy.decide.cycle import plan
from understudy.decide.describe import describe, reason_with_holder
from understudy.embedded.loop_settings import EMBEDDED_DEFAULTS
from understudy.kinds.annotations import PREFIX
from understudy.model.plans import Hold, Plan, Preempt, Wait, WaitCode
from understudy.objects.incidents import incident_of
from understudy.objects.resources import INCIDENTS, LEASES, NODES
from understudy.ports import Ref
from understudy.simulate.api_server import Version
from understudy.simulate.gang_state import GangState
from understudy.simulate.invariants import PARTLY
from understudy.simulate.workloads import RESOURCES

if TYPE_CHECKING:
    from understudy.simulate.simulation import Simulation

KEPT = "no job is lost"
FITS = "nothing waits that could be helped"
REASON = "every wait has a true reason"
INCIDENT = "every incident closes"
HELD = "no seat is held without need"
RUNS = "what has a seat runs"
RECENT = 10.0  # seconds
ENDS = ("Complete", "Completed", "Succeeded", "Failed")


def check_at_rest(world: "Simulation") -> None:
    """Where no node is left, the loops suspect the API and not the nodes, and leave everything as it is."""
    if not any(kubelet.heard for kubelet in world.kubelets.values()):
        return
    made = planned(world, world.now())
    if not all(isinstance(action, Wait) for action in made.actions):
        made = planned(world, world.now() - RECENT)  # what only just became possible, the loop is about to do
    for gang in world.checks.gangs.values():
        if gang.there:
            _check_gang(world, gang, made)
    _check_plan(world, made)
    _check_incidents(world)


def planned(world: "Simulation", now: float) -> Plan:
    """What the planner makes of the objects as they are, without anything a loop remembers."""
    kube = world.scenario.mode == "kube"
    limits = HealthLimits() if kube else EMBEDDED_DEFAULTS.limits
    view = ClusterView(world.policy.index, world.scheduler if kube else None, limits, InvalidObjects())
    view.follows(lag=EMBEDDED_DEFAULTS.job_lag)
    for source in WATCHED_RESOURCES:
        for resource in source.versions:
            if resource == LEASES or not world.server.serves(resource):
                continue  # by now, silent nodes are marked, and of the others a new view would have to see a renewal
            for version in world.server.all(resource):
                if version.obj is not None:
                    view.put(version.obj)
    view.snapshot(now)
    for gang in world.checks.gangs.values():
        if gang.there and not gang.seated() - gang.done and lacks_pods(world, gang):
            view.pass_over(gang.key)
    return plan(view.snapshot(now), world.policy, now)


def _check_gang(world: "Simulation", gang: GangState, made: Plan) -> None:
    job = world.server.get(Ref(RESOURCES[gang.plan.kind], "default", gang.plan.name))
    if job is None:
        world.fail(KEPT, f"{gang.key} is gone")
        return
    if _is_over(job) or gang.suspended:
        return
    seated = gang.seated()
    if seated - gang.done and len(seated) < gang.needed:
        missing = ", ".join(sorted(set(gang.slots) - seated))
        world.fail(PARTLY, f"{gang.key} has no seats for {missing}, and nothing happens any more")
    elif len(seated) >= gang.needed:
        _check_running(world, gang)
    else:
        _check_waiting(world, gang, made)


def _is_over(job: Version) -> bool:
    conditions = job.document.get("status", {}).get("conditions") or ()
    return any(one["type"] in ENDS and one["status"] == "True" for one in conditions)


def _check_running(world: "Simulation", gang: GangState) -> None:
    for _, pod in gang.pods.values():
        if pod.takes_room and pod.uid not in world.kubelets[pod.node].containers:
            world.fail(RUNS, f"{pod.name[1]} has a seat on {pod.node} and does not run there")
    seats = {slot: pod.node for slot, pod in gang.pods.values() if pod.takes_room}
    kept = {slot: node for slot, node in gang.holds.items() if slot in seats and seats[slot] != node}
    if kept and len(gang.seated()) == len(gang.slots):
        world.fail(HELD, f"{gang.key} has all its seats, and keeps {kept}")


def _check_waiting(world: "Simulation", gang: GangState, made: Plan) -> None:
    if lacks_pods(world, gang):
        if gang.holds:
            world.fail(HELD, f"{gang.key} lacks pods, and keeps {gang.holds}")
        return
    waiting = next((one for one in made.actions if isinstance(one, Wait) and one.gang == gang.key), None)
    if waiting is None or waiting.reason.code is WaitCode.SUSPENDED:
        return  # _check_plan looks at what is planned for it
    true = _without_causes(reason_with_holder(waiting.reason))
    told = [_told(pod) for _, pod in gang.pods.values() if not pod.node and not pod.leaving] or [gang.waits]
    wrong = [words for words in told if _without_causes(words) != true]
    if wrong:
        world.fail(REASON, f"{gang.key} was told {wrong[0]!r}; the reason is {true!r}")


def _without_causes(words: str) -> str:
    """A lost node has several signs, of which a new view does not know the silence."""
    return re.sub(r"is lost \([^)]*\)", "is lost", words)


def _told(pod: Version) -> str:
    for condition in pod.document.get("status", {}).get("conditions") or ():
        if condition["type"] == "PodScheduled":
            return str(condition.get("message", ""))
    return ""


def lacks_pods(world: "Simulation", gang: GangState) -> bool:
    """Whether its controller does not make pods that could be made now. A requeued job has none on purpose."""
    job = world.server.get(Ref(RESOURCES[gang.plan.kind], "default", gang.plan.name))
    if job is not None and "understudy.dev/requeued-at" in job.metadata.get("annotations", {}):
        return False
    return not gang.next_stage() <= gang.made()


def _check_plan(world: "Simulation", made: Plan) -> None:
    """A plan that is made anew of the same objects must not want to do anything."""
    by_key = {gang.key: gang for gang in world.checks.gangs.values()}
    for action in made.actions:
        if isinstance(action, Wait):
            continue
        for key in (action.gang, action.by if isinstance(action, Preempt) else ""):
            gang = by_key.get(key)
            if gang is not None and lacks_pods(world, gang):
                return
        invariant = HELD if isinstance(action, Hold) else FITS
        world.fail(invariant, f"nothing happens any more, but a new plan would {describe(action)}")
        return


def _sits_on_drained(gang: GangState, nodes: Sequence[str], world: "Simulation") -> bool:
    there = {pod.node for _, pod in gang.pods.values() if pod.takes_room} & set(nodes)
    known = world.server.objects[NODES.key]
    drained = f"{PREFIX}drain-deadline"
    return any(drained in known["", name].metadata.get("annotations", {}) for name in there if ("", name) in known)


def _check_incidents(world: "Simulation") -> None:
    by_key = {gang.key: gang for gang in world.checks.gangs.values()}
    for version in world.server.all(INCIDENTS):
        try:
            incident = incident_of(version.raw)
        except (ValueError, msgspec.DecodeError):
            continue
        gang = by_key.get(incident.gang)
        whole = gang is not None and gang.there and len(gang.seated()) >= gang.needed and not gang.suspended
        gone = gang is None or not gang.there
        if whole and gang is not None and _sits_on_drained(gang, incident.nodes, world):
            continue  # a node is to leave, and nothing can replace it: it is not over
        if incident.open and (gone or whole):
            state = "gone" if gone else "whole"
            world.fail(INCIDENT, f"{incident.name} of {incident.gang} is open; the gang is {state}")
