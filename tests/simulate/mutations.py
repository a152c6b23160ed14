"""Defects put back into the product, one context manager each: a search that cannot find them proves nothing.

Each replaces the function that mends a defect by one that has it. The functions are named as values, so `make check`
finds a name that is gone. A mutation whose function is not called any more fails its test, since no seed fails.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from msgspec.structs import replace

from understudy.control.apply import deferred_gangs
from understudy.control.apply.context import ApplyContext
from understudy.control.apply.gang_changes import GangChanges
from understudy.control.apply.plan_applier import GangTask, PlanApplier
from understudy.control.apply.seats import split_by_pod
from understudy.control.loop import SchedulingLoop
from understudy.control.view.cluster_view import ClusterView
from understudy.control.view.gang_parts import UnseenJobs
from understudy.control.view.node_fences import NodeFences
from understudy.control.view.node_health import HealthFinding, Heartbeat
from understudy.control.view.node_leases import NodeLeases, _LeaseState
from understudy.decide import cycle, notices, proposal
from understudy.decide.fit import refusal
from understudy.decide.guards import over_budget
from understudy.decide.holds import HeldSeat
from understudy.decide.notices import NoticeTerms
from understudy.decide.placement import gang_placement
from understudy.decide.placement.capacity_limits import capacity_limits as capacity_limits_of_gang
from understudy.decide.placement.placement_request import NO_LIMIT, CapacityLimit, PlacementRequest
from understudy.decide.proposal import Proposal
from understudy.decide.repair import Repair
from understudy.embedded.controllers.node_lifecycle import NodeLifecycleController, SeenNode
from understudy.kube.leader_election import LeaderElection
from understudy.model.gangs import Gang, Shape
from understudy.model.nodes import Health, Verdict
from understudy.model.nodes import Node as ModelNode
from understudy.model.plans import Swap
from understudy.model.snapshot import Snapshot
from understudy.objects.nodes import Node

Mutation = Callable[[], AbstractContextManager[None]]


@contextmanager
def _patched(*replaced: tuple[Any, Callable[..., Any], Any]) -> Iterator[None]:
    """Each of these: the class or module, the function or property of it that is replaced, and the new one."""
    with ExitStack() as stack:
        for owner, function, new in replaced:
            named = getattr(function, "fget", function)  # a property has no name in Python 3.11
            stack.enter_context(patch.object(owner, named.__name__, new))
        yield


def seated_from_the_first_pod() -> AbstractContextManager[None]:
    """A kind that makes its pods in stages is seated as soon as one of its pods is there."""

    def lacks_first_stage(context: ApplyContext, gang: Gang, seats: Mapping[str, str]) -> bool:
        found = split_by_pod(context, gang, seats)
        staged = gang.kind == "TrainJob" or any(member.stage for member in gang.members())
        return bool(found.absent) and not (found.there and staged)

    return _patched((deferred_gangs, deferred_gangs.lacks_first_stage, lacks_first_stage))


def no_patience_for_stages() -> AbstractContextManager[None]:
    """A gang whose next stage is never made keeps its seats for ever."""

    def lacks_pods(_: Gang) -> bool:
        return False

    return _patched((deferred_gangs, deferred_gangs.lacks_pods, lacks_pods))


def pods_before_their_job() -> AbstractContextManager[None]:
    """Pods that are seen before their job are taken for a gang of their own, one by one."""

    def with_awaited_job(_: UnseenJobs, __: str, gang: Gang | None, ___: bool, ____: float) -> Gang | None:
        return gang

    return _patched((UnseenJobs, UnseenJobs.with_awaited_job, with_awaited_job))


def claims_ignored_while_none_exists() -> AbstractContextManager[None]:
    """As long as there is neither a claim nor a class, pods do not wait for their claims; the first one ends that."""

    made = ClusterView.__init__

    def init(self: ClusterView, *args: Any, **named: Any) -> None:
        made(self, *args, **named)
        self._context.surroundings.complete = False

    return _patched((ClusterView, ClusterView.__init__, init))


def a_pause_renews_all_leases() -> AbstractContextManager[None]:
    """After silence of all nodes every lease counts as renewed, also of nodes that were given up before."""

    def resume(_: NodeLeases, beat: _LeaseState, moment: float) -> None:
        beat.given_up, beat.missed, beat.counts_from = False, 0.0, moment

    def is_back(self: NodeLifecycleController, _: SeenNode, beat: Heartbeat) -> bool:
        return beat.since + 4 * beat.interval > self._clock.now()

    return _patched(
        (NodeLeases, NodeLeases._resume, resume),
        (NodeLifecycleController, NodeLifecycleController._is_back, is_back),
    )


def a_returning_node_is_given_away() -> AbstractContextManager[None]:
    """A node that was lost gets seats as soon as it is back, while force-deleted pods still run there."""

    def with_fence(_: NodeFences, __: Node, finding: HealthFinding, ___: bool, ____: float) -> HealthFinding:
        return finding

    return _patched((NodeFences, NodeFences.with_fence, with_fence))


def leads_for_ever() -> AbstractContextManager[None]:
    """A replica that led once goes on as if its lease could not run out."""

    async def keep(_: LeaderElection) -> str:
        await asyncio.Event().wait()
        return ""

    return _patched(
        (LeaderElection, LeaderElection.keep, keep),
        (LeaderElection, LeaderElection.leads, property(lambda self: self.leader != "")),
    )


def plans_before_own_writes_are_seen() -> AbstractContextManager[None]:
    """The next plan is made before the view shows what the last one wrote."""

    async def do_not_wait(_: SchedulingLoop) -> None:
        pass

    return _patched((SchedulingLoop, SchedulingLoop._wait_for_own_writes, do_not_wait))


def reserved_seats_taken_one_by_one() -> AbstractContextManager[None]:
    """A seat that is held for a gang that has begun is free for a more important one, without a preemption."""

    def respects_hold(self: Proposal, gang: Gang, held: HeldSeat) -> bool:
        may_preempt = gang.preempts and over_budget(gang, self.policy, self.now) is None
        return held.gang.key != gang.key and (held.gang.priority >= gang.priority or not may_preempt)

    return _patched((Proposal, Proposal.respects_hold, respects_hold))


def victims_leave_for_a_paused_gang() -> AbstractContextManager[None]:
    """Others are preempted for a job that is paused and has no pods. It is resumed only afterwards."""

    def preemptors(_: Mapping[str, GangChanges]) -> list[Gang]:
        return []

    return _patched((deferred_gangs, deferred_gangs._preemptors, preemptors))


def holds_ignored() -> AbstractContextManager[None]:
    """Seats that are held for other gangs count as free."""

    def respects_hold(_: Proposal, __: Gang, ___: HeldSeat) -> bool:
        return False

    return _patched((Proposal, Proposal.respects_hold, respects_hold))


def bound_before_all_seats_are_held() -> AbstractContextManager[None]:
    """Where pods are bound one by one, a gang is bound although not all of its seats are written down."""

    def takes_seats_one_by_one(_: PlanApplier, __: GangTask) -> bool:
        return False

    return _patched((PlanApplier, PlanApplier._takes_seats_one_by_one, takes_seats_one_by_one))


def never_preempts() -> AbstractContextManager[None]:
    """The planner finds no victims for a gang that waits. A plan made anew would not find them either."""

    def make_room(_: Proposal, __: Gang) -> bool:
        return False

    return _patched((cycle, cycle._make_room, make_room))


def rules_about_spot_are_forgotten() -> AbstractContextManager[None]:
    """Seats are searched without what the gang as a whole says about spot capacity."""

    def capacity_limits(_proposal: Proposal, _request: PlacementRequest) -> tuple[CapacityLimit, ...]:
        return (NO_LIMIT,)

    return _patched((gang_placement, capacity_limits_of_gang, capacity_limits))


def leaving_nodes_take_pods() -> AbstractContextManager[None]:
    """A node with a notice gets new seats like any other."""

    def usable(self: ModelNode) -> bool:
        return self.health.verdict in (Verdict.HEALTHY, Verdict.LEAVING)

    def refused(shape: Shape, node: ModelNode) -> str | None:
        return refusal(shape, replace(node, health=Health()) if usable(node) else node)

    return _patched((ModelNode, ModelNode.usable, property(usable)), (proposal, refusal, refused))


def waits_for_a_checkpoint_for_ever() -> AbstractContextManager[None]:
    """A gang that was asked to save stays until it has, whatever the deadline."""

    def grant_time(self: NoticeTerms, gang: Gang, _: float) -> bool:
        if gang.checkpoint_at is None or self.told_at is None:
            return False
        return gang.checkpoint_at <= self.told_at

    return _patched((NoticeTerms, NoticeTerms.grant_time, grant_time))


def requests_are_never_withdrawn() -> AbstractContextManager[None]:
    """Pods stay asked to save after their gang has moved, or the notice is gone."""

    def withdraw_requests(_: Proposal, __: Snapshot) -> None:
        pass

    return _patched((cycle, notices.withdraw_requests, withdraw_requests))


def members_move_one_by_one() -> AbstractContextManager[None]:
    """Of several members on leaving nodes, the first one moves alone."""

    swapped = Repair._swap

    def swap(self: Repair, seats: dict[str, str], cleared: frozenset[str], victims: tuple[str, ...]) -> Swap:
        made = swapped(self, seats, cleared, victims)
        return made if self.notice is None else replace(made, moves=made.moves[:1])

    return _patched((Repair, Repair._swap, swap))


# With the seed that found it last, which is tried first.
MUTATIONS: dict[str, tuple[Mutation, int]] = {
    "staged kinds are seated from their first pod": (seated_from_the_first_pod, 29),
    "patience does not apply to staged kinds": (no_patience_for_stages, 17),
    "pods before their job are taken one by one": (pods_before_their_job, 254),
    "claims are ignored while none exists": (claims_ignored_while_none_exists, 3),
    "after a pause all leases count as renewed": (a_pause_renews_all_leases, 70),
    "a returning node is given away at once": (a_returning_node_is_given_away, 24),
    "a replica leads for ever": (leads_for_ever, 0),
    "reserved seats are taken one by one": (reserved_seats_taken_one_by_one, 38),
    "victims leave for a paused gang": (victims_leave_for_a_paused_gang, 41),
    "holds are ignored": (holds_ignored, 38),
    "gangs are bound before all seats are held": (bound_before_all_seats_are_held, 13),
    "a gang that waits has no victims": (never_preempts, 44),
    "plans are made before own writes are seen": (plans_before_own_writes_are_seen, 82),
    "rules about spot are forgotten": (rules_about_spot_are_forgotten, 0),
    "nodes with a notice take new pods": (leaving_nodes_take_pods, 2),
    "a checkpoint is waited for beyond the deadline": (waits_for_a_checkpoint_for_ever, 72),
    "requests to save are never withdrawn": (requests_are_never_withdrawn, 26),
    "members move one by one after a notice": (members_move_one_by_one, 1),
}
