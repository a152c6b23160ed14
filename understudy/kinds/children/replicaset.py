"""An apps/v1 ReplicaSet and its pods, into what is to be done next: pods to make and to delete."""

from collections.abc import Sequence

import msgspec

from understudy.kinds.children.actions import (
    NO_ACTIONS,
    ChildActions,
    CreateChild,
    DeleteChild,
    Document,
    EventNote,
    ObservedChildren,
    owner_reference,
)
from understudy.kinds.children.partial_objects import FullMeta, PartialPod
from understudy.kinds.children.workload_pods import (
    WorkloadSpec,
    available_at,
    is_available,
    next_available,
    pod_metadata,
    released,
    selector_in,
    strays,
    template_meta,
)
from understudy.objects.meta import Part, seconds
from understudy.objects.resources import PODS, REPLICA_SETS

MOST_AT_ONCE = 500  # pods made in one go; the rest follows at the next look
DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
CREATED = EventNote("SuccessfulCreate", "Created pod: {name}")
DELETED = EventNote("SuccessfulDelete", "Deleted pod: {name}")
_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}


class ReplicaSetObject(Part, frozen=True, gc=False):
    metadata: FullMeta
    spec: WorkloadSpec


def reconcile(document: Document, observed: ObservedChildren, now: float) -> ChildActions:
    replica_set = msgspec.convert(document, ReplicaSetObject)
    if replica_set.metadata.leaving:
        return NO_ACTIONS
    spec, pods = replica_set.spec, observed.pods
    lost = strays(pods, selector_in(spec))
    own = [pod for pod in pods if pod not in lost] if lost else pods
    active = [pod for pod in own if pod.active]
    missing = spec.replicas - len(active)
    return ChildActions(
        status=_status(replica_set, document, own, now),
        patches=tuple(released(pod, replica_set.metadata) for pod in lost),
        deletes=_surplus(active, -missing) if missing < 0 else (),
        creates=_made(replica_set, missing) if missing > 0 else (),
        again_at=next_available(active, spec.min_ready_seconds, now),
    )


def _made(replica_set: ReplicaSetObject, count: int) -> tuple[CreateChild, ...]:
    meta, template = replica_set.metadata, replica_set.spec.template
    owner = owner_reference(REPLICA_SETS.api_version, REPLICA_SETS.kind, meta)
    metadata = {"generateName": f"{meta.name[:57]}-", **pod_metadata(template, owner, meta.namespace, {})}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}
    return (CreateChild(PODS, pod, CREATED),) * min(count, MOST_AT_ONCE)


def _surplus(active: Sequence[PartialPod], count: int) -> tuple[DeleteChild, ...]:
    ranked = sorted(active, key=_least_to_lose)
    return tuple(DeleteChild(PODS, pod.metadata.name, pod.metadata.uid, DELETED) for pod in ranked[:count])


def _least_to_lose(pod: PartialPod) -> tuple[bool, int, bool, int, float, int, float, str]:
    """Kubernetes' order: pods without a node, that do not run or are not ready go first; then the cheapest by their
    annotation, those ready for the shortest time, those restarted most, and the newest."""
    meta = pod.metadata
    cost = meta.annotations.get(DELETION_COST, "0")
    restarts = max((container.restart_count for container in pod.status.container_statuses), default=0)
    return (
        bool(pod.spec.node_name),
        _PHASES.get(pod.status.phase, 0),
        pod.ready,
        int(cost) if cost.lstrip("-").isdecimal() else 0,
        -(available_at(pod, 0) or 0.0),
        -restarts,
        -(seconds(meta.creation_timestamp) or 0.0),
        meta.name,
    )


def _status(replica_set: ReplicaSetObject, document: Document, pods: Sequence[PartialPod], now: float) -> Document:
    spec = replica_set.spec
    active = [pod for pod in pods if pod.active]
    labels = template_meta(spec.template).labels.items()
    counts = {
        "fullyLabeledReplicas": sum(labels <= pod.metadata.labels.items() for pod in active),
        "readyReplicas": sum(pod.ready for pod in active),
        "availableReplicas": sum(is_available(pod, spec.min_ready_seconds, now) for pod in active),
        "terminatingReplicas": sum(pod.metadata.leaving and not pod.finished for pod in pods),
    }
    kept = {key: value for key, value in (document.get("status") or {}).items() if key not in counts}
    figures = {key: count for key, count in counts.items() if count}
    return {**kept, "replicas": len(active), **figures, "observedGeneration": replica_set.metadata.generation}
