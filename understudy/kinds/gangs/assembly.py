"""Forms a gang: its identity and annotations, the places that its job wants to fill, and the observed pods."""

from collections.abc import Iterable, Sequence, Set

import msgspec

from understudy.kinds.annotations import JobAnnotations
from understudy.kinds.context import Context, PodPriority
from understudy.kinds.gangs.capacity import CapacityDefaults, give_capacity
from understudy.kinds.gangs.slots import GangSlot, SlotsByIsland, fill_members, free_roles, slots_of
from understudy.kinds.observed_pod import ObservedPod, PodState
from understudy.kinds.outline import GangOutline, RoleOutline
from understudy.model.gangs import Gang, Island, Member, Suspension
from understudy.model.nodes import CapacityPolicy
from understudy.objects.pods import DEFAULT_SCHEDULER


class GangHead(msgspec.Struct, frozen=True):
    """The identity of a gang, and its annotations as values."""

    kind: str
    namespace: str
    name: str
    queued_at: float
    notes: JobAnnotations

    @property
    def title(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"


def assemble_gang(
    head: GangHead, outline: GangOutline, pods: Sequence[ObservedPod], context: Context, done: Set[str] = frozenset()
) -> Gang | None:
    """None if the gang has no place to fill and no pod in a seat. `done` are places whose pods have succeeded, whether
    the pods still exist or not."""
    pods = sorted(_leaving_if_suspended(pods, outline), key=_seen_order)
    live = [s for s in pods if s.state is PodState.LIVE]
    islands = slots_of(outline, live, {s.ref.slot for s in pods if s.state is PodState.DONE and s.ref.slot} | done)
    leaving = tuple(s.member for s in pods if s.state is PodState.LEAVING and s.member.node)
    domains_kept = {s.ref.island for s in pods if s.state is PodState.LEAVING and s.member.node and s.ref.island}
    if not leaving and not any(islands.values()):
        return None
    roles = free_roles(islands)
    topologies = {**outline.topologies, **{role.island: role.topology for role in outline.roles}}
    fill_members(islands, topologies, head.namespace, context)
    _remember_seats(islands, pods, head.notes)
    priority = _priority(head, live or pods, roles or outline.roles, context)
    default = context.default_capacity(priority.priority) if context.default_capacity else CapacityPolicy.ANY
    give_capacity(_all(islands), CapacityDefaults(head.title, head.notes, default), context)
    spot_limit = head.notes.max_spot_members
    return Gang(
        key=f"{head.kind}/{head.namespace}/{head.name}",
        kind=head.kind,
        namespace=head.namespace,
        name=head.name,
        islands=tuple(
            Island(name, tuple(_member(p) for p in islands.get(name, ())), topologies.get(name, head.notes.topology))
            for name in (*islands, *sorted(domains_kept - islands.keys()))
            if islands.get(name) or name in domains_kept
        ),
        priority=priority.priority,
        queued_at=head.queued_at if head.notes.queued_at is None else head.notes.queued_at,
        min_members=outline.minimum if head.notes.min_members is None else head.notes.min_members,
        preempts=priority.preempts,
        managed=_is_ours(head, islands, pods, context),
        suspension=_suspension(outline, head.notes),
        gates=_gates(live, roles),
        on_preemption=head.notes.on_preemption,
        started_at=min((s.started for s in live if s.started is not None and s.member.node), default=None),
        checkpoint_at=head.notes.checkpoint_at,
        checkpoint_requests=_checkpoint_requests(live),
        grace=_grace(live, roles),
        leaving=leaving,
        holds=_holds(islands, head.notes),
        displaced=head.notes.displaced,
        preempted_for_it=head.notes.preempted_for_it,
        failures=head.notes.failures,
        stalls=head.notes.stalls,
        max_spot_members=spot_limit.of(sum(map(len, islands.values()))) if spot_limit is not None else None,
        one_capacity_kind=head.notes.one_capacity_kind,
        preemption_delay=head.notes.preemption_delay,
        unseated_since=_unseated_since(head, islands),
    )


def _unseated_since(head: GangHead, islands: SlotsByIsland) -> float:
    """Since when it waits. Of a running gang whose repairs may be delayed: when its newest pod without a seat was made,
    0 without such a pod."""
    if head.notes.preemption_delay is not None:
        pods = [place.sighting for place in _all(islands) if place.sighting is not None]
        if any(pod.member.node for pod in pods):
            return max((pod.created for pod in pods if not pod.member.node), default=0.0)
    queued = head.queued_at if head.notes.queued_at is None else head.notes.queued_at
    return max(queued, head.notes.unseated_at or 0.0)


def _leaving_if_suspended(pods: Sequence[ObservedPod], outline: GangOutline) -> Iterable[ObservedPod]:
    """The pods of a suspended job count as leaving, even before its controller has deleted them."""
    if not outline.suspended:
        return pods
    return [msgspec.structs.replace(s, state=PodState.LEAVING) if s.state is PodState.LIVE else s for s in pods]


def _seen_order(sighting: ObservedPod) -> tuple[bool, float, str]:
    """Of two pods for one place, the one with a seat counts, then the older one."""
    return (not sighting.member.node, sighting.created, sighting.member.name)


def _member(place: GangSlot) -> Member:
    assert place.member is not None  # `settle` gave every place one
    return place.member


def _priority(
    head: GangHead, pods: Sequence[ObservedPod], roles: Iterable[RoleOutline], context: Context
) -> PodPriority:
    """A gang has the highest priority of its pods, and preempts only if all of its pods may."""
    found = [s.priority for s in pods] or [
        context.priority_of(role.template.spec, head, f"{role.field}.spec") for role in roles
    ]
    return PodPriority(max((s.priority for s in found), default=0), all(s.preempts for s in found))


def _is_ours(head: GangHead, islands: SlotsByIsland, pods: Sequence[ObservedPod], context: Context) -> bool:
    """A pod names its scheduler. A template decides for pods that do not exist yet, unless an admission policy sets the
    scheduler: then existing pods decide, or the annotations that Understudy wrote."""
    if not all(s.ours for s in pods if s.state is PodState.LIVE):
        return False
    templates, notes = [role.template for role in free_roles(islands)], head.notes
    if all(context.will_be_ours(template, head.namespace) for template in templates):
        return True
    specs = [template.spec for template in templates]
    if not all(context.ours(spec) or spec.scheduler_name in ("", DEFAULT_SCHEDULER) for spec in specs):
        return False
    opted_in = (p.role and p.sighting and not context.ours(p.role.template.spec) for p in _all(islands))
    gone = [s for s in pods if s.state is not PodState.LIVE]
    return any(opted_in) or any(s.ours for s in gone) or notes.requeued or bool(notes.last_seats)


def _suspension(outline: GangOutline, notes: JobAnnotations) -> Suspension:
    if not outline.suspended:
        return Suspension.NONE
    return Suspension.REQUEUED if notes.requeued else Suspension.BY_OWNER


def _gates(live: Sequence[ObservedPod], roles: Iterable[RoleOutline]) -> tuple[str, ...]:
    seen = {gate for s in live if not s.member.node for gate in s.gates}
    return tuple(sorted(seen.union(gate.name for role in roles for gate in role.template.spec.scheduling_gates)))


def _checkpoint_requests(live: Sequence[ObservedPod]) -> tuple[tuple[str, float], ...]:
    asked = [(s.member.name, s.checkpoint_by) for s in live if s.member.node and s.checkpoint_by is not None]
    return tuple(sorted(asked))


def _grace(live: Sequence[ObservedPod], roles: Iterable[RoleOutline]) -> float:
    """The longest grace period among its pods, and the templates of those that do not exist yet."""
    found = [s.grace for s in live] + [role.template.spec.termination_grace_period_seconds for role in roles]
    return float(max(found, default=0))


def _remember_seats(islands: SlotsByIsland, pods: Sequence[ObservedPod], notes: JobAnnotations) -> None:
    """Members without a seat know where they, or their predecessors, sat last."""
    former = dict(notes.last_seats)
    nameless = []
    for sighting in pods:
        if sighting.member.node and sighting.state in (PodState.FAILED, PodState.LEAVING):
            if sighting.ref.slot:
                former[sighting.ref.slot] = sighting.member.node
            else:
                nameless.append(sighting.member.node)
    if not former and not nameless:
        return
    for place, node in _shared_out(former, nameless, islands):
        member = _member(place)
        if not member.node:
            place.member = msgspec.structs.replace(member, last_node=node)


def _holds(islands: SlotsByIsland, notes: JobAnnotations) -> tuple[tuple[str, str], ...]:
    """Seats held for members: by annotation, also for a member that will move; otherwise by nomination."""
    found = {}
    for place in _all(islands):
        if place.sighting and place.sighting.nominated and not place.sighting.member.node:
            found[_member(place).name] = place.sighting.nominated
    if notes.holds:
        found |= {_member(place).name: node for place, node in _shared_out(dict(notes.holds), [], islands)}
    seats = {member.name: member.node for member in map(_member, _all(islands))}
    return tuple(sorted((name, node) for name, node in found.items() if node != seats[name]))


def _shared_out(nodes: dict[str, str], nameless: list[str], islands: SlotsByIsland) -> Iterable[tuple[GangSlot, str]]:
    """Assigns recorded seats to places.

    A seat is recorded under the name of the pod, of its place, or of an earlier pod of that place. Seats that match no
    name go to members that can fill any place, and so have no lasting name."""
    earlier = {name.rpartition("-")[0]: name for name in reversed(nodes)}
    left = dict(nodes)
    anywhere = []
    for place in _all(islands):
        member = _member(place)
        name = next((n for n in (member.name, place.slot, earlier.get(place.slot, "")) if n in nodes), None)
        if name is not None:
            left.pop(name, None)
            yield place, nodes[name]
        elif not member.node and _fills_any_place(place):
            anywhere.append(place)
    yield from zip(anywhere, (*nameless, *left.values()), strict=False)


def _fills_any_place(place: GangSlot) -> bool:
    if place.sighting is not None:
        return not place.sighting.ref.slot
    return place.role is not None and not place.role.index_label


def _all(islands: SlotsByIsland) -> Iterable[GangSlot]:
    return (place for places in islands.values() for place in places)
