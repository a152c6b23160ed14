"""HorizontalPodAutoscalers of autoscaling/v1 into the stored v2, and back. What v1 has no field for stands in
annotations, as in Kubernetes, but with the fields of v2.
"""

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import UNSET

from understudy.embedded.schema import causes
from understudy.embedded.schema.errors import Cause
from understudy.embedded.schema.types.stored_only import HorizontalPodAutoscaler
from understudy.embedded.schema.types.values import Opaque

V1 = "autoscaling/v1"
_PERCENTAGE = "targetCPUUtilizationPercentage"
_ANNOTATIONS = {
    "metrics": "autoscaling.alpha.kubernetes.io/metrics",
    "behavior": "autoscaling.alpha.kubernetes.io/behavior",
}
_TYPES: dict[str, type] = {"metrics": list[Opaque], "behavior": Opaque}


def complete(new: HorizontalPodAutoscaler) -> None:
    """Into v2, whichever fields it was written with. An annotation that cannot be read stays, for `check` to name."""
    spec: Opaque = new.spec or {}
    annotations = dict(new.metadata.annotations or {})
    for field, annotation in _ANNOTATIONS.items():
        kept = _read(field, annotations.get(annotation))
        if kept is not None:
            spec.setdefault(field, kept)
            del annotations[annotation]
    if (percentage := spec.pop(_PERCENTAGE, None)) is not None:
        spec["metrics"] = [*spec.get("metrics", ()), _cpu(percentage)]
    if new.metadata.annotations:
        new.metadata.annotations = annotations or UNSET


def check(new: HorizontalPodAutoscaler) -> Iterator[Cause]:
    for annotation in _ANNOTATIONS.values():
        if (given := (new.metadata.annotations or {}).get(annotation)) is not None:
            yield causes.bad_value(
                f"metadata.annotations[{annotation}]", given, "must be JSON in the form of autoscaling/v2"
            )


def in_version(document: dict[str, Any], api_version: str) -> dict[str, Any]:
    """A stored object as a client of that version expects it."""
    if api_version != V1:
        return {**document, "apiVersion": api_version}
    meta, spec = dict(document["metadata"]), dict(document.get("spec") or {})
    metrics = list(spec.pop("metrics", ()))
    cpu = next((one for one in metrics if _percentage(one) is not None), None)
    if cpu is not None:
        metrics.remove(cpu)
        spec[_PERCENTAGE] = _percentage(cpu)
    kept = {"metrics": metrics, "behavior": spec.pop("behavior", None)}
    notes = {_ANNOTATIONS[field]: msgspec.json.encode(value).decode() for field, value in kept.items() if value}
    if notes:
        meta["annotations"] = {**meta.get("annotations", {}), **notes}
    return {**document, "apiVersion": V1, "metadata": meta, "spec": spec}


def _cpu(percentage: Any) -> Opaque:
    target = {"type": "Utilization", "averageUtilization": percentage}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


def _percentage(metric: Any) -> Any:
    match metric:
        case {"type": "Resource", "resource": {"name": "cpu", "target": {"averageUtilization": percentage}}}:
            return percentage
    return None


def _read(field: str, annotation: str | None) -> Any:
    if annotation is None:
        return None
    try:
        return msgspec.json.decode(annotation, type=_TYPES[field])
    except msgspec.DecodeError:
        return None
