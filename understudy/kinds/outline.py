"""What every job kind says about a job: the places to fill, by role, and whether they are to be filled now."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from understudy.kinds.context import Context
from understudy.kinds.observed_pod import ObservedPod
from understudy.model.gangs import Member, PodCreation, Shape, Topology
from understudy.objects.pods import PodTemplate


class RoleOutline(msgspec.Struct, frozen=True):
    """Places that are filled from one template, in one island."""

    island: str
    names: tuple[str, ...]
    template: PodTemplate
    field: str  # the path of the template in the object
    labels: Mapping[str, str] = {}  # labels that its controller adds to those of the template
    index_label: str = ""
    indexes: tuple[int, ...] = ()
    topology: Topology | None = None
    unsupported: tuple[str, ...] = ()
    stage: int = 0  # even; the next odd stage is for the followers of its first pod
    made: PodCreation = PodCreation.AT_ONCE
    leads: bool = False  # its first pod is a leader: the others are created after that one has a seat

    def stage_at(self, position: int) -> tuple[int, PodCreation]:
        """The stage in which the pod at this position is created, and what it waits for."""
        if self.leads and self.indexes[position] != 0:
            return self.stage + 1, PodCreation.WHEN_SEATED
        return self.stage, self.made

    def labels_at(self, position: int) -> dict[str, str]:
        labels = {**self.template.metadata.labels, **self.labels}
        if self.index_label:
            labels[self.index_label] = str(self.indexes[position])
        return labels


class GangOutline(msgspec.Struct, frozen=True):
    """No roles: the job is finished, or wants no pods. Pods that exist all the same stay in the domains of
    `topologies`."""

    roles: tuple[RoleOutline, ...] = ()
    suspended: bool = False
    minimum: int | None = None
    topologies: Mapping[str, Topology | None] = {}  # of islands without a role


def in_one_island(
    outline: GangOutline, seen: Sequence[ObservedPod], roles: Sequence[RoleOutline], island: str, topology: Topology
) -> tuple[GangOutline, list[ObservedPod]]:
    """The outline and the pods seen of it, with these roles of it in one island, which belongs in a domain."""
    replace = msgspec.structs.replace
    moving = {id(role) for role in roles}
    slots = {name for role in roles for name in role.names}
    # A pod without a slot belongs to its island, provided that no other role is in it.
    left = {role.island for role in roles} - {role.island for role in outline.roles if id(role) not in moving}
    changed = tuple(
        replace(role, island=island, topology=topology) if id(role) in moving else role for role in outline.roles
    )
    pods = [
        replace(pod, ref=replace(pod.ref, island=island)) if pod.ref.slot in slots or pod.ref.island in left else pod
        for pod in seen
    ]
    return replace(outline, roles=changed), pods


def planned_members(role: RoleOutline, positions: Iterable[int], namespace: str, context: Context) -> list[Member]:
    """The members that its controller will create at these positions."""
    spec = role.template.spec
    shared: Shape | None = None
    members = []
    for position in positions:
        name, labels = role.names[position], role.labels_at(position)
        shape = shared
        if shape is None:
            shape = context.shapes.of(spec, namespace, name, labels)
            if role.unsupported:
                shape = msgspec.structs.replace(shape, unsupported=shape.unsupported + role.unsupported)
            if not (spec.affinity or spec.topology_spread_constraints or spec.volumes):
                shared = shape
        stage, made = role.stage_at(position)
        members.append(Member(name, shape, labels, exists=False, place=name, stage=stage, made=made))
    return members
