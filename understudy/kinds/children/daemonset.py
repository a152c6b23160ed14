"""An apps/v1 DaemonSet, its pods and the nodes, into what is to be done: a pod on each node that should have one."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from understudy.kinds.annotations import PREFIX
from understudy.kinds.children.actions import (
    NO_ACTIONS,
    ChildActions,
    CreateChild,
    DeleteChild,
    Document,
    EventNote,
    ObservedChildren,
    earliest,
    owner_reference,
)
from understudy.kinds.children.partial_objects import FullMeta, PartialPod
from understudy.kinds.children.revisions import REVISION_HASH, RevisionHistory, hash_in, history_of
from understudy.kinds.children.workload_pods import (
    WorkloadSpec,
    amount,
    is_available,
    next_available,
    pod_metadata,
    released,
    selector_in,
    strays,
)
from understudy.model.gangs import Shape
from understudy.model.nodes import NO_EXECUTE, NO_SCHEDULE, Taint
from understudy.objects.meta import Part, seconds
from understudy.objects.nodes import NodeSpec
from understudy.objects.pod_shapes import ShapeCache
from understudy.objects.pods import PodSpec
from understudy.objects.resources import DAEMON_SETS, NODES, PODS

FOR_NODE = f"{PREFIX}daemon-of-node"  # which node a pod is made for, before it is bound
CREATED = EventNote("SuccessfulCreate", "Created pod: {name}")
DELETED = EventNote("SuccessfulDelete", "Deleted pod: {name}")
FAILED_PAUSE = 2.0  # seconds before a failed pod is replaced
_TOLERATED = (
    ("node.kubernetes.io/not-ready", NO_EXECUTE),
    ("node.kubernetes.io/unreachable", NO_EXECUTE),
    ("node.kubernetes.io/disk-pressure", NO_SCHEDULE),
    ("node.kubernetes.io/memory-pressure", NO_SCHEDULE),
    ("node.kubernetes.io/pid-pressure", NO_SCHEDULE),
    ("node.kubernetes.io/unschedulable", NO_SCHEDULE),
)


class RollingUpdate(Part, frozen=True, gc=False):
    max_unavailable: int | str = 1


class UpdateStrategy(Part, frozen=True, gc=False):
    type: str = "RollingUpdate"
    rolling_update: RollingUpdate = RollingUpdate()


class DaemonSetSpec(WorkloadSpec, frozen=True, gc=False):
    update_strategy: UpdateStrategy = UpdateStrategy()


class DaemonSetObject(Part, frozen=True, gc=False):
    metadata: FullMeta
    spec: DaemonSetSpec


class NodeMeta(Part, frozen=True, gc=False):
    name: str
    labels: Mapping[str, str] = {}


class DaemonNode(Part, frozen=True, gc=False):
    metadata: NodeMeta
    spec: NodeSpec = NodeSpec()


class _Case(NamedTuple):
    daemons: DaemonSetObject
    document: Document
    pods: Mapping[str, Sequence[PartialPod]]  # by node, the oldest first
    wanted: Sequence[str]  # nodes that should have a pod
    unwilling: frozenset[str]  # nodes whose pods have to go
    history: RevisionHistory
    now: float

    def is_available(self, pod: PartialPod) -> bool:
        return is_available(pod, self.daemons.spec.min_ready_seconds, self.now)

    def is_updated(self, pod: PartialPod) -> bool:
        return pod.metadata.labels.get(REVISION_HASH) == hash_in(self.history.newest)

    def active(self, node: str) -> list[PartialPod]:
        return [pod for pod in self.pods.get(node, ()) if pod.active]


def reconcile(document: Document, observed: ObservedChildren, now: float) -> ChildActions:
    daemons = msgspec.convert(document, DaemonSetObject)
    meta, spec = daemons.metadata, daemons.spec
    if meta.leaving:
        return NO_ACTIONS
    history = history_of(document, _owner(meta), meta, observed)
    if history.creates:  # pods name their revision, so it exists before them
        return ChildActions(creates=history.creates)
    lost = strays(observed.pods, selector_in(spec))
    by_node = _by_node([pod for pod in observed.pods if pod not in lost])
    nodes = [msgspec.convert(node, DaemonNode) for node in observed.read_objects.get(NODES.key, {}).values()]
    wanted, unwilling = _chosen(daemons, nodes)
    case = _Case(daemons, document, by_node, wanted, unwilling, history, now)
    used = {f"{meta.name}-{pod.metadata.labels.get(REVISION_HASH, '')}" for pod in observed.pods}
    deletes, later = _deletes(case)
    return ChildActions(
        status=_status(case),
        patches=(*history.patches, *(released(pod, meta) for pod in lost)),
        deletes=(*history.surplus(spec.revision_history_limit, used), *deletes),
        creates=tuple(_created(case, node) for node in case.wanted if not case.pods.get(node)),
        again_at=earliest(later, next_available(observed.pods, spec.min_ready_seconds, now)),
    )


def _owner(meta: FullMeta) -> Document:
    return owner_reference(DAEMON_SETS.api_version, DAEMON_SETS.kind, meta)


def _by_node(pods: Sequence[PartialPod]) -> dict[str, list[PartialPod]]:
    found: dict[str, list[PartialPod]] = {}
    for pod in sorted(pods, key=lambda each: (seconds(each.metadata.creation_timestamp) or 0.0, each.metadata.name)):
        found.setdefault(pod.spec.node_name or pod.metadata.annotations.get(FOR_NODE, ""), []).append(pod)
    return found


def _chosen(daemons: DaemonSetObject, nodes: Sequence[DaemonNode]) -> tuple[list[str], frozenset[str]]:
    """The nodes that should have a pod, and those that must have none. The others keep the one they have."""
    template = msgspec.convert(_spec_with_tolerations(daemons.spec.template["spec"]), PodSpec)
    shape = ShapeCache().of(template, daemons.metadata.namespace, daemons.metadata.name, {})
    fitting = [node for node in nodes if _selects(shape, node)]
    wanted = sorted(node.metadata.name for node in fitting if _tolerates(shape, node, NO_SCHEDULE, NO_EXECUTE))
    staying = {node.metadata.name for node in fitting if _tolerates(shape, node, NO_EXECUTE)}
    return wanted, frozenset(node.metadata.name for node in nodes) - staying


def _selects(shape: Shape, node: DaemonNode) -> bool:
    name, labels = node.metadata.name, node.metadata.labels
    if any(labels.get(key) != value for key, value in shape.selector):
        return False
    return not shape.required or any(term.matches(name, labels) for term in shape.required)


def _tolerates(shape: Shape, node: DaemonNode, *effects: str) -> bool:
    taints = [Taint(taint.key, taint.effect, taint.value) for taint in node.spec.taints if taint.effect in effects]
    return all(any(each.tolerates(taint) for each in shape.tolerations) for taint in taints)


def _spec_with_tolerations(spec: Document) -> Document:
    """Daemons stay on nodes in trouble, and come to cordoned ones."""
    more = [{"key": key, "operator": "Exists", "effect": effect} for key, effect in _TOLERATED]
    given = spec.get("tolerations") or []
    return {**spec, "tolerations": [*given, *(each for each in more if each not in given)]}


def _created(case: _Case, node: str) -> CreateChild:
    meta = case.daemons.metadata
    template = case.daemons.spec.template
    labels = {REVISION_HASH: hash_in(case.history.newest)}
    metadata = {"generateName": f"{meta.name[:57]}-", **pod_metadata(template, _owner(meta), meta.namespace, labels)}
    metadata["annotations"] = {**metadata.get("annotations", {}), FOR_NODE: node}
    spec = _pinned(_spec_with_tolerations(template["spec"]), node)
    return CreateChild(PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}, CREATED)


def _pinned(spec: Document, node: str) -> Document:
    """The node takes the place of all terms: it has been found to meet one."""
    affinity = spec.get("affinity") or {}
    of_node = affinity.get("nodeAffinity") or {}
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    return {**spec, "affinity": {**affinity, "nodeAffinity": {**of_node, **required}}}


def _deletes(case: _Case) -> tuple[tuple[DeleteChild, ...], float | None]:
    """Failed pods, pods of nodes that should have none, second pods of a node, and old ones as far as may be missing;
    and when to look again at a pod that failed just now."""
    going: dict[str, PartialPod] = {}
    waits: list[float] = []
    for node, pods in case.pods.items():
        for pod in pods:
            if pod.finished and case.now < pod.finished_at + FAILED_PAUSE:
                waits.append(pod.finished_at + FAILED_PAUSE)
            elif pod.finished and not pod.metadata.leaving:
                going[pod.metadata.uid] = pod
        active = case.active(node)
        for pod in active if node in case.unwilling else active[1:]:
            going[pod.metadata.uid] = pod
    going |= {pod.metadata.uid: pod for pod in _outdated(case)}
    deletes = (DeleteChild(PODS, pod.metadata.name, pod.metadata.uid, DELETED) for pod in going.values())
    return tuple(deletes), earliest(*waits)


def _outdated(case: _Case) -> Iterator[PartialPod]:
    strategy = case.daemons.spec.update_strategy
    if strategy.type != "RollingUpdate":
        return
    limit = amount(strategy.rolling_update.max_unavailable, len(case.wanted), up=True)
    missing = sum(not any(map(case.is_available, case.active(node))) for node in case.wanted)
    for node in case.wanted:
        old = [pod for pod in case.active(node) if not case.is_updated(pod)]
        for pod in old:
            if not case.is_available(pod):
                yield pod
            elif missing < limit:
                missing += 1
                yield pod


def _status(case: _Case) -> Document:
    first = [pods[0] for node in case.wanted if (pods := case.active(node))]
    available = sum(map(case.is_available, first))
    elsewhere = sum(bool(case.active(node)) for node in case.pods if node not in set(case.wanted))
    counts = {
        "numberAvailable": available,
        "numberUnavailable": len(case.wanted) - available,
        "updatedNumberScheduled": sum(map(case.is_updated, first)),
    }
    kept = {key: value for key, value in (case.document.get("status") or {}).items() if key not in counts}
    return {
        **kept,
        **{key: count for key, count in counts.items() if count},
        "observedGeneration": case.daemons.metadata.generation,
        "desiredNumberScheduled": len(case.wanted),
        "currentNumberScheduled": len(first),
        "numberMisscheduled": elsewhere,
        "numberReady": sum(pod.ready for pod in first),
    }
