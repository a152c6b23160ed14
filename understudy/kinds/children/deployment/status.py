"""A Deployment's status: its counts, and whether it is available and progresses."""

from understudy.kinds.children.actions import Document
from understudy.kinds.children.deployment.spec import DeploymentCondition, Rollout
from understudy.kinds.children.partial_objects import whole_seconds, with_condition
from understudy.objects.meta import seconds

_COUNTS = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "unavailableReplicas",
           "terminatingReplicas")  # fmt: skip

_AT_REST = ("NewReplicaSetAvailable", "DeploymentPaused")


def status_of(rollout: Rollout) -> Document:
    counts = _counts(rollout)
    status = {key: value for key, value in rollout.status.items() if key not in counts}
    status |= {key: count for key, count in counts.items() if count}
    status["observedGeneration"] = rollout.deployment.metadata.generation
    _set(rollout, status, _availability(rollout, counts))
    if progress := _progress(rollout, counts):
        _set(rollout, status, progress)
    return status


def _counts(rollout: Rollout) -> dict[str, int]:
    sets, current = rollout.all, rollout.current
    available = sum(one.status.available_replicas for one in sets)
    figures = (
        sum(one.status.replicas for one in sets),
        current.status.replicas if current else 0,
        sum(one.status.ready_replicas for one in sets),
        available,
        max(0, sum(one.spec.replicas for one in sets) - available),
        sum(one.status.terminating_replicas for one in sets),
    )
    return dict(zip(_COUNTS, figures, strict=True))


def is_complete(rollout: Rollout) -> bool:
    """All pods are of the current template and available, and no others run."""
    counts, wanted, current = _counts(rollout), rollout.deployment.spec.replicas, rollout.current
    if current is None or current.status.observed_generation < current.metadata.generation:
        return False
    return counts["updatedReplicas"] == counts["replicas"] == counts["availableReplicas"] == wanted


def next_deadline(rollout: Rollout) -> float | None:
    """When the rollout is late if nothing changes until then."""
    last = _condition(rollout, "Progressing")
    updated = seconds(last.last_update_time) if last else None
    if updated is None or last is None or last.status == "False" or last.reason in _AT_REST:
        return None
    return updated + rollout.deployment.spec.progress_deadline_seconds + 1


def _condition(rollout: Rollout, kind: str) -> DeploymentCondition | None:
    return next((one for one in rollout.deployment.status.conditions if one.type == kind), None)


def _availability(rollout: Rollout, counts: dict[str, int]) -> Document:
    deployment = rollout.deployment
    enough = counts["availableReplicas"] >= deployment.spec.replicas - deployment.max_unavailable
    return {
        "type": "Available",
        "status": "True" if enough else "False",
        "reason": "MinimumReplicasAvailable" if enough else "MinimumReplicasUnavailable",
        "message": f"Deployment {'has' if enough else 'does not have'} minimum availability.",
    }


def _progress(rollout: Rollout, counts: dict[str, int]) -> Document | None:
    """None: as it was."""
    last, spec = _condition(rollout, "Progressing"), rollout.deployment.spec
    paused = last is not None and last.reason == "DeploymentPaused"
    if spec.paused:
        return None if paused else _progressing("Unknown", "DeploymentPaused", "Deployment is paused")
    if paused:
        return _progressing("Unknown", "DeploymentResumed", "Deployment is resumed")
    if rollout.current is None:
        return None
    subject = f'ReplicaSet "{rollout.current.metadata.name}"'
    if is_complete(rollout):
        return _progressing("True", "NewReplicaSetAvailable", f"{subject} has successfully progressed.")
    settled = last is not None and last.reason == "NewReplicaSetAvailable"
    if settled and counts["updatedReplicas"] == counts["replicas"]:
        return None  # pods of a completed rollout that fail are not a new one
    if last is None or settled or _has_moved(rollout, counts):
        return _progressing("True", "ReplicaSetUpdated", f"{subject} is progressing.")
    deadline = next_deadline(rollout)
    if deadline is not None and rollout.now >= deadline:
        return _progressing("False", "ProgressDeadlineExceeded", f"{subject} has timed out progressing.")
    return None


def _has_moved(rollout: Rollout, counts: dict[str, int]) -> bool:
    before = rollout.deployment.status
    return (
        counts["updatedReplicas"] > before.updated_replicas
        or counts["replicas"] - counts["updatedReplicas"] < before.replicas - before.updated_replicas
        or counts["readyReplicas"] > before.ready_replicas
        or counts["availableReplicas"] > before.available_replicas
    )


def _progressing(status: str, reason: str, message: str) -> Document:
    return {"type": "Progressing", "status": status, "reason": reason, "message": message}


def _set(rollout: Rollout, status: Document, condition: Document) -> None:
    """An unchanged condition keeps its times; one whose status stays keeps the time of its last transition."""
    last = _condition(rollout, condition["type"])
    moved = condition.get("reason") == "ReplicaSetUpdated"
    if last is not None and not moved and (last.status, last.reason) == (condition["status"], condition["reason"]):
        return
    turned = seconds(last.last_transition_time) if last and last.status == condition["status"] else None
    times = {
        "lastUpdateTime": whole_seconds(rollout.now),
        "lastTransitionTime": whole_seconds(rollout.now if turned is None else turned),
    }
    status["conditions"] = with_condition(status.get("conditions") or [], {**condition, **times})
