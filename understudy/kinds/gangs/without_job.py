"""Gangs from pods alone: the job object is unknown or invalid."""

from collections.abc import Iterable, Sequence

from understudy.kinds.annotations import read_annotations
from understudy.kinds.context import Context
from understudy.kinds.gangs.assembly import GangHead, assemble_gang
from understudy.kinds.jobset import topology_of
from understudy.kinds.observed_pod import ObservedPod, PodState, pod_state
from understudy.kinds.outline import GangOutline
from understudy.kinds.ownership import GangRef
from understudy.model.gangs import Gang, Island, Member
from understudy.objects.pods import Pod


def gang_of_jobless_pods(seen: Sequence[ObservedPod], context: Context) -> Gang | None:
    """Only the existing pods count: it is not known whether the owner wants more. Each pod names the domain that it
    owns, since that was written on it when it was bound."""
    first = min(seen, key=lambda s: (s.created, s.member.name))
    ref = first.ref
    topologies = {s.ref.island: topology_of(s.annotations, ref) for s in seen}
    head = GangHead(ref.kind, ref.namespace, ref.name, first.created, read_annotations(first.annotations, ref))
    return assemble_gang(head, GangOutline(topologies=topologies), seen, context)


def gang_of_invalid_job(pods: Iterable[tuple[Pod, GangRef]], context: Context) -> Gang | None:
    """None if none of the pods has a seat."""
    seated: dict[PodState, list[Member]] = {state: [] for state in PodState}
    ref = None
    for pod, ref in pods:
        meta, node = pod.metadata, pod.spec.node_name
        if node:
            shape = context.shapes.of(pod.spec, meta.namespace, meta.name, meta.labels)
            seated[pod_state(pod)].append(Member(meta.name, shape, meta.labels, node, place=ref.slot))
    if ref is None or not (seated[PodState.LIVE] or seated[PodState.LEAVING]):
        return None
    return Gang(
        ref.key,
        ref.kind,
        ref.namespace,
        ref.name,
        (Island(ref.name, tuple(seated[PodState.LIVE])),),
        managed=False,
        leaving=tuple(seated[PodState.LEAVING]),
    )
