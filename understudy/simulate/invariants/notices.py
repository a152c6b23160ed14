"""Invariants of notices: no seat where a machine will go, moves of whole gangs, in time, and nothing left behind."""

from collections.abc import Callable, Mapping

import msgspec

from understudy.control.loop import Cycle
from understudy.kinds.annotations import CHECKPOINT_BY, NOTICE, PREFIX
from understudy.model.nodes import Verdict
from understudy.model.plans import Swap
from understudy.model.snapshot import Snapshot
from understudy.objects.resources import NODES, PODS
from understudy.simulate.api_server import Version
from understudy.simulate.cluster import SimulatedCluster
from understudy.simulate.scenario import Event
from understudy.simulate.workloads import GangState

SEATED = "no seat is given on a node with a notice"
AS_ONE = "a gang leaves nodes with a notice as one"
IN_TIME = "a gang with held seats moves before the deadline"
WITHDRAWN = "no checkpoint request outlives its notice"
CALM = 50.0  # seconds after the last fault from which on a move has to be in time
JUST_BEFORE = 1.0


class Announcement(msgspec.Struct, frozen=True):
    at: float
    deadline: float
    ends: bool  # whether the machine really goes


class NoticeInvariants:
    def __init__(self, cluster: SimulatedCluster, gangs: Mapping[str, GangState]) -> None:
        self._cluster = cluster
        self._context = cluster.context
        self._gangs = gangs
        self._announced: dict[str, Announcement] = {}
        self._heard: dict[str, dict[str, Announcement]] = {}  # process -> node -> what its last plan knew
        cluster.server.observers.append(self._observe)

    def announced(self, event: Event, power_off: Callable[[Event], None]) -> None:
        """With a number, the machine goes at the deadline, unless there is another notice by then, or none."""
        context = self._context
        made = Announcement(context.loop.time(), context.loop.time() + event.seconds, bool(event.number))
        self._announced[event.target] = made
        context.loop.call_at(made.deadline - JUST_BEFORE, self._check_moved, event.target, made)
        context.loop.call_at(made.deadline, self._end, event, made, power_off)

    def withdrawn(self, node: str) -> None:
        self._announced.pop(node, None)
        for heard in self._heard.values():
            heard.pop(node, None)

    def lies_ahead(self) -> bool:
        """Whether a deadline or an announcement is still to come. Then no change does not mean rest."""
        now = self._context.loop.time()
        later = any(event.at > now for event in self._context.scenario.events if event.does == "announce")
        return later or any(one.deadline > now for one in self._announced.values())

    def _end(self, event: Event, made: Announcement, power_off: Callable[[Event], None]) -> None:
        if made.ends and self._announced.get(event.target) is made:
            power_off(event)

    def _observe(self, before: Version | None, after: Version | None, writer: str) -> None:
        bound = after is not None and after.resource is PODS and after.node and (before is None or not before.node)
        if not bound or after is None:
            return
        for process, heard in self._heard.items():
            known = heard.get(after.node)
            if writer.startswith(process) and known is not None and known is self._announced.get(after.node):
                words = f"{after.name[1]} got a seat on {after.node}, of whose notice {process} knew"
                self._context.fail(SEATED, words)

    def cycle(self, life: str, cycle: Cycle) -> None:
        snapshot = cycle.snapshot
        leaving = {name for name in snapshot.unhealthy if _is_leaving(snapshot, name)}
        known = {name: made for name, made in self._announced.items() if name in leaving}
        self._heard[life.partition("/")[0]] = known
        for action in cycle.done:
            if isinstance(action, Swap) and not action.waits_for:
                self._check_whole(action, snapshot)

    def _check_whole(self, swap: Swap, snapshot: Snapshot) -> None:
        gang = snapshot.gangs[swap.gang]
        moved = {move.member for move in swap.moves}
        left = sorted(m.name for m in gang.seated() if _is_leaving(snapshot, m.node) and m.name not in moved)
        if left and not gang.elastic:
            self._context.fail(AS_ONE, f"{gang.key} moves without {', '.join(left)}")

    def _check_moved(self, node: str, made: Announcement) -> None:
        """Only in calm times, and only where the seats are free: a scheduler that is away moves nothing, and one whose
        clock is behind takes the deadline for later than it is."""
        context = self._context
        if min(context.clocks_ahead.values(), default=0.0) < -context.policy.notice_margin / 2:
            return
        calm = made.at > context.scenario.faults_until + CALM and context.last_disturbance <= made.at
        if not calm or self._announced.get(node) is not made or self._cluster.silent:
            return
        for gang in self._gangs.values():
            for slot, pod in gang.pods.values():
                held = gang.holds.get(slot, node)
                if pod.node == node and pod.takes_room and not pod.leaving and held != node and self._is_free(held):
                    words = f"{pod.name[1]} sits on {node} just before it goes, and {held} is held for it"
                    context.fail(IN_TIME, words)

    def _is_free(self, node: str) -> bool:
        """Whether no pod in its slice was told to leave: the seats may be those of victims, whose operator deletes
        them."""
        kubelets = self._cluster.kubelets
        together = {name for name, one in kubelets.items() if one.plan.slice == kubelets[node].plan.slice}
        pods = self._cluster.server.all(PODS)
        return not any(pod.node in together and (pod.leaving or _is_evicted(pod)) for pod in pods)

    def check_at_rest(self) -> None:
        """Every pod that is asked to save belongs to a gang with a pod on a node that leaves."""
        server = self._cluster.server
        leaving = {node.name[1] for node in server.all(NODES) if _has_notice(node)}
        for gang in self._gangs.values():
            pods = [pod for _, pod in gang.pods.values() if pod.takes_room and not pod.leaving]
            asked = sorted(pod.name[1] for pod in pods if CHECKPOINT_BY in pod.metadata.get("annotations", {}))
            if asked and not any(pod.node in leaving for pod in pods):
                self._context.fail(WITHDRAWN, f"{', '.join(asked)} of {gang.key} are asked to save; no node leaves")


def _has_notice(node: Version) -> bool:
    """Drains and taints of a cloud are notices, too."""
    notes, taints = node.metadata.get("annotations", {}), node.document["spec"].get("taints") or ()
    return NOTICE in notes or f"{PREFIX}drain-deadline" in notes or any("termination" in one["key"] for one in taints)


def _is_evicted(pod: Version) -> bool:
    conditions = pod.document.get("status", {}).get("conditions") or ()
    return any(one["type"] == "DisruptionTarget" and one["status"] == "True" for one in conditions)


def _is_leaving(snapshot: Snapshot, node: str) -> bool:
    info = snapshot.nodes.get(node)
    return info is not None and info.node.health.verdict is Verdict.LEAVING
