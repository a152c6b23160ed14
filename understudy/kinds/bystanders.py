"""Pods of a job that cannot be understood: they fill their seats, and nobody moves them or waits for more of them."""

from collections.abc import Iterable

from understudy.kinds.context import Context
from understudy.kinds.ownership import GangRef
from understudy.kinds.sightings import State, state_of
from understudy.model.gangs import Gang, Island, Member
from understudy.objects.pods import Pod


def bystanders(pods: Iterable[tuple[Pod, GangRef]], context: Context) -> Gang | None:
    """None where none of them has a seat."""
    seated: dict[State, list[Member]] = {state: [] for state in State}
    ref = None
    for pod, ref in pods:
        meta, node = pod.metadata, pod.spec.node_name
        if node:
            shape = context.shapes.of(pod.spec, meta.namespace, meta.name, meta.labels)
            seated[state_of(pod)].append(Member(meta.name, shape, meta.labels, node, place=ref.slot))
    if ref is None or not (seated[State.LIVE] or seated[State.LEAVING]):
        return None
    return Gang(
        ref.key,
        ref.kind,
        ref.namespace,
        ref.name,
        (Island(ref.name, tuple(seated[State.LIVE])),),
        managed=False,
        leaving=tuple(seated[State.LEAVING]),
    )
