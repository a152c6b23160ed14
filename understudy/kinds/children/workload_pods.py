"""What Deployments, ReplicaSets, StatefulSets and DaemonSets share: pods of a template, whether they are available,
and amounts given as a number or a percentage."""

from collections.abc import Iterable, Mapping, Sequence
from math import ceil, floor

import msgspec

from understudy.kinds.children.actions import Document, PatchChild, earliest
from understudy.kinds.children.partial_objects import FullMeta, PartialPod, find_condition
from understudy.model.selectors import Selector
from understudy.objects.meta import LabelSelector, Part, seconds
from understudy.objects.resources import PODS
from understudy.objects.selectors import selector_of


class TemplateMeta(Part, frozen=True, gc=False):
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    finalizers: tuple[str, ...] = ()


class WorkloadSpec(Part, frozen=True, gc=False):
    replicas: int = 1
    min_ready_seconds: int = 0
    selector: LabelSelector = LabelSelector()
    template: Document = msgspec.field(default_factory=dict)
    revision_history_limit: int = 10


def selector_in(spec: WorkloadSpec) -> Selector:
    return selector_of(spec.selector) or Selector()


def template_meta(template: Document) -> TemplateMeta:
    return msgspec.convert(template.get("metadata") or {}, TemplateMeta)


def pod_metadata(template: Document, owner: Document, namespace: str, labels: Mapping[str, str]) -> Document:
    """Of a pod of this template; its name is still to be given."""
    meta = template_meta(template)
    metadata: Document = {
        "namespace": namespace,
        "labels": {**meta.labels, **labels},
        "ownerReferences": [owner],
    }
    if meta.annotations:
        metadata["annotations"] = dict(meta.annotations)
    if meta.finalizers:
        metadata["finalizers"] = list(meta.finalizers)
    return metadata


def available_at(pod: PartialPod, min_ready: int) -> float | None:
    """From when on the pod counts as available; None while it is not ready."""
    ready = find_condition(pod.status.conditions, "Ready")
    if ready is None or ready.status != "True" or pod.metadata.leaving:
        return None
    return (seconds(ready.last_transition_time) or 0.0) + min_ready


def is_available(pod: PartialPod, min_ready: int, now: float) -> bool:
    moment = available_at(pod, min_ready)
    return moment is not None and moment <= now


def next_available(pods: Iterable[PartialPod], min_ready: int, now: float) -> float | None:
    """When the next of them counts as available without any change."""
    if not min_ready:
        return None
    moments = (available_at(pod, min_ready) for pod in pods)
    return earliest(*(moment for moment in moments if moment is not None and moment > now))


def strays(pods: Sequence[PartialPod], selector: Selector) -> list[PartialPod]:
    """Pods whose labels were changed so that they no longer belong to their owner."""
    return [pod for pod in pods if not pod.metadata.leaving and not selector.matches(pod.metadata.labels)]


def released(pod: PartialPod, owner: FullMeta) -> PatchChild:
    """The pod loses its owner, and goes on."""
    position = next(i for i, each in enumerate(pod.metadata.owner_references) if each.uid == owner.uid)
    path = f"/metadata/ownerReferences/{position}"
    patch: list[Document] = [
        {"op": "test", "path": f"{path}/uid", "value": owner.uid},
        {"op": "remove", "path": path},
    ]
    return PatchChild(PODS, pod.metadata.name, patch)


def amount(value: int | str, whole: int, *, up: bool) -> int:
    """A number, or a percentage of the whole."""
    if isinstance(value, int):
        return value
    exact = int(value.removesuffix("%")) * whole / 100
    return ceil(exact) if up else floor(exact)
